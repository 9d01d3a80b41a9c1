//! Any network of `nets` on a device: its layers are recorded once, and planned as launches and products.
//!
//! | to find | look in |
//! |---|---|
//! | how values lie in memory | `view` |
//! | the network run on shapes | `recorder` |
//! | what that gives | `record` |
//! | the work forward, the losses, backward | `plan`, `heads`, `backward` |
//! | how work is done for a batch | `work` |
//! | the kernels | `elements.cu`, `rows.cu`, `losses.cu`, and `attention.cu` beside |

mod backward;
mod heads;
mod plan;
mod record;
mod recorder;
#[cfg(test)]
mod tests;
mod view;
mod work;

use tabia_encoding::{ElementKind, Encoding, MoveVocabulary, encoding, vocabulary};

use super::attention as attention_kernels;
use super::backend::{GpuBackend, HeadsKnown};
use super::batch::{Form, Loaded, Places};
use super::layout::Layout;
use super::training::{KERNELS, Source, Training};
use crate::optimiser::Optimiser;
use crate::{BackendError, TrainConfig};
use plan::Plan;
use record::Record;
use tabia_gpu::Cuda;
use tabia_gpu::Tuning;
use tabia_gpu::{Device, DeviceError};

/// A network, recorded, before there is a device.
pub(crate) struct Recorded {
    record: Record,
    encoding: &'static dyn Encoding,
}

/// A recorded network on a device.
pub(crate) struct GpuGraph<D: Device> {
    training: Training<D>,
    plan: Plan,
}

/// The network of a configuration on the first GPU, with initial weights.
pub(crate) fn open(
    config: &TrainConfig,
    seed: u64,
    tuning: Tuning,
) -> Result<GpuBackend<Cuda>, BackendError> {
    let recorded = Recorded::new(config)?;
    let device = Cuda::open(&recorded.sources(), &recorded.defines(), &recorded.kernels(), tuning)?;
    recorded.on(device, config, seed)
}

impl Recorded {
    /// Records the network of a configuration.
    ///
    /// # Errors
    /// If it uses an operation that the graph does not have.
    pub(crate) fn new(config: &TrainConfig) -> Result<Self, BackendError> {
        let id = config.net.encoding();
        let encoding =
            encoding(id).ok_or_else(|| BackendError::Mismatch(format!("there is no encoding {id}")))?;
        let record = recorder::record(&config.net, encoding).map_err(|error| {
            BackendError::Mismatch(format!("the network cannot be planned for a GPU: {error}"))
        })?;
        Ok(Recorded { record, encoding })
    }

    /// The kernels it needs, in the order they build on each other.
    pub(crate) fn sources(&self) -> Vec<&'static str> {
        let mut sources = vec![
            include_str!("../prelude.cu"),
            include_str!("../sums.cu"),
            include_str!("elements.cu"),
            include_str!("rows.cu"),
            include_str!("../targets.cu"),
            include_str!("losses.cu"),
            include_str!("../optimiser.cu"),
            include_str!("../muon.cu"),
        ];
        if self.record.attention.is_some() {
            sources.push(include_str!("../attention.cu"));
        }
        sources
    }

    /// The macros they are compiled with.
    pub(crate) fn defines(&self) -> Vec<(&'static str, usize)> {
        let Some(attention) = &self.record.attention else { return Vec::new() };
        vec![
            ("TOKENS", attention.tokens),
            ("WIDTH", attention.width),
            ("HEADS", attention.heads),
            ("HEAD", attention.width / attention.heads),
        ]
    }

    /// The kernels by name, and the most dynamic shared memory a block of each asks for.
    pub(crate) fn kernels(&self) -> Vec<(&'static str, u32)> {
        let own = [
            "bytes_to_rows",
            "floats_to_rows",
            "one_hot",
            "activate",
            "activate_backward",
            "add_values",
            "multiply_values",
            "gated",
            "gated_backward",
            "scale_values",
            "add_parameter",
            "choose",
            "fold_chosen",
            "gather",
            "gather8",
            "gather_backward",
            "gather8_backward",
            "mean_rows",
            "mean_rows_backward",
            "sum_elements",
            "sum_elements_backward",
            "look_up",
            "norm_rows",
            "norm_rows_backward",
            "column_dots",
            "softmax_rows_of",
            "softmax_rows_backward",
            "patches",
            "patches_backward",
            "any_move_loss",
            "class_loss",
            "value_loss",
        ];
        let mut all: Vec<(&'static str, u32)> =
            own.into_iter().chain(KERNELS).map(|name| (name, 0)).collect();
        if let Some(attention) = &self.record.attention {
            let head = attention.width / attention.heads;
            all.push(("attention_forward", 0));
            all.push(("attention_backward", attention_kernels::memory(attention.tokens, head)));
        }
        all
    }

    /// Plans it on a device, for batches of the configuration's size, with initial weights.
    pub(crate) fn on<D: Device>(
        &self,
        device: D,
        config: &TrainConfig,
        seed: u64,
    ) -> Result<GpuBackend<D>, BackendError> {
        let layout = Layout::new(&config.net.table(), &self.record.groups)
            .map_err(|problem| BackendError::Mismatch(format!("the network's parameters: {problem}")))?;
        let inputs: Vec<(Form, usize)> = self
            .encoding
            .inputs()
            .iter()
            .map(|spec| match spec.kind {
                ElementKind::Id => (Form::Ids, spec.len()),
                ElementKind::Value => (Form::Numbers, spec.len()),
            })
            .collect();
        let moves = config.net.vocabulary().and_then(vocabulary).map(MoveVocabulary::width);
        let capacity = config.data.batch;
        let places = Places::new(capacity, &inputs, moves);
        let training =
            Training::new(device, capacity, layout, places, &config.loss, Optimiser::of(&config.optimiser))?;
        let plan = plan::plan(&training, &self.record, config.value_rule())?;
        let heads = &self.record.heads;
        let known = HeadsKnown {
            policy: heads.policy.is_some(),
            promotion: heads.promotion.is_some(),
            outcome: heads.outcome.is_some(),
            think: heads.think.is_some(),
            value: heads.value.is_some(),
        };
        GpuBackend::new(GpuGraph { training, plan }, &config.net, known, seed)
    }
}

impl<D: Device> GpuGraph<D> {
    pub(super) fn training(&self) -> &Training<D> {
        &self.training
    }

    /// From a batch to the losses of every example and the gradients of all logits.
    pub(super) fn forward(&self, batch: &Loaded, source: Source) -> Result<(), DeviceError> {
        self.plan.forward.iter().try_for_each(|work| work.run(&self.training, batch, source))
    }

    /// From the gradients of the logits to those of all parameters, with the live weights.
    pub(super) fn backward(&self, batch: &Loaded) -> Result<(), DeviceError> {
        let live = self.training.live();
        self.plan.backward.iter().try_for_each(|work| work.run(&self.training, batch, live))
    }
}
