use candle_core::Tensor;

use crate::kernels::rows::read;
use crate::losses::{self, ValueRule};
use crate::nets::tensors::{Kernels, Tensors, variables};
use crate::optimiser::{self, Optimiser};
use crate::{
    Backend, BackendError, Examples, LossFactors, Losses, NetConfig, ParameterTable, Scores, StepHyper,
    StepReport, TrainConfig, TrainerState, Weights,
};

/// Training on the CPU: candle's automatic differentiation in 32 bits and an optimiser of our own.
///
/// It comes in two versions: one whose layers are candle's operations alone, clear rather than fast, which is what
/// everything else is compared with, and one with kernels of our own, which agrees with it up to rounding.
pub struct CpuBackend {
    kernels: Kernels,
    net: NetConfig,
    table: ParameterTable,
    factors: LossFactors,
    rule: ValueRule,
    optimiser: Optimiser,
    state: TrainerState,
}

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
        CpuBackend {
            kernels,
            net: config.net.clone(),
            table,
            factors: config.loss,
            rule: config.value_rule(),
            optimiser: Optimiser::of(&config.optimiser),
            state,
        }
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

impl Backend for CpuBackend {
    fn table(&self) -> &ParameterTable {
        &self.table
    }

    fn device(&self) -> String {
        "CPU".to_owned()
    }

    fn step(&mut self, examples: &Examples, hyper: &StepHyper) -> Result<Vec<StepReport>, BackendError> {
        let (losses, gradient) = self.gradients(examples)?;
        let gradient_norm = optimiser::norm(&gradient);
        let report = StepReport { step: self.state.step + 1, losses, gradient_norm };
        if report.is_finite() {
            self.optimiser.step(&self.table, &mut self.state, &gradient, gradient_norm, hyper);
        }
        Ok(vec![report])
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
        let heads = self.net.forward(&mut tensors)?.dense()?;
        Ok(losses::scores(&heads, examples, self.rule, self.kernels)?)
    }

    fn gradients(&mut self, examples: &Examples) -> Result<(Losses, Vec<f32>), BackendError> {
        self.check(examples)?;
        let variables = variables(&self.table, &self.state.weights)?;
        let parameters: Vec<Tensor> = variables.iter().map(|v| v.as_tensor().clone()).collect();
        let mut tensors = Tensors::new(&self.table, parameters, &examples.inputs, self.kernels)?;
        let heads = self.net.forward(&mut tensors)?.dense()?;
        let (total, losses) = losses::total(&heads, examples, &self.factors, self.rule, self.kernels)?;
        let store = total.backward()?;
        let mut gradient = vec![0.0; self.table.arena_len()];
        for (entry, variable) in self.table.entries().iter().zip(&variables) {
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

    fn state(&mut self) -> Result<TrainerState, BackendError> {
        Ok(self.state.clone())
    }

    fn load(&mut self, state: &TrainerState) -> Result<(), BackendError> {
        state.check(&self.table)?;
        self.state = state.clone();
        Ok(())
    }
}
