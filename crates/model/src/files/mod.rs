//! File readers: bytes of one format in, an ONNX graph or named tensors out. Input is untrusted.
pub(crate) mod bullet;
mod input;
pub(crate) mod lc0;
pub(crate) mod safetensors;
pub(crate) mod stockfish;
pub(crate) mod tflite;
pub(crate) mod torch;
