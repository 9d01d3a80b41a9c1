use crate::{Backend, BackendError, CpuBackend, TrainConfig};

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
    match device {
        Device::Cpu | Device::Auto => Ok(Box::new(CpuBackend::new(config, seed))),
        Device::Gpu => Err(BackendError::Device("this build trains on the CPU alone".to_owned())),
    }
}
