//! Small networks of every kind, for tests.

use std::sync::Arc;

use tabia_model::{Model, Source};

macro_rules! network {
    ($file:literal) => {
        network(include_bytes!(concat!("../../../fixtures/models/", $file)), None)
    };
    ($file:literal, $card:expr) => {
        network(include_bytes!(concat!("../../../fixtures/models/", $file)), Some($card))
    };
}

fn network(bytes: &[u8], card: Option<&str>) -> Arc<Model> {
    Arc::new(Model::new(Source::read(bytes).unwrap(), card).unwrap())
}

/// A dense value network from the mover's point of view.
pub(crate) fn challenge() -> Arc<Model> {
    network!("challenge-mlp.onnx")
}

/// The same with larger numbers.
pub(crate) fn challenge_scaled(centipawns: f32) -> Arc<Model> {
    network!("challenge-mlp.onnx", &format!(r#"{{"value": {{"unit": {{"centipawns": {centipawns:e}}}}}}}"#))
}

/// Networks whose scores are too large for a number.
pub(crate) fn overflowing() -> Vec<(&'static str, Arc<Model>)> {
    let card = r#"{"value": {"unit": {"centipawns": 1e39}}}"#;
    vec![
        ("dense", network!("statedict/rusty-774.safetensors", card)),
        ("general", network!("matmul-mlp.onnx", card)),
    ]
}

/// A two-input network in the reading `context-win`.
pub(crate) fn pair() -> Arc<Model> {
    network!("tflite_pair.tflite")
}

/// The same in the reading `compare`.
pub(crate) fn comparing_pair() -> Arc<Model> {
    network!("tflite_pair.tflite", r#"{"value": {"perspective": "comparison"}}"#)
}

/// A Leela network with moves and win/draw/loss, which sees eight positions of the game.
pub(crate) fn leela() -> Arc<Model> {
    network!("lc0-mish-conv.pb")
}

/// A human-like network, which listens to ratings and clocks.
pub(crate) fn human() -> Arc<Model> {
    network!("humchess-transformer.onnx")
}

/// A human-like network, which listens to all that is known of a game.
pub(crate) fn human_of_a_game() -> Arc<Model> {
    network!("human.safetensors")
}

/// A perspective network, which a search rounds.
pub(crate) fn perspective() -> Arc<Model> {
    network!("perspective.safetensors")
}

/// Networks that say who is better, with their names: dense and not, from all points of view.
pub(crate) fn evaluating() -> Vec<(&'static str, Arc<Model>)> {
    vec![
        ("challenge", challenge()),
        ("perspective", perspective()),
        ("dense, White's view", network!("statedict/rusty-774.safetensors")),
        ("general, White's view", network!("matmul-mlp.onnx")),
        ("win/draw/loss", network!("conv-net.onnx")),
        ("two inputs", pair()),
        ("two inputs compared", comparing_pair()),
        ("Leela, win/draw/loss", leela()),
        ("Leela, expectation", network!("lc0-plain-conv.pb.gz")),
    ]
}
