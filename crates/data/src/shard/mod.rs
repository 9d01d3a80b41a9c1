//! One file of records: blocks of compressed streams, an index, checksums over every byte.
//!
//! The layout is `docs/formats/shards.md`.

mod block;
mod layout;
mod reader;
mod writer;

use std::io;
use std::path::{Path, PathBuf};

pub use block::{Block, Record};
pub use layout::{BlockEntry, ShardHead, ShardTotals};
pub use reader::Shard;
pub use writer::{ShardOptions, ShardWriter};

use crate::{RecordError, RecordKind};

/// Why a shard cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {fault}", path.display())]
pub struct ShardError {
    /// The file.
    pub path: PathBuf,
    /// Problems.
    pub fault: ShardFault,
}

/// What is wrong with a shard.
#[derive(Debug, thiserror::Error)]
pub enum ShardFault {
    /// I/O failed.
    #[error("cannot {doing}: {error}")]
    Io {
        /// The failed operation.
        doing: &'static str,
        /// The underlying error.
        error: io::Error,
    },
    /// The file does not start with the magic of shards.
    #[error("not a Tabia shard")]
    Magic,
    /// The file has a later version of the format.
    #[error("shard version {have}; this program reads versions up to {known}")]
    Version {
        /// Its version.
        have: u16,
        /// The latest version this program reads.
        known: u16,
    },
    /// A part of the file other than a block is damaged or truncated.
    #[error("damaged: {what}")]
    Damaged {
        /// Which part, and how.
        what: &'static str,
    },
    /// A block is damaged or truncated.
    #[error("block {block} is damaged: {what}")]
    Block {
        /// Its number, from 0.
        block: usize,
        /// Details.
        what: String,
    },
    /// A record passes its checksum but is invalid, or cannot be written.
    #[error("record {record} of block {block}: {error}")]
    Record {
        /// The block's number, from 0.
        block: usize,
        /// The record's number in the block, from 0.
        record: usize,
        /// What is wrong.
        error: RecordError,
    },
    /// There is no such block or record.
    #[error("no {what} {number} in this file")]
    Absent {
        /// What was requested.
        what: &'static str,
        /// Its number.
        number: u64,
    },
    /// Records were written out of order or twice.
    #[error("record {record} is out of order by key")]
    Order {
        /// Its number in the shard, from 0.
        record: u64,
    },
    /// A record was written to the wrong shard.
    #[error("a record with key {key:016x} does not belong to shard {shard} of {shards}")]
    WrongShard {
        /// The record's key.
        key: u64,
        /// The shard it was given to.
        shard: u32,
        /// How many there are.
        shards: u32,
    },
    /// A shard of another kind is expected here.
    #[error("holds {have}, not {want}")]
    Kind {
        /// What the file holds.
        have: RecordKind,
        /// What was requested.
        want: RecordKind,
    },
}

impl ShardFault {
    fn at(self, path: &Path) -> ShardError {
        ShardError { path: path.to_owned(), fault: self }
    }

    fn io(doing: &'static str) -> impl FnOnce(io::Error) -> ShardFault {
        move |error| ShardFault::Io { doing, error }
    }
}
