//! The readers as functions of bytes, for the fuzz targets in `fuzz/` and the test of their seeds.
//!
//! Each takes any bytes at all and returns; a panic, a hang or a huge allocation is the bug being looked for.

use crate::{Model, onnx};

/// Every reader with the name of its fuzz target and its folder in `fuzz/seeds`.
pub const READERS: [(&str, fn(&[u8])); 2] = [("onnx", onnx), ("open", open)];

/// Reads and checks an ONNX file without running it.
pub fn onnx(bytes: &[u8]) {
    if let Ok(model) = onnx::read::parse(bytes) {
        // Refusing the graph is an answer like any other.
        let _ = onnx::check::check(&model);
    }
}

/// Opens a file of whatever format it says it is.
pub fn open(bytes: &[u8]) {
    // Refusing the file is an answer like any other.
    let _ = Model::from_bytes(bytes);
}
