//! The human network and Maia-3 for WebGPU.
//!
//! A network becomes a [`Plan`]: buffers, and the steps of its evaluation in order. A [`Program`] is the plan with the WGSL of
//! every step: what a page needs to run it, which then has to know nothing of networks.
//!
//! The steps are those of the runtime on the processor (`tabia_runtime::transformer`), with the same quantisation and the same
//! order of every sum. A device that rounds each operation as the processor does computes the same numbers; one that
//! fuses or reorders operations differs by rounding errors. See `docs/decisions/0032-webgpu.md`.
//!
//! | to find | look in |
//! |---|---|
//! | the networks as steps | `human`, `maia3` |
//! | what a step computes | [`Step`], `wgsl/` |
//! | bindings and workgroups | `program` |
#![forbid(unsafe_code)]

mod human;
mod maia3;
mod plan;
mod program;

use tabia_nets::NetConfig;
use tabia_onnx::TensorError;
use tabia_onnx::tensors::TensorMap;

pub use self::plan::{Activation, Buffer, Id, Linear, Norm, Plan, Port, Rows, Scaling, Start, Step};
pub use self::program::{Dispatch, Features, Program};

/// Inputs of a product in 8 bits that are quantised over one range.
pub const SPAN: usize = 32;
/// Rows are summed in so many parts side by side, which are then added by halves.
pub const LANES: usize = 16;
/// The largest quantised input.
pub const QUANT_MAX: f32 = 127.0;

impl Plan {
    /// The plan of the network `net`, whose weights are taken out of `tensors`. `None`, taking nothing, if there are no steps
    /// for its architecture or sizes.
    ///
    /// # Errors
    /// If a tensor is missing, has another shape or is not finite.
    pub fn new(net: &NetConfig, tensors: &mut TensorMap) -> Result<Option<Plan>, TensorError> {
        match net {
            NetConfig::Human(config) => human::plan(config, tensors),
            NetConfig::Maia3(config) => maia3::plan(config, tensors),
            _ => Ok(None),
        }
    }
}
