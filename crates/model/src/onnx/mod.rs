//! ONNX graphs: what every reader produces and the runtimes consume.

pub mod build;
pub mod check;
pub mod proto;
pub mod read;
pub(crate) mod shapes;
mod wire;
