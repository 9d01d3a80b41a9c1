use std::ops::ControlFlow;

use candle_core::{Tensor, Var};
use shakmaty::Chess;
use tabia_encoding::{Batch, Situation, encoding};

use crate::kernels::rows::read;
use crate::losses::{self, ValueRule};
use crate::optimiser::{self, Optimiser};
use crate::tensors::{Kernels, Tensors, heads, variables};
use crate::{
    Backend, BackendError, Examples, LossFactors, Losses, NetConfig, ParameterTable, Scores, StepHyper,
    StepReport, TrainConfig, TrainerState, Weights,
};

/// Training on the CPU: candle's automatic differentiation in 32 bits and our own optimisers.
///
/// It comes in two versions: the plain one uses candle's operations only and is the specification that everything else is
/// compared with; the default one has kernels of our own and agrees with it up to rounding.
pub struct CpuBackend {
    kernels: Kernels,
    net: NetConfig,
    table: ParameterTable,
    factors: LossFactors,
    rule: ValueRule,
    optimiser: Optimiser,
    state: TrainerState,
    /// Positions whose gradient is computed at a time.
    micro_batch: usize,
}

/// Multiplications of the forward pass of a micro-batch; the backward pass takes twice as many. A transformer makes some 5 * 10^9
/// a second on two cores in a development build, and a tenth of that on a busy machine. Fixed, because other sizes round
/// differently: a run is the same on every machine.
const MICRO_BATCH_MULTIPLICATIONS: usize = 1 << 31;

impl CpuBackend {
    /// The network of a configuration with initial weights.
    pub fn new(config: &TrainConfig, seed: u64) -> Self {
        CpuBackend::with_kernels(config, seed, Kernels::Fast)
    }

    /// The same by candle's operations alone: the specification.
    pub fn plain(config: &TrainConfig, seed: u64) -> Self {
        CpuBackend::with_kernels(config, seed, Kernels::Plain)
    }

    fn with_kernels(config: &TrainConfig, seed: u64, kernels: Kernels) -> Self {
        let table = config.net.table();
        let state = TrainerState::fresh(table.initial(seed));
        let micro_batch = match kernels {
            Kernels::Plain => usize::MAX,
            // What cannot be computed says so when it is to be.
            Kernels::Fast => micro_batch(&config.net, &table, &state.weights).unwrap_or(usize::MAX),
        };
        CpuBackend {
            kernels,
            net: config.net.clone(),
            table,
            factors: config.loss,
            rule: config.value_rule(),
            optimiser: Optimiser::of(&config.optimiser),
            state,
            micro_batch,
        }
    }

    /// The same with so many positions at a time; the sum of their gradients rounds differently.
    pub fn with_micro_batch(mut self, positions: usize) -> Self {
        self.micro_batch = positions.max(1);
        self
    }

    fn check(&self, examples: &Examples) -> Result<(), BackendError> {
        let (have, want) = (examples.inputs.encoding().id().0, self.net.encoding());
        if have != want {
            return Err(BackendError::Mismatch(format!(
                "the examples are encoded as {have}, the network takes {want}"
            )));
        }
        Ok(())
    }
}

impl CpuBackend {
    /// The gradient of a batch, micro-batch by micro-batch.
    fn accumulate(
        &self,
        examples: &Examples,
        each: &mut dyn FnMut(usize) -> ControlFlow<()>,
    ) -> Result<(Losses, Vec<f32>), BackendError> {
        self.check(examples)?;
        let variables = variables(&self.table, &self.state.weights)?;
        let total_weight = examples.total_weight();
        let mut sums: Option<(Losses, Vec<f32>)> = None;
        let mut done = 0;
        for part in examples.micro_batches(self.whole_groups(examples)) {
            if done > 0 && each(done).is_break() {
                return Err(BackendError::Cancelled);
            }
            let (losses, gradient) = self.differentiate(&part, total_weight, &variables)?;
            match &mut sums {
                None => sums = Some((losses, gradient)),
                Some((all, sum)) => {
                    *all += losses;
                    sum.iter_mut().zip(gradient).for_each(|(sum, part)| *sum += part);
                }
            }
            done += part.rows();
        }
        Ok(sums.unwrap_or_else(|| (Losses::default(), vec![0.0; self.table.arena_len()])))
    }

    /// The size of a micro-batch that keeps siblings together.
    fn whole_groups(&self, examples: &Examples) -> usize {
        let size = if examples.siblings.is_empty() { 1 } else { self.rule.siblings };
        (self.micro_batch / size).max(1).saturating_mul(size)
    }

    /// What some examples contribute to the losses and the gradient of their batch.
    fn differentiate(
        &self,
        examples: &Examples,
        total_weight: f32,
        variables: &[Var],
    ) -> Result<(Losses, Vec<f32>), BackendError> {
        let parameters: Vec<Tensor> = variables.iter().map(|v| v.as_tensor().clone()).collect();
        let mut tensors = Tensors::new(&self.table, parameters, &examples.inputs, self.kernels)?;
        let heads = heads(&self.net, &mut tensors)?;
        let (total, losses) =
            losses::total(&heads, examples, total_weight, &self.factors, self.rule, self.kernels)?;
        let store = total.backward()?;
        let mut gradient = vec![0.0; self.table.arena_len()];
        for (entry, variable) in self.table.entries().iter().zip(variables) {
            // A head without targets in this batch has no gradient.
            if let Some(tensor) = store.get(variable.as_tensor()) {
                let own = entry.of_mut(&mut gradient);
                read(tensor, |values| {
                    own.copy_from_slice(values);
                    Ok(())
                })?;
            }
        }
        Ok((losses, gradient))
    }
}

/// How many positions of a network make a micro-batch.
fn micro_batch(net: &NetConfig, table: &ParameterTable, weights: &[f32]) -> candle_core::Result<usize> {
    let Some(encoding) = encoding(net.encoding()) else { return Ok(usize::MAX) };
    let mut batch = Batch::new(encoding);
    batch.push(&Situation::of(&Chess::default()));
    let mut tensors = Tensors::constant(table, weights, &batch, Kernels::Fast)?;
    net.forward(&mut tensors)?;
    Ok((MICRO_BATCH_MULTIPLICATIONS / tensors.multiplications().max(1)).max(1))
}

impl Backend for CpuBackend {
    fn table(&self) -> &ParameterTable {
        &self.table
    }

    fn device(&self) -> String {
        "CPU".to_owned()
    }

    fn step(&mut self, examples: &Examples, hyper: &StepHyper) -> Result<Vec<StepReport>, BackendError> {
        self.step_polling(examples, hyper, &mut |_| ControlFlow::Continue(()))
    }

    fn step_polling(
        &mut self,
        examples: &Examples,
        hyper: &StepHyper,
        each: &mut dyn FnMut(usize) -> ControlFlow<()>,
    ) -> Result<Vec<StepReport>, BackendError> {
        let (losses, gradient) = self.accumulate(examples, each)?;
        let gradient_norm = optimiser::norm(&gradient);
        let report = StepReport { step: self.state.step + 1, losses, gradient_norm };
        if report.is_finite() {
            self.optimiser.step(&self.table, &mut self.state, &gradient, gradient_norm, hyper);
        }
        Ok(vec![report])
    }

    fn micro_batch(&self) -> Option<usize> {
        Some(self.micro_batch)
    }

    fn finish(&mut self) -> Result<Vec<StepReport>, BackendError> {
        Ok(Vec::new())
    }

    fn evaluate(&mut self, examples: &Examples, weights: Weights) -> Result<Scores, BackendError> {
        self.check(examples)?;
        let arena = match weights {
            Weights::Live => &self.state.weights,
            Weights::Averaged => &self.state.ema,
        };
        let mut tensors = Tensors::constant(&self.table, arena, &examples.inputs, self.kernels)?;
        let heads = heads(&self.net, &mut tensors)?;
        Ok(losses::scores(&heads, examples, self.rule, self.kernels)?)
    }

    fn gradients(&mut self, examples: &Examples) -> Result<(Losses, Vec<f32>), BackendError> {
        self.accumulate(examples, &mut |_| ControlFlow::Continue(()))
    }

    fn state(&mut self) -> Result<TrainerState, BackendError> {
        Ok(self.state.clone())
    }

    fn load(&mut self, state: &TrainerState) -> Result<(), BackendError> {
        state.check(&self.table)?;
        self.state = state.clone();
        Ok(())
    }
}
