//! A network on a device as a [`Backend`]: batches in, reports out, state in the order of the parameter table.

use super::batch::{Loaded, Sent, Targets};
use super::graph::GpuGraph;
use super::training::{Arena, LOSSES};
use crate::{
    ABSENT, Backend, BackendError, Examples, Losses, NetConfig, ParameterTable, Scores, StepHyper,
    StepReport, TrainerState, Weights,
};
use tabia_gpu::{Device, DeviceError, Wait};

/// Steps the host may be ahead of the last report it has read.
const AHEAD: usize = 8;

/// A network on a device, with its table.
pub(crate) struct GpuBackend<D: Device> {
    net: GpuGraph<D>,
    table: ParameterTable,
    encoding: String,
    heads: HeadsKnown,
    next_slot: usize,
    due: usize,
}

/// Which of the heads a network has: columns of scores without a head are empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeadsKnown {
    pub(crate) policy: bool,
    pub(crate) promotion: bool,
    pub(crate) outcome: bool,
    pub(crate) think: bool,
    pub(crate) value: bool,
}

impl HeadsKnown {
    /// Empties the columns of heads that are not there: what they left behind means nothing.
    fn clear_others(self, scores: &mut Scores) {
        if !self.policy {
            scores.policy.clear();
            scores.rank.clear();
        }
        if !self.value {
            scores.value.clear();
            scores.value_loss.clear();
        }
        let classes = [
            (self.promotion, &mut scores.promotion),
            (self.outcome, &mut scores.outcome),
            (self.think, &mut scores.think),
        ];
        for (_, column) in classes.into_iter().filter(|(there, _)| !there) {
            column.clear();
        }
    }
}

impl From<DeviceError> for BackendError {
    fn from(error: DeviceError) -> Self {
        BackendError::Device(error.to_string())
    }
}

fn losses_of(report: &[f32; 8]) -> Losses {
    let [policy, promotion, outcome, think, value, total, ..] = *report;
    Losses { total, policy, promotion, outcome, think, value }
}

impl<D: Device> GpuBackend<D> {
    pub(crate) fn new(
        net: GpuGraph<D>,
        config: &NetConfig,
        heads: HeadsKnown,
        seed: u64,
    ) -> Result<Self, BackendError> {
        let (table, encoding) = (config.table(), config.encoding().to_owned());
        let mut fused = GpuBackend { net, table, encoding, heads, next_slot: 0, due: 0 };
        fused.load(&TrainerState::fresh(fused.table.initial(seed)))?;
        Ok(fused)
    }

    #[cfg(test)]
    pub(crate) fn net(&self) -> &GpuGraph<D> {
        &self.net
    }

    pub(crate) fn device_of(&self) -> &D {
        &self.net.training().device
    }

    /// Sends a batch and what the optimiser is to do with it.
    fn send(&mut self, examples: &Examples, hyper: &StepHyper) -> Result<Loaded, BackendError> {
        let have = examples.inputs.encoding().id().0;
        if have != self.encoding {
            return Err(BackendError::Mismatch(format!(
                "the examples are encoded as {have}, the network takes {}",
                self.encoding
            )));
        }
        let training = self.net.training();
        training.places.check(examples, training.capacity)?;
        let soft = examples.policy.as_ref().is_some_and(|policy| !policy.soft.starts.is_empty());
        let slot = self.next_slot;
        let mut numbers = Sent::Bytes;
        let mut fill = |memory: &mut [u8]| {
            let (sent, bytes) = training.places.fill(memory, examples, hyper);
            numbers = sent;
            bytes
        };
        training.device.send(slot, training.slot(slot), training.places.len, &mut fill)?;
        self.next_slot = 1 - self.next_slot;
        let targets = if soft { Targets::Soft } else { Targets::Hard };
        Ok(Loaded { slot, rows: examples.rows(), targets, numbers })
    }

    /// The gradient of a batch into the arena, and its report.
    fn differentiate(&self, batch: &Loaded) -> Result<(), DeviceError> {
        self.net.forward(batch, self.net.training().live())?;
        self.net.backward(batch)?;
        self.net.training().summarise(batch)
    }

    fn receive(&mut self, wait: Wait, reports: &mut Vec<StepReport>) -> Result<bool, BackendError> {
        let Some(report) = self.device_of().receive(wait)? else { return Ok(false) };
        self.due -= 1;
        reports.push(StepReport {
            step: report[7] as u64,
            losses: losses_of(&report),
            gradient_norm: report[6],
        });
        Ok(true)
    }
}

/// What a batch that is only looked at is sent with.
const NO_STEP: StepHyper =
    StepHyper { lr: 0.0, beta1: 0.9, beta2: 0.9, eps: 1.0, weight_decay: 0.0, clip: 0.0, ema_decay: 1.0 };

impl<D: Device> Backend for GpuBackend<D> {
    fn table(&self) -> &ParameterTable {
        &self.table
    }

    fn device(&self) -> String {
        self.device_of().describe()
    }

    fn step(&mut self, examples: &Examples, hyper: &StepHyper) -> Result<Vec<StepReport>, BackendError> {
        let mut reports = Vec::new();
        if self.due >= AHEAD {
            self.receive(Wait::Yes, &mut reports)?;
        }
        let batch = self.send(examples, hyper)?;
        self.differentiate(&batch)?;
        self.net.training().update(&batch)?;
        self.device_of().release(batch.slot)?;
        self.device_of().request(self.net.training().report())?;
        self.due += 1;
        while self.due > 0 && self.receive(Wait::No, &mut reports)? {}
        Ok(reports)
    }

    fn finish(&mut self) -> Result<Vec<StepReport>, BackendError> {
        let mut reports = Vec::new();
        while self.due > 0 && self.receive(Wait::Yes, &mut reports)? {}
        Ok(reports)
    }

    fn evaluate(&mut self, examples: &Examples, weights: Weights) -> Result<Scores, BackendError> {
        let batch = self.send(examples, &NO_STEP)?;
        let training = self.net.training();
        let source = match weights {
            Weights::Live => training.live(),
            Weights::Averaged => training.averaged()?,
        };
        self.net.forward(&batch, source)?;
        training.device.release(batch.slot)?;
        let found = training.read_examples(batch.rows)?;
        let [policy, promotion, outcome, think, value]: [Vec<f32>; LOSSES] = found.losses;
        let promotions = examples.policy.as_ref().map_or(&[][..], |policy| &policy.promotions);
        let classes = |losses: Vec<f32>, targets: &[u8]| {
            where_known(losses, targets.iter().map(|&target| target != ABSENT))
        };
        let values_known = examples.values.iter().map(|value| !value.is_nan());
        let mut scores = Scores {
            policy,
            rank: found.ranks,
            promotion: classes(promotion, promotions),
            outcome: classes(outcome, &examples.outcomes),
            think: classes(think, &examples.think),
            value: found.values,
            value_loss: where_known(value, values_known),
        };
        self.heads.clear_others(&mut scores);
        Ok(scores)
    }

    fn gradients(&mut self, examples: &Examples) -> Result<(Losses, Vec<f32>), BackendError> {
        let batch = self.send(examples, &NO_STEP)?;
        self.differentiate(&batch)?;
        let training = self.net.training();
        training.device.release(batch.slot)?;
        let mut report = [0_f32; 8];
        training.device.read(training.report(), bytemuck::cast_slice_mut(&mut report))?;
        Ok((losses_of(&report), training.read_arena(Arena::Gradient)?))
    }

    fn state(&mut self) -> Result<TrainerState, BackendError> {
        let training = self.net.training();
        Ok(TrainerState {
            step: training.read_steps()?,
            weights: training.read_arena(Arena::Weights)?,
            m: training.read_arena(Arena::First)?,
            v: training.read_arena(Arena::Second)?,
            ema: training.read_arena(Arena::Averaged)?,
        })
    }

    fn load(&mut self, state: &TrainerState) -> Result<(), BackendError> {
        state.check(&self.table)?;
        let training = self.net.training();
        training.write_arena(Arena::Weights, &state.weights)?;
        training.write_arena(Arena::First, &state.m)?;
        training.write_arena(Arena::Second, &state.v)?;
        training.write_arena(Arena::Averaged, &state.ema)?;
        Ok(training.write_steps(state.step)?)
    }
}

/// Losses of examples that have the target, NaN for the others; nothing where none has.
fn where_known(mut losses: Vec<f32>, known: impl ExactSizeIterator<Item = bool>) -> Vec<f32> {
    if known.len() == 0 {
        return Vec::new();
    }
    for (loss, _) in losses.iter_mut().zip(known).filter(|(_, known)| !known) {
        *loss = f32::NAN;
    }
    losses
}
