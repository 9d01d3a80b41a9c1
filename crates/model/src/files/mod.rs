//! File readers: bytes of one format in, an ONNX graph or named tensors out. Nothing here trusts its input.
pub(crate) mod lc0;
pub(crate) mod safetensors;
pub(crate) mod tflite;
pub(crate) mod torch;
