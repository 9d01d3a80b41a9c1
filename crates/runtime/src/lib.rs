//! What runs a network.
//!
//! [`Session`] runs any ONNX graph, on rten (feature `rten`, on by default). [`accumulator`] runs MLPs and NNUEs over sparse features, whose first layer follows the
//! moves of a search, and [`transformer`] the human network, with 8-bit weights kept in 8 bits.
#![deny(unsafe_code)]

pub mod accumulator;
#[cfg(not(feature = "rten"))]
mod no_session;
mod run;
#[cfg(feature = "rten")]
mod session;
pub mod transformer;

#[cfg(not(feature = "rten"))]
pub use no_session::{Int8Kernel, Session};
pub use run::{InputData, InputTensor, OutputTensor, RunError};
#[cfg(feature = "rten")]
pub use session::{Int8Kernel, Int8Weights, Session};
