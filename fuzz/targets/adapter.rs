//! Whatever an adapter says, it is refused or its probabilities add up, and it is written as it was read.
#![no_main]

use shakmaty::{Chess, Position};
use tabia_encoding::Situation;
use tabia_model::Candidate;
use tabia_players::Adapter;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(adapter) = Adapter::from_json(bytes) else { return };
    let position = Chess::default();
    let legal = position.legal_moves();
    let probability = 1.0 / legal.len() as f32;
    let mut candidates: Vec<Candidate> = legal.iter().map(|&mv| Candidate { mv, probability }).collect();
    adapter.adapt(&Situation::of(&position), &mut candidates);
    let total: f32 = candidates.iter().map(|candidate| candidate.probability).sum();
    assert!((total - 1.0).abs() < 1e-3, "{total}");
    assert_eq!(Adapter::from_json(adapter.to_json().as_bytes()).ok(), Some(adapter));
});
