//! Running a transformer.

use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};

use tabia_nets::NetConfig;
use tabia_onnx::TensorError;
use tabia_onnx::tensors::TensorMap;
use tabia_threads::in_parallel;

use super::human::HumanNet;
use super::level::Level;
use super::maia3::Maia3Net;
use crate::{InputData, InputTensor, OutputTensor, RunError};

/// A network with its weights packed, which runs one position at a time.
pub(super) trait TransformerNet: Sync {
    /// What a run needs besides.
    type Buffers: Send;

    /// The name of each input and its numbers per position.
    fn inputs(&self) -> Vec<(&'static str, usize)>;

    /// The width of each output.
    fn outputs(&self) -> Vec<usize>;

    fn buffers(&self) -> Self::Buffers;

    /// Evaluates one position, given its inputs in order, and puts the outputs in order.
    fn run(&self, level: Level, inputs: &[&[f32]], buffers: &mut Self::Buffers, put: impl FnMut(&[f32]));
}

/// A transformer with its weights packed for a [`Level`]. Concurrent runs have their own buffers, which are
/// reused.
#[derive(Debug)]
pub struct TransformerSession {
    level: Level,
    net: Net,
    /// The names of the outputs.
    outputs: Vec<String>,
}

#[derive(Debug)]
enum Net {
    Human(Pooled<HumanNet>),
    Maia3(Pooled<Maia3Net>),
}

/// A network and the buffers that no run uses.
#[derive(Debug)]
struct Pooled<N: TransformerNet> {
    net: N,
    idle: Mutex<Vec<N::Buffers>>,
}

impl TransformerSession {
    /// Whether there is a runtime for networks of this architecture.
    pub fn runs(net: &NetConfig) -> bool {
        matches!(net, NetConfig::Human(_) | NetConfig::Maia3(_))
    }

    /// Takes the network `net` out of `tensors`, with `outputs` as the names of its outputs. `None`, taking nothing, if the kernels
    /// do not support its architecture or sizes.
    ///
    /// # Errors
    /// If a tensor is missing, has another shape or is not finite.
    pub fn new(
        net: &NetConfig,
        tensors: &mut TensorMap,
        outputs: Vec<String>,
        level: Level,
    ) -> Result<Option<TransformerSession>, TensorError> {
        let net = match net {
            NetConfig::Human(config) => {
                HumanNet::take(config, tensors, level)?.map(Pooled::new).map(Net::Human)
            }
            NetConfig::Maia3(config) => {
                Maia3Net::take(config, tensors, level)?.map(Pooled::new).map(Net::Maia3)
            }
            _ => None,
        };
        Ok(net.map(|net| TransformerSession { level, net, outputs }))
    }

    /// Its kernel level.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Runs the network, as [`Session::run`](crate::Session::run).
    ///
    /// # Errors
    /// If an input does not fit, or an output is not finite.
    pub fn run(&self, inputs: &[InputTensor<'_>]) -> Result<Vec<OutputTensor>, RunError> {
        match &self.net {
            Net::Human(net) => net.run(self.level, inputs, &self.outputs),
            Net::Maia3(net) => net.run(self.level, inputs, &self.outputs),
        }
    }
}

impl<N: TransformerNet> Pooled<N> {
    fn new(net: N) -> Pooled<N> {
        Pooled { net, idle: Mutex::default() }
    }

    fn run(
        &self,
        level: Level,
        inputs: &[InputTensor<'_>],
        names: &[String],
    ) -> Result<Vec<OutputTensor>, RunError> {
        let expected = self.net.inputs();
        if inputs.len() != expected.len() {
            return Err(RunError::InputCount { expected: expected.len(), given: inputs.len() });
        }
        let mut given = Vec::with_capacity(inputs.len());
        for (input, (name, width)) in inputs.iter().zip(&expected) {
            given.push(values(input, name, *width)?);
        }
        let positions = given.iter().zip(&expected).map(|(values, (_, width))| values.len() / width).next();
        let positions = positions.unwrap_or(0);
        for (values, &(name, width)) in given.iter().zip(&expected) {
            if values.len() != positions * width {
                let shape = vec![positions, width];
                return Err(RunError::Length { input: name.to_owned(), shape, len: values.len() });
            }
        }
        // Helpers take positions of a batch.
        let found = in_parallel(positions, positions, |at| {
            let inputs =
                given.iter().zip(&expected).map(|(values, (_, width))| &values[at * width..][..*width]);
            let inputs: Vec<&[f32]> = inputs.collect();
            self.run_one(level, &inputs)
        });
        let widths = self.net.outputs();
        let mut outputs: Vec<Vec<f32>> = widths.iter().map(|w| Vec::with_capacity(w * positions)).collect();
        for position in found {
            for (output, values) in outputs.iter_mut().zip(position) {
                output.extend(values);
            }
        }
        let mut named = Vec::with_capacity(outputs.len());
        for ((values, width), name) in outputs.into_iter().zip(widths).zip(names) {
            if values.iter().any(|value| !value.is_finite()) {
                return Err(RunError::NotFinite { output: name.clone() });
            }
            named.push(OutputTensor { name: name.clone(), shape: vec![positions, width], values });
        }
        Ok(named)
    }

    /// The outputs for one position.
    fn run_one(&self, level: Level, inputs: &[&[f32]]) -> Vec<Vec<f32>> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let known = idle().pop();
        let mut buffers = known.unwrap_or_else(|| self.net.buffers());
        let mut outputs = Vec::new();
        self.net.run(level, inputs, &mut buffers, |values| outputs.push(values.to_vec()));
        idle().push(buffers);
        outputs
    }
}

/// The values of an input, `width` per position. Whole numbers, such as ratings, become floats as in a graph.
fn values<'a>(input: &InputTensor<'a>, name: &str, width: usize) -> Result<Cow<'a, [f32]>, RunError> {
    let values = match input.data {
        InputData::Values(values) => Cow::Borrowed(values),
        InputData::Ids(ids) => ids.iter().map(|&id| id as f32).collect(),
    };
    if !values.len().is_multiple_of(width) {
        let (input, shape) = (name.to_owned(), input.shape.to_vec());
        return Err(RunError::Length { input, shape, len: values.len() });
    }
    Ok(values)
}
