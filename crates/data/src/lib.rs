//! Games and engine evaluations as training data: read from anywhere, kept in shards, streamed to trainers.
//!
//! Nothing here knows a tensor layout: shards hold chess, and [`tabia_encoding`] turns it into numbers when a trainer
//! asks. The lean half of the pipeline; grouping and sorting sets larger than memory is `tabia-query`.
//!
//! | to find | look in |
//! |---|---|
//! | one game, one analysed position | [`GameRecord`], [`EvaluationRecord`] |
#![forbid(unsafe_code)]

mod record;
mod source;

pub use record::{
    EvaluationRecord, EvaluationRow, GameHead, GameRecord, Line, PlayerHash, Ply, RecordKey, Session,
};
pub use source::{
    Bots, BrokenGames, BytesRead, Chunk, Chunks, Example, FaultCount, FaultKind, Faults, GameRules, Harvest,
    NpyError, NpySet, NpyWriter, OpenError, Part, PoolRule, RowFault, SourceFile, SourceKind, Whereabouts,
    evaluation_row,
};
