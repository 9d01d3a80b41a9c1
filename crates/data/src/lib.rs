//! Games and engine evaluations as training data: read from anywhere, kept in shards, streamed to trainers.
//!
//! Nothing here knows a tensor layout: shards hold chess, and [`tabia_encoding`] turns it into numbers when a trainer
//! asks. The lean half of the pipeline; grouping and sorting sets larger than memory is `tabia-query`.
//!
//! | to find | look in |
//! |---|---|
//! | one game, one analysed position | [`GameRecord`], [`EvaluationRecord`] |
//! | their bytes, keys and duplicates | [`RecordKind`], [`GameBytes`], [`EvaluationBytes`], [`merge_evaluations`] |
//! | one file of records | [`Shard`], [`ShardWriter`] |
//! | a folder of them | [`Set`], [`SetWriter`] |
//! | what is kept aside to measure on | [`Split`], [`Side`] |
//! | what a set is like, and whether it is what it says | [`stats`], [`verify`] |
//! | positions in random order to learn from | [`Stream`], [`Feed`] |
//! | what to learn from engine sessions | [`LabelStrategy`] |
#![forbid(unsafe_code)]

mod labels;
mod record;
mod set;
mod shard;
mod shuffle;
mod source;
mod split;
pub mod stats;
mod stream;
pub mod verify;

pub use labels::{LabelStrategy, UnknownStrategy, entropy};
pub use record::{
    EvaluationBytes, EvaluationRecord, EvaluationRow, GameBytes, GameHead, GameRecord, Line, PlayerHash, Ply,
    RecordError, RecordKey, RecordKind, Session, UnknownKind, merge_evaluations,
};
pub use set::{
    AnyRecord, PositionIndex, RecordIndex, Set, SetError, SetManifest, SetPlan, SetShard, SetWriter,
    ShardSummary, SourceSummary, fingerprint,
};
pub use shard::{
    Block, BlockEntry, Record, Shard, ShardError, ShardFault, ShardHead, ShardOptions, ShardTotals,
    ShardWriter,
};
pub use source::{
    Bots, BrokenGames, BytesRead, Chunk, Chunks, Example, FaultCount, FaultKind, Faults, GameRules, NpyError,
    NpySet, NpyWriter, OpenError, ParsedChunk, Part, PoolRule, RowFault, SourceFile, SourceKind, TaggedGame,
    Whereabouts, evaluation_row,
};
pub use split::{Side, Split, SplitBy};
pub use stream::{
    Analysed, CursorState, Feed, FeedError, Filter, GameSample, Lane, LaneState, LineSample, Need, Repeat,
    Sample, Stream, StreamError, StreamOptions, StreamState, Target,
};
