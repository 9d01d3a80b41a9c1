use crate::{Backend, BackendError, CpuBackend, TrainConfig, gpu};

/// Where to train.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// On the processor.
    Cpu,
    /// On the graphics card.
    Gpu,
    /// On the graphics card if there is one that can train this network, else on the processor.
    Auto,
}

/// The network of a configuration with initial weights, ready to train.
///
/// # Errors
/// If the device asked for is not there, or cannot train this network.
pub fn open_backend(
    device: Device,
    config: &TrainConfig,
    seed: u64,
) -> Result<Box<dyn Backend>, BackendError> {
    let cpu = || Box::new(CpuBackend::new(config, seed)) as Box<dyn Backend>;
    match device {
        Device::Cpu => Ok(cpu()),
        Device::Gpu => gpu::open(config, seed),
        Device::Auto => Ok(gpu::open(config, seed).unwrap_or_else(|_| cpu())),
    }
}
