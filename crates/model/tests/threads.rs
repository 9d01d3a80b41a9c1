//! The answers of the bundled human network do not depend on the threads that compute them.
#![cfg(not(target_family = "wasm"))]

use shakmaty::{Chess, Position as _};
use tabia_encoding::{Situation, parse_uci};
use tabia_model::Model;
use tabia_threads::{helpers, start_helpers};

const SHIPPED: &[u8] = include_bytes!("../../../models/human.safetensors");

/// Positions of a game.
fn positions() -> Vec<Chess> {
    let mut position = Chess::default();
    let mut all = vec![position.clone()];
    for uci in ["e2e4", "c7c5", "g1f3", "d7d6", "d2d4", "c5d4"] {
        let m = parse_uci(&position, uci).expect("a legal move");
        position.play_unchecked(m);
        all.push(position.clone());
    }
    all
}

/// The raw outputs of every position alone, and of all of them together.
fn outputs(model: &Model) -> Vec<Vec<f32>> {
    let positions = positions();
    let situations: Vec<Situation<'_>> = positions.iter().map(Situation::of).collect();
    let mut all = Vec::new();
    for situations in situations.chunks(1).chain([&situations[..]]) {
        all.extend(model.outputs(situations).expect("it runs").into_iter().map(|output| output.values));
    }
    all
}

#[test]
fn every_number_of_threads_gives_the_same_bits() {
    let model = Model::from_bytes(SHIPPED).unwrap();
    assert_eq!(helpers(), 0);
    let expected = outputs(&model);
    for threads in 2..=4 {
        start_helpers(1);
        assert_eq!(helpers() + 1, threads);
        assert!(outputs(&model) == expected, "{threads} threads");
    }
}
