//! What the pipeline carries: one game, or one position with what engines said of it, and both as bytes.

mod bytes;
mod evaluation;
mod evaluation_bytes;
mod game;
mod game_bytes;
mod kind;
mod move_rank;
mod packed;
mod score_code;
mod walk;

pub use evaluation::{EvaluationRecord, EvaluationRow, Line, Session};
pub(crate) use evaluation_bytes::evaluation_lengths;
pub use evaluation_bytes::{EvaluationBytes, merge_evaluations};
pub use game::{GameHead, GameRecord, PlayerHash, Ply};
pub use game_bytes::GameBytes;
pub(crate) use game_bytes::{GameStreams, game_lengths};
pub use kind::{RecordKind, UnknownKind};
pub(crate) use walk::GameWalk;

/// Where a record stands in a set, and by what duplicates are known: a hash of what it is about.
///
/// Shards are sorted by key, so a set is shuffled by being built, duplicates meet, and the split between training and
/// held-out records depends on nothing but the key and a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordKey(pub u64);

/// Why bytes are not a record, or a record has no bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// The bytes end too soon.
    #[error("{what} is cut off")]
    Short {
        /// What was being read.
        what: &'static str,
    },
    /// There are bytes that belong to nothing.
    #[error("{by} bytes too many")]
    Long {
        /// How many.
        by: usize,
    },
    /// A number is out of range.
    #[error("{what} is out of range")]
    Number {
        /// What it stands for.
        what: &'static str,
    },
    /// The position is not a legal one of standard chess.
    #[error("not a legal position of standard chess")]
    Position,
    /// A move is not legal where it is played.
    #[error("the move at ply {ply} is not legal")]
    Illegal {
        /// Plies played before it.
        ply: u32,
    },
    /// Records that should be of one position are not.
    #[error("the records are of different positions")]
    OtherPosition,
}
