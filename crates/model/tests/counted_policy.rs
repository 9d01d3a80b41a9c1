//! Policies of Learning a Chess Policy whose heads have some of the moves: from a `vocab.npy` beside the file, or inside it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::HashMap;

use safetensors::tensor::{Dtype, TensorView, serialize};
use shakmaty::Chess;
use tabia_encoding::{Batch, MoveSubset, PolicyIndex, Situation, encoding, vocabulary};
use tabia_model::{LoadErrorKind, Model, ModelCard, Source, WeightPrecision};

const CHANNELS: usize = 2;

type Tensors = Vec<(&'static str, Vec<usize>, Vec<f32>)>;

/// Numbers between -1 and 1.
fn numbers(seed: u32, count: usize) -> Vec<f32> {
    let next = |s: &u32| Some(s.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
    let draws = std::iter::successors(Some(seed), next).skip(1).take(count);
    draws.map(|s| (s >> 8) as f32 / (1 << 23) as f32 - 1.0).collect()
}

/// The first moves of the start position and a few others, not in order.
fn moves() -> Vec<PolicyIndex> {
    let canonical = vocabulary("canonical-1968").unwrap();
    let index = |m| canonical.slot(shakmaty::Color::White, m).index;
    let mut moves: Vec<PolicyIndex> =
        shakmaty::Position::legal_moves(&Chess::default()).into_iter().take(12).map(index).collect();
    moves.sort();
    moves.dedup();
    moves
}

/// `PolicyCNN` with 13 planes: a convolution of one square, and the metadata joined at the head.
fn joined(moves: usize) -> Tensors {
    let inputs = CHANNELS * 64 + 5;
    vec![
        ("backbone.0.weight", vec![CHANNELS, 13, 1, 1], numbers(1, CHANNELS * 13)),
        ("backbone.0.bias", vec![CHANNELS], numbers(2, CHANNELS)),
        ("head.weight", vec![moves, inputs], numbers(3, moves * inputs)),
        ("head.bias", vec![moves], numbers(4, moves)),
    ]
}

fn file(tensors: &Tensors) -> Vec<u8> {
    let bytes: Vec<Vec<u8>> =
        tensors.iter().map(|(_, _, data)| data.iter().flat_map(|v| v.to_le_bytes()).collect()).collect();
    let views = tensors
        .iter()
        .zip(&bytes)
        .map(|((name, shape, _), bytes)| (*name, TensorView::new(Dtype::F32, shape.clone(), bytes).unwrap()));
    serialize(views.collect::<Vec<_>>(), Some(HashMap::new())).unwrap()
}

/// The logits of [`joined`], written out.
fn logits(tensors: &Tensors, position: &Chess) -> Vec<f32> {
    let mut batch = Batch::new(encoding("policy-planes-13").unwrap());
    batch.push(&Situation::of(position));
    let (planes, meta) = (batch.values(0), batch.values(1));
    let of = |name: &str| &tensors.iter().find(|(found, ..)| *found == name).unwrap().2;
    let (kernel, shift) = (of("backbone.0.weight"), of("backbone.0.bias"));
    let mut features = Vec::new();
    for channel in 0..CHANNELS {
        for square in 0..64 {
            let x = (0..13).map(|p| kernel[channel * 13 + p] * planes[p * 64 + square]).sum::<f32>()
                + shift[channel];
            features.push(0.5 * x * (1.0 + libm::erff(x / std::f32::consts::SQRT_2)));
        }
    }
    features.extend(meta);
    let (weight, bias) = (of("head.weight"), of("head.bias"));
    weight
        .chunks(features.len())
        .zip(bias)
        .map(|(row, bias)| row.iter().zip(&features).map(|(w, x)| w * x).sum::<f32>() + bias)
        .collect()
}

fn npy(moves: &[PolicyIndex]) -> Vec<u8> {
    MoveSubset::of(moves).unwrap().to_npy()
}

fn policy(model: &Model, position: &Chess) -> Vec<f32> {
    model.outputs(&[Situation::of(position)]).unwrap().remove(0).values
}

fn assert_logits(model: &Model, moves: &[PolicyIndex], expected: &[f32], position: &Chess) {
    let found = policy(model, position);
    assert_eq!(found.len(), 1968);
    for (index, logit) in found.iter().enumerate() {
        let place = moves.iter().position(|m| usize::from(m.0) == index);
        match place {
            Some(place) => assert!((logit - expected[place]).abs() < 1e-4, "{index}: {logit}"),
            None => assert_eq!(*logit, -10_000.0, "{index}"),
        }
    }
}

#[test]
fn thirteen_planes_and_metadata_joined_at_the_head_open() {
    let tensors = joined(1968);
    let model = Model::from_bytes(&file(&tensors)).unwrap();
    let card = model.card();
    assert_eq!(card.encoding, "policy-planes-13");
    assert_eq!(card.policy.as_ref().unwrap().vocabulary, "canonical-1968");
    let position: Chess = "r3k2r/8/8/8/8/8/8/R3K2R b Kq - 0 1"
        .parse::<shakmaty::fen::Fen>()
        .unwrap()
        .into_position(shakmaty::CastlingMode::Standard)
        .unwrap();
    for position in [Chess::default(), position] {
        let (ours, expected) = (policy(&model, &position), logits(&tensors, &position));
        let apart = ours.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(apart < 1e-4, "{apart}");
    }
}

#[test]
fn a_vocabulary_beside_a_checkpoint_names_its_moves() {
    let (moves, start) = (moves(), Chess::default());
    let tensors = joined(moves.len());
    let bytes = file(&tensors);
    assert_eq!(Model::from_bytes(&bytes).unwrap_err().kind(), LoadErrorKind::UnknownNetwork);

    let vocabulary = npy(&moves);
    let source = Source::read_with_vocabulary(&bytes, None, Some(&vocabulary)).unwrap();
    let model = Model::new(source.clone(), None).unwrap();
    let expected = logits(&tensors, &start);
    assert_logits(&model, &moves, &expected, &start);
    assert!(model.card().architecture.as_ref().unwrap().contains(&format!("{} moves", moves.len())));

    // Written again, both forms play without it.
    let onnx = source.to_onnx(model.card()).unwrap();
    let card: &ModelCard = model.card();
    let kept = Source::state_dict_as(&bytes, card, Some(&vocabulary), WeightPrecision::Full).unwrap();
    for bytes in [onnx, kept] {
        assert_logits(&Model::from_bytes(&bytes).unwrap(), &moves, &expected, &start);
    }
}

#[test]
fn a_vocabulary_of_another_length_is_no_help() {
    let bytes = file(&joined(moves().len()));
    let other = npy(&moves()[1..]);
    let source = Source::read_with_vocabulary(&bytes, None, Some(&other)).unwrap();
    assert_eq!(Model::new(source, None).unwrap_err().kind(), LoadErrorKind::UnknownNetwork);
    let error = Source::read_with_vocabulary(&bytes, None, Some(b"not numpy")).unwrap_err();
    assert_eq!(error.kind(), LoadErrorKind::Malformed);
    // A network that has all moves does not look at it.
    assert!(Source::read_with_vocabulary(&file(&joined(1968)), None, Some(&other)).is_ok());
}

#[test]
fn an_onnx_output_over_some_moves_is_widened() {
    let (moves, start) = (moves(), Chess::default());
    let tensors = joined(moves.len());
    // Without a vocabulary the graph has one output for each logit.
    let narrow = Source::read(&file(&tensors)).unwrap().to_onnx(&ModelCard::of_encoding("policy-planes-13"));
    let source = Source::read_with_vocabulary(&narrow.unwrap(), None, Some(&npy(&moves))).unwrap();
    let model = Model::new(source, None).unwrap();
    assert_logits(&model, &moves, &logits(&tensors, &start), &start);
}
