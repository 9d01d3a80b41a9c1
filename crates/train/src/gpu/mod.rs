//! Training on an NVIDIA GPU: CUDA kernels and cuBLASLt products through `tabia-gpu`.
//!
//! | to find | look in |
//! |---|---|
//! | how a batch crosses to the device | `batch` |
//! | parameters, losses, the optimiser's step | `training`, `layout`, `muon` |
//! | any network of `nets`, recorded and planned | `graph` |
//! | the human network, scheduled by hand | `transformer` |
//! | launch sizes of the attention kernels | `attention` |
//! | the trainer that the loop uses | `backend` |
//! | checks against the plain trainer, benchmarks | `check` |

mod attention;
mod backend;
mod batch;
mod check;
mod graph;
mod layout;
mod muon;
mod training;
mod transformer;

use crate::nets::HumanConfig;
use crate::{Backend, BackendError, NetConfig, TrainConfig};
use backend::GpuBackend;
pub use check::{BenchPlan, bench, check};
pub use tabia_gpu::ProfileLine;
use tabia_gpu::{Cuda, Tuning};
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

#[cfg(test)]
mod tests {
    use super::graph::Recorded;
    use super::*;

    /// The emulation takes what a C++ compiler takes; this uses the compiler that GPU kernels go through.
    #[test]
    fn kernels_of_every_configuration_compile_with_nvrtc() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../configs");
        let mut done = Vec::new();
        for file in std::fs::read_dir(folder).unwrap() {
            let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
            let config = TrainConfig::parse(&text).unwrap();
            let (sources, defines, kernels) = match &config.net {
                NetConfig::Human(net) => (SOURCES.to_vec(), defines(net), kernels(net)),
                _ => {
                    let recorded = Recorded::new(&config).unwrap();
                    (recorded.sources(), recorded.defines(), recorded.kernels())
                }
            };
            if done.contains(&(sources.clone(), defines.clone())) {
                continue;
            }
            let image = tabia_gpu::compile_only(&sources, &defines, 90);
            let Some(image) = tabia_requires::installed("NVRTC", image) else { return };
            let image = image.unwrap();
            for (kernel, _) in kernels {
                let name = format!(".text.{kernel}\0");
                let found = image.windows(name.len()).any(|bytes| bytes == name.as_bytes());
                assert!(found, "{}: no kernel {kernel}", config.name);
            }
            done.push((sources, defines));
        }
    }
}
