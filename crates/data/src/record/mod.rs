//! What the pipeline carries: one game, or one position with what engines said of it.

mod evaluation;
mod game;

pub use evaluation::{EvaluationRecord, EvaluationRow, Line, Session};
pub use game::{GameHead, GameRecord, PlayerHash, Ply};

/// Where a record stands in a set, and by what duplicates are known: a hash of what it is about.
///
/// Shards are sorted by key, so a set is shuffled by being built, duplicates meet, and the split between training and
/// held-out records depends on nothing but the key and a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordKey(pub u64);
