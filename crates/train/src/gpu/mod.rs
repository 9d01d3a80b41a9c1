//! The fast way to train: hand-written kernels and cuBLASLt on an NVIDIA GPU.
//!
//! | to find | look in |
//! |---|---|
//! | what a device has to do | `device` |
//! | the GPU: driver, compiler, transfers | `cuda`, `products` |
//! | the same kernels on a CPU, for tests | `emulated`, `emulation.h` |
//! | how a batch crosses to the device | `batch` |
//! | parameters, losses, the optimiser's step | `training`, `layout`, `muon` |
//! | any network of `nets`, recorded and planned | `kit` |
//! | the human network, scheduled by hand | `transformer` |
//! | how the attention kernels are started | `attention` |
//! | the trainer the loop sees | `backend` |
//! | is it right, how fast is it | `check`, `reference`, `synthetic` |

mod attention;
mod backend;
mod batch;
mod check;
mod cuda;
mod device;
#[cfg(test)]
mod emulated;
mod graph;
mod layout;
mod muon;
mod products;
mod reference;
mod synthetic;
mod training;
mod transformer;

use crate::nets::HumanConfig;
use crate::{Backend, BackendError, NetConfig, TrainConfig};
use backend::GpuBackend;
pub use check::{BenchPlan, bench, check};
use cuda::Cuda;
pub use cuda::ProfileLine;
use products::Tuning;
use transformer::{HEADS, SOURCES, Transformer, defines, kernels};

fn human(
    config: &TrainConfig,
    net: HumanConfig,
    seed: u64,
    tuning: Tuning,
) -> Result<GpuBackend<Transformer<Cuda>>, BackendError> {
    transformer::check(&net).map_err(BackendError::Mismatch)?;
    let device = Cuda::open(&SOURCES, &defines(&net), &kernels(&net), tuning)?;
    let transformer = Transformer::new(device, net, config.data.batch, config)?;
    GpuBackend::new(transformer, &config.net, HEADS, seed)
}

/// The network of a configuration on the first GPU, with initial weights.
///
/// # Errors
/// If there is no GPU, CUDA's libraries are not found, or the network has a shape the kernels do not know.
pub fn open(config: &TrainConfig, seed: u64) -> Result<Box<dyn Backend>, BackendError> {
    Ok(match config.net {
        NetConfig::Human(net) => Box::new(human(config, net, seed, Tuning::Measured)?),
        _ => Box::new(graph::open(config, seed, Tuning::Measured)?),
    })
}
