//! Games and engine evaluations as training data: parsed from files, stored in shards, streamed to trainers.
//!
//! Shards hold games and positions, not tensors; [`tabia_encoding`] encodes them when a trainer reads them. Grouping and
//! sorting sets larger than memory is in `tabia-query`.
//!
//! | to find | look in |
//! |---|---|
//! | one game, one analysed position | [`GameRecord`], [`EvaluationRecord`] |
//! | their bytes, keys and duplicates | [`RecordKind`], [`GameBytes`], [`EvaluationBytes`], [`merge_evaluations`] |
//! | one file of records | [`Shard`], [`ShardWriter`] |
//! | a folder of them | [`Set`], [`SetWriter`], [`build_in_memory`] |
//! | the training and held-out splits | [`Split`], [`Side`] |
//! | statistics and integrity checks | [`stats`], [`verify`] |
//! | shuffled training positions | [`Stream`], [`Feed`] |
//! | policy labels from engine sessions | [`LabelStrategy`] |
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
    AnyRecord, BuildError, PositionIndex, RecordIndex, Set, SetError, SetManifest, SetPlan, SetShard,
    SetWriter, ShardSummary, SourceSummary, build_in_memory, fingerprint,
};
pub use shard::{
    Block, BlockEntry, Record, Shard, ShardError, ShardFault, ShardHead, ShardOptions, ShardTotals,
    ShardWriter,
};
pub use source::{
    Bots, BrokenGames, BytesRead, Chunk, Chunks, Example, FaultCount, FaultKind, Faults, GameRules, NpyError,
    NpyFolder, NpySet, NpyWriter, OpenError, ParsedChunk, Part, PoolRule, RowFault, SourceFile, SourceKind,
    TaggedGame, Whereabouts, evaluation_row,
};
pub use split::{Side, Split, SplitBy};
pub use stream::{
    Analysed, CursorState, Feed, FeedError, Filter, GameSample, Lane, LaneState, LineSample, Need, Repeat,
    Sample, Stream, StreamError, StreamOptions, StreamState, Target, repeats,
};
