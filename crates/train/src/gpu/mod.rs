//! Training on an NVIDIA GPU: CUDA kernels and cuBLASLt products through `tabia-gpu`.
//!
//! | to find | look in |
//! |---|---|
//! | how a batch crosses to the device | `batch` |
//! | parameters, losses, the optimiser's step | `training`, `layout`, `muon` |
//! | any network of `nets`, recorded and planned | `graph` |
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

use crate::{Backend, BackendError, TrainConfig};
pub use check::{BenchPlan, bench, check};
pub use tabia_gpu::ProfileLine;
use tabia_gpu::Tuning;

/// The network of a configuration on the first GPU, with initial weights.
///
/// # Errors
/// If there is no GPU, CUDA's libraries are not found, or the network has a shape the kernels do not know.
pub fn open(config: &TrainConfig, seed: u64) -> Result<Box<dyn Backend>, BackendError> {
    Ok(Box::new(graph::open(config, seed, Tuning::Measured)?))
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
            let recorded = Recorded::new(&config).unwrap();
            let (sources, defines) = (recorded.sources(), recorded.defines());
            if done.contains(&(sources.clone(), defines.clone())) {
                continue;
            }
            let image = tabia_gpu::compile_only(&sources, &defines, 90);
            let Some(image) = tabia_requires::installed("NVRTC", image) else { return };
            let image = image.unwrap();
            for (kernel, _) in recorded.kernels() {
                let name = format!(".text.{kernel}\0");
                let found = image.windows(name.len()).any(|bytes| bytes == name.as_bytes());
                assert!(found, "{}: no kernel {kernel}", config.name);
            }
            done.push((sources, defines));
        }
    }
}
