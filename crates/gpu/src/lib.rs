//! A device that runs kernels and matrix products: an NVIDIA GPU, or its emulation on the CPU for tests.
//!
//! It knows nothing of networks or training. Kernels are CUDA sources that the caller brings, compiled when the device is opened.
//!
//! | to find | look in |
//! |---|---|
//! | what a device does | [`Device`] |
//! | the GPU: driver, compiler, transfers | [`Cuda`] |
//! | matrix products through cuBLASLt | `products` |
//! | the same kernels on a CPU | `emulated`, `emulation.h` |
#![deny(unsafe_code)]

mod cuda;
mod device;
#[cfg(feature = "emulation")]
mod emulated;
mod products;

pub use cuda::{Cuda, ProfileLine, compile_only};
pub use device::{Address, Argument, Device, DeviceError, Element, Launch, Operand, Order, Product, Wait};
#[cfg(feature = "emulation")]
pub use emulated::Emulated;
pub use products::Tuning;
