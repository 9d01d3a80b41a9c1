//! The readers as functions of bytes, for the fuzz targets in `fuzz/` and the test of their seeds.
//!
//! Each takes any bytes at all and returns; a panic, a hang or a huge allocation is the bug being looked for.

use crate::TrainConfig;
use crate::checkpoint::{decode, encode, open_part};
use crate::graph_weights;

/// Reads the weights of a small network from an ONNX file or a NumPy archive.
pub fn graph_weights(bytes: &[u8]) {
    let text = "name = 'x'\n[net]\nkind = 'challenge'\nbody = 'dense'\nhidden = [16]";
    let net = TrainConfig::parse(text).expect("a valid configuration").net;
    drop(graph_weights::of_onnx(bytes, &net));
    if graph_weights::is_npz(bytes) {
        drop(graph_weights::of_npz(bytes, &net));
    }
}

/// Reads a part of a checkpoint, and what all its parts hold together. What can be read can be written and read again.
pub fn checkpoint(bytes: &[u8]) {
    // Refusing is an answer like any other.
    drop(open_part(bytes, 0));
    if let Ok(checkpoint) = decode(bytes) {
        let table = checkpoint.head.config.net.table();
        let again = encode(&table, &checkpoint).expect("what was read can be written");
        assert!(decode(&again).is_ok(), "what was written can be read");
    }
}
