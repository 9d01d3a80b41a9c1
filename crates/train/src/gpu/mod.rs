//! The fast way to train: hand-written kernels and cuBLASLt on an NVIDIA GPU.
//!
//! | to find | look in |
//! |---|---|
//! | what a device has to do | `device` |
//! | the GPU: driver, compiler, transfers | `cuda`, `products` |
//! | the same kernels on a CPU, for tests | `emulated`, `emulation.h` |
//! | the order of a step | `transformer` |
//! | where parameters lie on the device | `layout` |
//! | the trainer the loop sees | `backend` |
//! | is it right, how fast is it | `check` |

mod backend;
mod check;
mod cuda;
mod device;
#[cfg(test)]
mod emulated;
mod layout;
mod products;
mod synthetic;
mod transformer;
mod twins;

use crate::{Backend, BackendError, NetConfig, TrainConfig};
use backend::Fused;
pub use check::{BenchPlan, bench, check};
use cuda::Cuda;
pub use cuda::ProfileLine;
use products::Tuning;
use transformer::{SOURCES, defines, kernels};

fn fused(config: &TrainConfig, seed: u64, tuning: Tuning) -> Result<Fused<Cuda>, BackendError> {
    let NetConfig::Human(net) = config.net else {
        return Err(BackendError::Mismatch("only the human network trains on a GPU yet".to_owned()));
    };
    transformer::check(&net).map_err(BackendError::Mismatch)?;
    let device = Cuda::open(&SOURCES, &defines(&net), &kernels(&net), tuning)?;
    Fused::new(device, net, &config.loss, config.data.batch, seed)
}

/// The network of a configuration on the first GPU, with initial weights.
///
/// # Errors
/// If there is no GPU, CUDA's libraries are not found, or the network has a shape the kernels do not know.
pub fn open(config: &TrainConfig, seed: u64) -> Result<Box<dyn Backend>, BackendError> {
    Ok(Box::new(fused(config, seed, Tuning::Measured)?))
}
