//! ONNX graphs, which every reader of model files produces and every runtime takes, and the named tensors of state dicts, which
//! the networks of `tabia-nets` are [lowered](lower) from.
#![forbid(unsafe_code)]

pub mod build;
pub mod check;
mod error;
pub mod lower;
pub mod opset;
pub mod proto;
pub mod protobuf;
pub mod quantise;
pub mod read;
mod shapes;
pub mod tensors;
mod wire;

pub use error::{ErrorKind, GraphError, Place, TensorError};
pub use shapes::same_padding;
