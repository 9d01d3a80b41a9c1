//! The bundled networks as bytes. They are statics, so that a program holds each only once.
#![forbid(unsafe_code)]

/// The human player: predicts what a person of a given rating would play (safetensors).
pub static HUMAN: &[u8] = include_bytes!("../../../models/human.safetensors");
/// The engine's evaluation (safetensors).
pub static VALUE: &[u8] = include_bytes!("../../../models/value.safetensors");
/// The Chess Challenge's reference network: counts material (ONNX).
pub static CHALLENGE_REFERENCE: &[u8] = include_bytes!("../../../models/challenge-reference.onnx");
/// The smallest entry for the Chess Challenge (ONNX).
pub static CHALLENGE_S: &[u8] = include_bytes!("../../../models/challenge-s.onnx");
/// The medium entry for the Chess Challenge (ONNX).
pub static CHALLENGE_M: &[u8] = include_bytes!("../../../models/challenge-m.onnx");
/// The largest entry for the Chess Challenge (ONNX).
pub static CHALLENGE_L: &[u8] = include_bytes!("../../../models/challenge-l.onnx");

/// Every network under the name of its file.
pub static ALL: [(&str, &[u8]); 6] = [
    ("human.safetensors", HUMAN),
    ("value.safetensors", VALUE),
    ("challenge-reference.onnx", CHALLENGE_REFERENCE),
    ("challenge-s.onnx", CHALLENGE_S),
    ("challenge-m.onnx", CHALLENGE_M),
    ("challenge-l.onnx", CHALLENGE_L),
];
