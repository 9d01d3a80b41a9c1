//! A network that says what positions are worth, on the device it is trained on.

use std::path::Path;

use shakmaty::{Chess, Color, Position};

use crate::export::{FromFileError, from_file};
use crate::{
    Backend, BackendError, Device, ExampleBuilder, RatingBalance, TrainConfig, TrainerState, ValueLoss,
    Weights, open_backend,
};

/// The value head of a network that can be trained, on any device it can be trained on.
pub struct PositionJudge {
    backend: Box<dyn Backend>,
    config: TrainConfig,
    cp_scale: f32,
}

/// Why a network cannot judge positions.
#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    /// It has no value head.
    #[error("the network of the configuration has no value head")]
    NoValue,
    /// The file does not hold this network.
    #[error(transparent)]
    File(#[from] FromFileError),
    /// The device failed.
    #[error(transparent)]
    Backend(#[from] BackendError),
}

/// Chances closer to 0 or 1 than this are as good as won or lost.
const CERTAIN: f32 = 1e-7;

impl PositionJudge {
    /// The network of `config` with the weights of a model file. A network that predicts chances has `cp_scale` centipawns to
    /// a unit of their logit; without it, as many as the configuration says.
    ///
    /// # Errors
    /// If the file holds another network, it has no value head, or the device is not there.
    pub fn open(
        file: &Path,
        config: &TrainConfig,
        device: Device,
        cp_scale: Option<f32>,
    ) -> Result<PositionJudge, JudgeError> {
        if config.net.vocabulary().is_some() {
            return Err(JudgeError::NoValue);
        }
        let (weights, _) = from_file(file, &config.net)?;
        let mut backend = open_backend(device, config, 0)?;
        backend.load(&TrainerState::fresh(weights))?;
        let cp_scale = cp_scale.unwrap_or(config.data.cp_scale);
        Ok(PositionJudge { backend, config: config.clone(), cp_scale })
    }

    /// What positions are worth in centipawns for the side to move.
    ///
    /// # Errors
    /// If the device fails.
    pub fn values(&mut self, positions: &[Chess]) -> Result<Vec<f32>, BackendError> {
        let unknown =
            || BackendError::Mismatch(format!("the encoding {} is not known", self.config.net.encoding()));
        let mut builder = ExampleBuilder::new(&self.config, RatingBalance::even()).ok_or_else(unknown)?;
        let mut values = Vec::with_capacity(positions.len());
        for part in positions.chunks(self.config.data.batch) {
            let viewers: Vec<Color> = part.iter().map(|position| builder.push_position(position)).collect();
            let scores = self.backend.evaluate(&builder.take(), Weights::Live)?;
            for ((position, viewer), number) in part.iter().zip(viewers).zip(scores.value) {
                let centipawns = self.centipawns(number);
                values.push(if viewer == position.turn() { centipawns } else { -centipawns });
            }
        }
        Ok(values)
    }

    /// A number in the units of the loss as centipawns.
    fn centipawns(&self, number: f32) -> f32 {
        match self.config.loss.value_kind {
            ValueLoss::L1 | ValueLoss::Squared => 100.0 * number,
            ValueLoss::Chance | ValueLoss::CrossEntropy => {
                let chance = number.clamp(CERTAIN, 1.0 - CERTAIN);
                self.cp_scale * (chance / (1.0 - chance)).ln()
            }
        }
    }
}
