//! Records of the pipeline, games and analysed positions, and their encoding as bytes.

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

/// A hash of a record's content. Equal keys are duplicates.
///
/// Shards are sorted by key, so that building a set shuffles it and brings duplicates together. The split between training
/// and held-out records depends only on the key and a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordKey(pub u64);

/// Why bytes are not a record, or a record has no bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// The bytes are truncated.
    #[error("{what} is truncated")]
    Short {
        /// What was being read.
        what: &'static str,
    },
    /// There are trailing bytes.
    #[error("{by} trailing bytes")]
    Long {
        /// How many.
        by: usize,
    },
    /// A number is out of range.
    #[error("{what} is out of range")]
    Number {
        /// The field.
        what: &'static str,
    },
    /// The position is not a legal one of standard chess.
    #[error("not a legal position of standard chess")]
    Position,
    /// A move is not legal where it is played.
    #[error("the move at ply {ply} is not legal")]
    Illegal {
        /// Ply of the move, from 0.
        ply: u32,
    },
    /// Records to merge are of different positions.
    #[error("the records are of different positions")]
    OtherPosition,
}
