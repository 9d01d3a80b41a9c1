//! Positions for this crate's tests, and inputs of one situation.

use shakmaty::{CastlingMode, Chess, fen::Fen};

use crate::{Batch, Encoding, Situation, encoding};

/// The position of a FEN.
pub(crate) fn position(fen: &str) -> Chess {
    let setup = fen.parse::<Fen>().unwrap_or_else(|error| panic!("{fen}: {error}")).into_setup();
    let mode = CastlingMode::detect(&setup);
    setup.position(mode).unwrap_or_else(|error| panic!("{fen}: {error}"))
}

fn batch(by: &dyn Encoding, situation: &Situation<'_>) -> Batch {
    let mut batch = Batch::new(encoding(by.id().0).expect("registered"));
    batch.push(situation);
    batch
}

/// The first input, where it holds numbers.
pub(crate) fn dense_values(by: &dyn Encoding, situation: &Situation<'_>) -> Vec<f32> {
    batch(by, situation).values(0).to_vec()
}

/// The first input, where it holds ids.
pub(crate) fn dense_ids(by: &dyn Encoding, situation: &Situation<'_>) -> Vec<i32> {
    batch(by, situation).ids(0).to_vec()
}
