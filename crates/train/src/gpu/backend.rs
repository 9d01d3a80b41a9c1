//! The fused trainer as a [`Backend`]: batches in, reports out, state in the order of the parameter table.

use super::check::Compared;
use super::device::{Device, DeviceError, Wait};
use super::transformer::{
    Arena, GAME_INPUTS, InputPlaces, LOSSES, Loaded, MOVES, SOFT_TARGETS, SQUARE_INPUTS, TOKENS, Targets,
    Transformer,
};
use super::twins::compare_kernels;
use crate::nets::HumanConfig;
use crate::{
    ABSENT, Backend, BackendError, Examples, LossFactors, Losses, NetConfig, ParameterTable, PolicyTargets,
    Scores, StepHyper, StepReport, TrainerState, Weights,
};

/// Steps the host may be ahead of the last report it has read.
const AHEAD: usize = 8;

/// A network on a device, with its table.
pub(crate) struct Fused<D: Device> {
    net: Transformer<D>,
    table: ParameterTable,
    encoding: String,
    next_slot: usize,
    due: usize,
}

impl From<DeviceError> for BackendError {
    fn from(error: DeviceError) -> Self {
        BackendError::Device(error.to_string())
    }
}

fn losses_of(report: &[f32; 8]) -> Losses {
    let [policy, promotion, outcome, think, total, ..] = *report;
    Losses { total, policy, promotion, outcome, think, value: 0.0 }
}

fn mismatch(message: String) -> BackendError {
    BackendError::Mismatch(message)
}

impl<D: Device> Fused<D> {
    pub(crate) fn new(
        device: D,
        config: HumanConfig,
        factors: &LossFactors,
        capacity: usize,
        seed: u64,
    ) -> Result<Self, BackendError> {
        let net = Transformer::new(device, config, capacity, factors)?;
        let config = NetConfig::Human(config);
        let table = config.table();
        let mut fused = Fused { net, encoding: config.encoding().to_owned(), next_slot: 0, due: 0, table };
        fused.load(&TrainerState::fresh(fused.table.initial(seed)))?;
        Ok(fused)
    }

    pub(crate) fn device_of(&self) -> &D {
        self.net.device()
    }

    /// Each kernel against its twin.
    pub(crate) fn compare_kernels(&self) -> Result<Vec<Compared>, DeviceError> {
        compare_kernels(self.net.device(), self.net.config())
    }

    /// Sends a batch and what the optimiser is to do with it.
    fn send(&mut self, examples: &Examples, hyper: &StepHyper) -> Result<Loaded, BackendError> {
        let policy = self.check(examples)?;
        let rows = examples.rows();
        let soft = if policy.soft.starts.is_empty() { Targets::Hard } else { Targets::Soft };
        let batch = Loaded { slot: self.next_slot, rows, targets: soft };
        self.next_slot = 1 - self.next_slot;
        let places = *self.net.places();
        let mut fill = |memory: &mut [u8]| fill(memory, &places, examples, policy, hyper);
        self.net.device().send(batch.slot, self.net.slot(batch.slot), places.len, &mut fill)?;
        Ok(batch)
    }

    fn check<'a>(&self, examples: &'a Examples) -> Result<&'a PolicyTargets, BackendError> {
        let have = examples.inputs.encoding().id().0;
        if have != self.encoding {
            return Err(mismatch(format!(
                "the examples are encoded as {have}, the network takes {}",
                self.encoding
            )));
        }
        let rows = examples.rows();
        if rows == 0 || rows > self.net.capacity() {
            let room = self.net.capacity();
            return Err(mismatch(format!(
                "a batch of {rows} positions, where there is room for 1 to {room}"
            )));
        }
        let policy =
            examples.policy.as_ref().ok_or_else(|| mismatch("the examples have no moves".to_owned()))?;
        let lengths = [
            ("squares", examples.inputs.values(0).len(), rows * TOKENS * SQUARE_INPUTS),
            ("game", examples.inputs.values(1).len(), rows * GAME_INPUTS),
            ("weights", examples.weights.len(), rows),
            ("moves played", policy.played.len(), rows),
            ("legal moves", policy.legal.len(), rows * MOVES / 8),
        ];
        if let Some((what, have, want)) = lengths.into_iter().find(|(_, have, want)| have != want) {
            return Err(mismatch(format!("{what}: {have} numbers, not {want}")));
        }
        let (starts, entries) = (policy.soft.starts.len(), policy.soft.indices.len());
        if starts != 0 && starts != rows + 1 {
            return Err(mismatch(format!("soft targets of {} rows in a batch of {rows}", starts - 1)));
        }
        if entries > self.net.capacity() * SOFT_TARGETS || entries != policy.soft.probabilities.len() {
            return Err(mismatch(format!("{entries} soft targets, more than {SOFT_TARGETS} a position")));
        }
        let moves = policy.played.iter().chain(&policy.soft.indices);
        if let Some(index) = moves.copied().find(|&index| usize::from(index) >= MOVES) {
            return Err(mismatch(format!("move index {index}, where there are {MOVES}")));
        }
        Ok(policy)
    }

    fn receive(&mut self, wait: Wait, reports: &mut Vec<StepReport>) -> Result<bool, BackendError> {
        let Some(report) = self.net.device().receive(wait)? else { return Ok(false) };
        self.due -= 1;
        reports.push(StepReport {
            step: report[6] as u64,
            losses: losses_of(&report),
            gradient_norm: report[5],
        });
        Ok(true)
    }
}

/// Writes a batch into the memory of a slot.
fn fill(
    memory: &mut [u8],
    places: &InputPlaces,
    examples: &Examples,
    policy: &PolicyTargets,
    hyper: &StepHyper,
) {
    let rows = examples.rows();
    let mut put = |at: usize, bytes: &[u8]| memory[at..at + bytes.len()].copy_from_slice(bytes);
    put(places.squares, bytemuck::cast_slice(examples.inputs.values(0)));
    put(places.game, bytemuck::cast_slice(examples.inputs.values(1)));
    put(places.legal, &policy.legal);
    put(places.played, bytemuck::cast_slice(&policy.played));
    put(places.starts, bytemuck::cast_slice(&policy.soft.starts));
    put(places.indices, bytemuck::cast_slice(&policy.soft.indices));
    put(places.probabilities, bytemuck::cast_slice(&policy.soft.probabilities));
    let total = examples.total_weight().max(f32::MIN_POSITIVE);
    let shares: Vec<f32> = examples.weights.iter().map(|weight| weight / total).collect();
    put(places.share, bytemuck::cast_slice(&shares));
    let absent = vec![ABSENT; rows];
    let classes = [
        (places.promotions, &policy.promotions),
        (places.outcomes, &examples.outcomes),
        (places.think, &examples.think),
    ];
    for (at, column) in classes {
        put(at, if column.is_empty() { &absent } else { column });
    }
    let StepHyper { lr, beta1, beta2, eps, weight_decay, clip, ema_decay } = *hyper;
    put(places.hyper, bytemuck::cast_slice(&[lr, beta1, beta2, eps, weight_decay, clip, ema_decay]));
}

/// What a batch that is only looked at is sent with.
const NO_STEP: StepHyper =
    StepHyper { lr: 0.0, beta1: 0.9, beta2: 0.9, eps: 1.0, weight_decay: 0.0, clip: 0.0, ema_decay: 1.0 };

impl<D: Device> Backend for Fused<D> {
    fn table(&self) -> &ParameterTable {
        &self.table
    }

    fn device(&self) -> String {
        self.net.device().describe()
    }

    fn step(&mut self, examples: &Examples, hyper: &StepHyper) -> Result<Vec<StepReport>, BackendError> {
        let mut reports = Vec::new();
        if self.due >= AHEAD {
            self.receive(Wait::Yes, &mut reports)?;
        }
        let batch = self.send(examples, hyper)?;
        self.net.gradients(&batch)?;
        self.net.update(&batch)?;
        self.net.device().release(batch.slot)?;
        self.net.device().request(self.net.report())?;
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
        self.net.evaluate(&batch, weights)?;
        self.net.device().release(batch.slot)?;
        let (losses, rank) = self.net.read_losses(batch.rows)?;
        let [policy, promotion, outcome, think]: [Vec<f32>; LOSSES] = losses;
        let promotions = examples.policy.as_ref().map_or(&[][..], |policy| &policy.promotions);
        Ok(Scores {
            policy,
            rank,
            promotion: where_known(promotion, promotions),
            outcome: where_known(outcome, &examples.outcomes),
            think: where_known(think, &examples.think),
            value: Vec::new(),
            value_loss: Vec::new(),
        })
    }

    fn gradients(&mut self, examples: &Examples) -> Result<(Losses, Vec<f32>), BackendError> {
        let batch = self.send(examples, &NO_STEP)?;
        self.net.gradients(&batch)?;
        self.net.device().release(batch.slot)?;
        let mut report = [0_f32; 8];
        self.net.device().read(self.net.report(), bytemuck::cast_slice_mut(&mut report))?;
        Ok((losses_of(&report), self.net.read_arena(Arena::Gradient)?))
    }

    fn state(&mut self) -> Result<TrainerState, BackendError> {
        Ok(TrainerState {
            step: self.net.read_steps()?,
            weights: self.net.read_arena(Arena::Weights)?,
            m: self.net.read_arena(Arena::First)?,
            v: self.net.read_arena(Arena::Second)?,
            ema: self.net.read_arena(Arena::Averaged)?,
        })
    }

    fn load(&mut self, state: &TrainerState) -> Result<(), BackendError> {
        state.check(&self.table)?;
        self.net.write_arena(Arena::Weights, &state.weights)?;
        self.net.write_arena(Arena::First, &state.m)?;
        self.net.write_arena(Arena::Second, &state.v)?;
        self.net.write_arena(Arena::Averaged, &state.ema)?;
        Ok(self.net.write_steps(state.step)?)
    }
}

/// Losses of examples that have the target, NaN for the others; nothing where none has.
fn where_known(mut losses: Vec<f32>, targets: &[u8]) -> Vec<f32> {
    if targets.is_empty() {
        return Vec::new();
    }
    for (loss, &target) in losses.iter_mut().zip(targets) {
        if target == ABSENT {
            *loss = f32::NAN;
        }
    }
    losses
}
