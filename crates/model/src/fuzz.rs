//! The readers as functions of bytes, for the fuzz targets in `fuzz/` and the test of their seeds.
//!
//! Each must return on any bytes, without a panic, a hang or a huge allocation; the result is dropped.

use crate::{Model, files};

/// Reads any bytes.
pub type Reader = fn(&[u8]);

/// Every reader by the name of its fuzz target and seed folder.
pub const READERS: [(&str, Reader); 7] = [
    ("bullet", bullet),
    ("lc0", lc0),
    ("onnx", onnx),
    ("open", open),
    ("safetensors", safetensors),
    ("tflite", tflite),
    ("torch", torch),
];

/// Reads bullet's weights by a layout: the first line, if it is text.
pub fn bullet(bytes: &[u8]) {
    let at = bytes.iter().position(|&byte| byte == b'\n').unwrap_or(0);
    let (layout, weights) = bytes.split_at(at);
    if let Ok(layout) = String::from_utf8_lossy(layout).parse() {
        drop(files::bullet::read(weights.get(1..).unwrap_or_default(), &layout));
    }
    let padded = files::bullet::is_padded(bytes);
    assert!(!padded || files::bullet::suggestion(bytes).is_some());
    drop(files::stockfish::refusal(bytes));
}

/// Reads an lc0 network file, compressed or not.
pub fn lc0(bytes: &[u8]) {
    drop(files::lc0::read(bytes));
}

/// Reads and checks an ONNX file without running it.
pub fn onnx(bytes: &[u8]) {
    drop(tabia_onnx::read::parse(bytes).and_then(|model| tabia_onnx::check::check(&model)));
}

/// Opens a file of any format.
pub fn open(bytes: &[u8]) {
    drop(Model::from_bytes(bytes));
}

/// Reads a safetensors file.
pub fn safetensors(bytes: &[u8]) {
    drop(files::safetensors::read(bytes));
}

/// Reads a TensorFlow Lite file.
pub fn tflite(bytes: &[u8]) {
    drop(files::tflite::read(bytes));
}

/// Reads a PyTorch checkpoint.
pub fn torch(bytes: &[u8]) {
    drop(files::torch::read(bytes));
}
