use std::ops::{AddAssign, ControlFlow};

use crate::{Examples, ParameterTable};

/// The settings of one optimiser step.
///
/// The update, over the flat arena, with `g` the gradient scaled by `min(1, clip / |g|)` and `t` counted from 1:
/// `m = beta1 m + (1 - beta1) g`, `v = beta2 v + (1 - beta2) g^2`,
/// `w -= lr (m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps) + weight_decay w)`, decay only where the table says so,
/// then `ema = ema_decay ema + (1 - ema_decay) w`.
///
/// Muon ([`OptimiserKind::Muon`](crate::OptimiserKind::Muon)) moves each matrix of the network's body, `[rows, columns]`,
/// another way: `m = momentum m + g`, `u = g + momentum m`,
/// `w -= lr (0.2 sqrt(max(rows, columns)) orthogonal(u) + weight_decay w)`; `v` stays zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepHyper {
    /// Learning rate.
    pub lr: f32,
    /// Decay of the first moment.
    pub beta1: f32,
    /// Decay of the second moment.
    pub beta2: f32,
    /// Keeps the division finite.
    pub eps: f32,
    /// Decoupled weight decay, as a share of the learning rate.
    pub weight_decay: f32,
    /// The largest norm of the whole gradient; 0 means no limit.
    pub clip: f32,
    /// Decay of the averaged weights.
    pub ema_decay: f32,
}

/// The mean losses of a batch by head, each before its factor, and their weighted sum.
///
/// A head's loss is `sum(weight_i * loss_i) / sum(weight_i)` over *all* examples; one without that target contributes
/// nothing to the upper sum. The total is the sum of heads, each times its factor in [`LossFactors`](crate::LossFactors).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Losses {
    /// What is minimised.
    pub total: f32,
    /// Cross entropy of the move, over legal moves alone.
    pub policy: f32,
    /// Cross entropy of the promotion piece.
    pub promotion: f32,
    /// Cross entropy of win, draw and loss.
    pub outcome: f32,
    /// Cross entropy of the think-time bin.
    pub think: f32,
    /// The value loss of the configuration.
    pub value: f32,
}

impl AddAssign for Losses {
    fn add_assign(&mut self, other: Losses) {
        self.total += other.total;
        self.policy += other.policy;
        self.promotion += other.promotion;
        self.outcome += other.outcome;
        self.think += other.think;
        self.value += other.value;
    }
}

/// What one step did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepReport {
    /// Which step, counted from 1 over the whole life of the weights.
    pub step: u64,
    /// The losses before the update.
    pub losses: Losses,
    /// The norm of the whole gradient before clipping.
    pub gradient_norm: f32,
}

impl StepReport {
    /// Whether the step was made. A loss or gradient that is not finite leaves weights and moments as they were.
    pub fn is_finite(&self) -> bool {
        self.losses.total.is_finite() && self.gradient_norm.is_finite()
    }
}

/// Which weights to evaluate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weights {
    /// Those the optimiser moves.
    Live,
    /// Their running average.
    Averaged,
}

/// What the network says of each example, column by column; a column is empty where the network has no such head.
/// Losses are before weights and factors, NaN where the example has no such target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scores {
    /// Cross entropy of the move against the target distribution.
    pub policy: Vec<f32>,
    /// How many legal moves have a larger logit than the one played: 0 is a hit.
    pub rank: Vec<u16>,
    /// Cross entropy of the promotion piece.
    pub promotion: Vec<f32>,
    /// Cross entropy of win, draw and loss.
    pub outcome: Vec<f32>,
    /// Cross entropy of the think-time bin.
    pub think: Vec<f32>,
    /// The value predicted, in the units of the target.
    pub value: Vec<f32>,
    /// The value loss.
    pub value_loss: Vec<f32>,
}

/// Everything an optimiser remembers. Each vector is an arena of the network's [`ParameterTable`].
#[derive(Clone, Debug, PartialEq)]
pub struct TrainerState {
    /// Steps made.
    pub step: u64,
    /// The weights.
    pub weights: Vec<f32>,
    /// First moments; the momentum of what Muon moves.
    pub m: Vec<f32>,
    /// Second moments; zero for what Muon moves.
    pub v: Vec<f32>,
    /// Averaged weights.
    pub ema: Vec<f32>,
}

impl TrainerState {
    /// The state before the first step.
    pub fn fresh(weights: Vec<f32>) -> Self {
        let zeros = vec![0.0; weights.len()];
        TrainerState { step: 0, m: zeros.clone(), v: zeros, ema: weights.clone(), weights }
    }

    /// Whether the arenas have the length the table asks for.
    ///
    /// # Errors
    /// Says which arena has another length.
    pub fn check(&self, table: &ParameterTable) -> Result<(), BackendError> {
        let arenas = [("weights", &self.weights), ("m", &self.m), ("v", &self.v), ("ema", &self.ema)];
        for (name, arena) in arenas {
            if arena.len() != table.arena_len() {
                let (have, want) = (arena.len(), table.arena_len());
                let message = format!("{name} has {have} elements, the network {want}");
                return Err(BackendError::Mismatch(message));
            }
        }
        Ok(())
    }
}

/// Why a backend could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    /// The CPU tensors failed.
    #[error("CPU tensors: {0}")]
    Candle(#[from] candle_core::Error),
    /// The device failed, or there is none.
    #[error("device: {0}")]
    Device(String),
    /// The state or the examples do not belong to this network.
    #[error("{0}")]
    Mismatch(String),
    /// The step was broken off.
    #[error("cancelled")]
    Cancelled,
}

/// A network being trained on some device.
pub trait Backend {
    /// Where the parameters lie.
    fn table(&self) -> &ParameterTable;

    /// Which device, for people.
    fn device(&self) -> String;

    /// One optimiser step. Reports may come some steps late, in order, so that a device never waits for its host;
    /// those not yet given come from [`finish`](Backend::finish).
    ///
    /// # Errors
    /// If the examples do not fit the network, or the device fails.
    fn step(&mut self, examples: &Examples, hyper: &StepHyper) -> Result<Vec<StepReport>, BackendError>;

    /// The same as [`step`](Backend::step). A backend that works in micro-batches tells `each` how many examples are done
    /// between two of them, and drops the step if it breaks off.
    ///
    /// # Errors
    /// As [`step`](Backend::step), and [`BackendError::Cancelled`]; the state is that before the step then.
    fn step_polling(
        &mut self,
        examples: &Examples,
        hyper: &StepHyper,
        each: &mut dyn FnMut(usize) -> ControlFlow<()>,
    ) -> Result<Vec<StepReport>, BackendError> {
        let _ = each;
        self.step(examples, hyper)
    }

    /// How many examples this backend computes at a time: a few seconds' work at most, even on a slow machine. `None` where
    /// a whole batch is no more.
    fn micro_batch(&self) -> Option<usize> {
        None
    }

    /// Waits for all steps and gives the reports that are still due.
    ///
    /// # Errors
    /// If the device fails.
    fn finish(&mut self) -> Result<Vec<StepReport>, BackendError>;

    /// What the network says of each example. Changes nothing.
    ///
    /// # Errors
    /// As [`step`](Backend::step).
    fn evaluate(&mut self, examples: &Examples, weights: Weights) -> Result<Scores, BackendError>;

    /// The losses and their gradient, an arena, without clipping. Changes nothing.
    ///
    /// # Errors
    /// As [`step`](Backend::step).
    fn gradients(&mut self, examples: &Examples) -> Result<(Losses, Vec<f32>), BackendError>;

    /// A copy of everything the optimiser remembers, after all steps given so far.
    ///
    /// # Errors
    /// If the device fails.
    fn state(&mut self) -> Result<TrainerState, BackendError>;

    /// Takes over a state.
    ///
    /// # Errors
    /// If its arenas have another length, or the device fails.
    fn load(&mut self, state: &TrainerState) -> Result<(), BackendError>;
}
