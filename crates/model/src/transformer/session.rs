//! Running a transformer.

use std::sync::{Mutex, PoisonError};

use super::human::{HumanBuffers, HumanNet};
use super::level::Level;
use crate::LoadError;
use crate::runtime::{InputData, InputTensor, OutputTensor, RunError};
use crate::tensors::TensorMap;
use tabia_nets::human::{GAME_INPUTS as GAME, SQUARE_INPUTS as CHANNELS, SQUARES};

/// A transformer with its weights packed for a [`Level`]. Concurrent runs have their own buffers, which are
/// reused.
#[derive(Debug)]
pub(crate) struct TransformerSession {
    level: Level,
    net: HumanNet,
    /// The names of the outputs.
    outputs: Vec<String>,
    idle: Mutex<Vec<HumanBuffers>>,
}

impl TransformerSession {
    /// Takes the network out of `tensors`, with `outputs` as the names of its outputs. `None`, taking nothing, if the kernels do not
    /// support its sizes.
    ///
    /// # Errors
    /// If a tensor is missing, has another shape or is not finite.
    pub(crate) fn new(
        tensors: &mut TensorMap,
        outputs: Vec<String>,
        level: Level,
    ) -> Result<Option<TransformerSession>, LoadError> {
        let Some(net) = HumanNet::take(tensors, level)? else { return Ok(None) };
        Ok(Some(TransformerSession { level, net, outputs, idle: Mutex::default() }))
    }

    /// Its kernel level.
    pub(crate) fn level(&self) -> Level {
        self.level
    }

    /// Runs the network, as [`Session::run`](crate::runtime::Session::run).
    ///
    /// # Errors
    /// If an input does not fit, or an output is not finite.
    pub(crate) fn run(&self, inputs: &[InputTensor<'_>]) -> Result<Vec<OutputTensor>, RunError> {
        let [squares, game] = inputs else {
            return Err(RunError::InputCount { expected: 2, given: inputs.len() });
        };
        let squares = values(squares, "squares", SQUARES * CHANNELS)?;
        let game = values(game, "game", GAME)?;
        let positions = squares.len() / (SQUARES * CHANNELS);
        if game.len() / GAME != positions {
            let shape = vec![positions, GAME];
            return Err(RunError::Length { input: "game".to_owned(), shape, len: game.len() });
        }
        let widths = self.net.outputs();
        let mut outputs: Vec<Vec<f32>> = widths.iter().map(|w| Vec::with_capacity(w * positions)).collect();
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut buffers = idle.unwrap_or_else(|| self.net.buffers());
        for (squares, game) in squares.chunks_exact(SQUARES * CHANNELS).zip(game.chunks_exact(GAME)) {
            self.net.run(self.level, squares, game, &mut buffers, &mut outputs);
        }
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(buffers);
        let mut named = Vec::with_capacity(outputs.len());
        for ((values, width), name) in outputs.into_iter().zip(widths).zip(&self.outputs) {
            if values.iter().any(|value| !value.is_finite()) {
                return Err(RunError::NotFinite { output: name.clone() });
            }
            named.push(OutputTensor { name: name.clone(), shape: vec![positions, width], values });
        }
        Ok(named)
    }
}

/// The values of an input, `width` per position.
fn values<'a>(input: &InputTensor<'a>, name: &str, width: usize) -> Result<&'a [f32], RunError> {
    let InputData::Values(values) = input.data else {
        return Err(RunError::Kind { input: name.to_owned(), expected: "features" });
    };
    if !values.len().is_multiple_of(width) {
        let (input, shape) = (name.to_owned(), input.shape.to_vec());
        return Err(RunError::Length { input, shape, len: values.len() });
    }
    Ok(values)
}
