//! NNUE networks match numpy (tools/perspective_fixtures.py).

use std::sync::Arc;

use serde::Deserialize;
use shakmaty::{CastlingMode, Chess, fen::Fen};
use tabia_encoding::Situation;
use tabia_model::{Format, Model, Runtime, Source};
use tabia_runtime::accumulator::nnue::NnueState;

const FILE: &[u8] = include_bytes!("../../../fixtures/models/perspective.safetensors");
/// The same network, its first matrix in 8 bits.
const FILE_INT8: &[u8] = include_bytes!("../../../fixtures/models/perspective-int8.safetensors");
const EXPECTED: &str = include_str!("../../../fixtures/models/perspective.json");

#[derive(Deserialize)]
struct Answer {
    fen: String,
    value: f32,
    int8: f32,
}

fn answers() -> Vec<(Chess, f32)> {
    answers_of(|answer| answer.value)
}

fn answers_of(network: fn(&Answer) -> f32) -> Vec<(Chess, f32)> {
    let answers: Vec<Answer> = serde_json::from_str(EXPECTED).expect("the fixture parses");
    let position = |fen: &str| {
        let fen: Fen = fen.parse().expect("a FEN");
        fen.into_position(CastlingMode::Standard).expect("a legal position")
    };
    answers.iter().map(|answer| (position(&answer.fen), network(answer))).collect()
}

#[test]
fn network_matches_numpy() {
    let model = Model::from_bytes(FILE).unwrap();
    assert_eq!((model.format(), model.runtime()), (Format::Safetensors, Runtime::Nnue));
    assert_eq!((model.card().encoding.as_str(), model.parameters()), ("challenge-768", 12_568));
    let said = model.card().architecture.clone().unwrap();
    assert_eq!(said, "perspective network (768 -> 16) x 2 -> 1, 8 buckets, squared");
    let answers = answers();
    assert!(answers.len() >= 20);
    for (position, value) in &answers {
        let score = model.evaluate(&[Situation::of(position)]).unwrap()[0].score.unwrap().0;
        assert!((score - 100.0 * value).abs() < 0.01, "{score}, not {}", 100.0 * value);
    }
}

#[test]
fn int8_weights_match_numpy() {
    let model = Model::from_bytes(FILE_INT8).unwrap();
    assert_eq!((model.runtime(), model.parameters()), (Runtime::Nnue, 12_568));
    let answers = answers_of(|answer| answer.int8);
    for (position, value) in &answers {
        let score = model.evaluate(&[Situation::of(position)]).unwrap()[0].score.unwrap().0;
        assert!((score - 100.0 * value).abs() < 0.01, "{score}, not {}", 100.0 * value);
    }
    let apart = |((_, rounded), (_, exact)): (&(Chess, f32), &(Chess, f32))| (rounded - exact).abs();
    assert!(answers.iter().zip(&self::answers()).map(apart).fold(0.0, f32::max) > 0.001);
    // Written as an ordinary state dict the numbers are the same.
    let plain = Source::state_dict_to_safetensors(FILE_INT8, model.card()).unwrap();
    assert_eq!(Source::state_dict(&plain).unwrap(), Source::state_dict(FILE_INT8).unwrap());
}

#[test]
fn quantised_values_are_within_two_centipawns() {
    let model = Model::from_bytes(FILE).unwrap();
    let net = model.nnue().unwrap();
    assert_eq!((net.width(), net.outputs()), (16, 8));
    let mut evaluator = NnueState::new(Arc::clone(net), &Chess::default());
    for (position, value) in &answers() {
        evaluator.set_position(position);
        let off = 100.0 * (evaluator.evaluate() - value).abs();
        assert!(off < 2.0, "{off} centipawns");
    }
}

#[test]
fn converts_to_onnx_with_the_same_values() {
    let model = Model::from_bytes(FILE).unwrap();
    let onnx = Source::read(FILE).unwrap().to_onnx(model.card()).unwrap();
    let converted = Model::from_bytes(&onnx).unwrap();
    assert_eq!((converted.format(), converted.runtime()), (Format::Onnx, Runtime::Nnue));
    let number = |model: &Model, position: &Chess| {
        NnueState::new(Arc::clone(model.nnue().unwrap()), position).evaluate()
    };
    for (position, _) in answers() {
        assert_eq!(number(&converted, &position), number(&model, &position));
    }
}
