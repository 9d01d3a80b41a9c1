//! Known architectures: a state dict of named tensors in, an ONNX graph out.

pub(crate) mod humchess;
pub(crate) mod mlp;
pub(crate) mod policy_cnn;
