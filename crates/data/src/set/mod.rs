//! A set: a folder of shards with a manifest.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod in_memory;
mod manifest;
mod writer;

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

pub use in_memory::{BuildError, build_in_memory};
pub use manifest::{SetManifest, ShardSummary, SourceSummary};
pub use writer::{SetPlan, SetShard, SetWriter, fingerprint};

use crate::shard::{Block, Record, Shard, ShardError, ShardFault};
use crate::{EvaluationRecord, GameRecord, RecordError, RecordKey, RecordKind};

/// Size of the cache of decompressed blocks.
const CACHED_BLOCKS: usize = 8;

/// A record's place in a set, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordIndex(pub u64);

/// A position's place in a set, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PositionIndex(pub u64);

/// Either kind of record.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyRecord {
    /// A game.
    Game(GameRecord),
    /// An analysed position.
    Evaluation(EvaluationRecord),
}

/// Why a set cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum SetError {
    /// An error in a shard.
    #[error(transparent)]
    Shard(#[from] ShardError),
    /// I/O failed.
    #[error("{}: cannot {doing}: {error}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The failed operation.
        doing: &'static str,
        /// The underlying error.
        error: io::Error,
    },
    /// The manifest is invalid.
    #[error("{}: {what}", path.display())]
    Manifest {
        /// The file.
        path: PathBuf,
        /// Problems.
        what: String,
    },
    /// The set was written by another version of the format.
    #[error("{}: set version {have}; this program reads version {known}", path.display())]
    Version {
        /// The manifest.
        path: PathBuf,
        /// Its version.
        have: u32,
        /// The version this program reads.
        known: u32,
    },
    /// A shard is not the one that the manifest describes.
    #[error("{}: {file} is not the shard this set was built with", path.display())]
    OtherShard {
        /// The manifest.
        path: PathBuf,
        /// The shard.
        file: String,
    },
    /// The folder already holds a set.
    #[error("{}: already holds a set; remove it first or choose another folder", path.display())]
    Occupied {
        /// The folder.
        path: PathBuf,
    },
    /// A shard of a complete set is missing.
    #[error("{}: shard {shard} has not been written", path.display())]
    Unfinished {
        /// The folder.
        path: PathBuf,
        /// The shard's number.
        shard: u32,
    },
    /// There is no such record or position.
    #[error("{}: no {what} {number}", path.display())]
    Absent {
        /// The folder.
        path: PathBuf,
        /// What was requested.
        what: &'static str,
        /// Its number.
        number: u64,
    },
    /// A record passes its checksum but is invalid.
    #[error("{}: record {record}: {error}", path.display())]
    Record {
        /// The folder.
        path: PathBuf,
        /// Its place in the set.
        record: u64,
        /// What is wrong.
        error: RecordError,
    },
}

type Cached = (usize, usize, Arc<Block>);

/// An open set, which threads can share.
#[derive(Debug)]
pub struct Set {
    dir: PathBuf,
    manifest: SetManifest,
    shards: Vec<Shard>,
    /// Records and positions before each shard.
    before: Vec<(u64, u64)>,
    cache: Mutex<VecDeque<Cached>>,
}

impl Set {
    /// Opens the set in a folder. Heads and indexes of all shards are checked against the manifest; blocks are checked when
    /// they are read.
    ///
    /// # Errors
    /// If there is no manifest, or a shard is missing, damaged or not the manifest's.
    pub fn open(dir: &Path) -> Result<Self, SetError> {
        let manifest = SetManifest::read(dir)?;
        let path = dir.join(manifest::FILE_NAME);
        let wrong = |what: String| SetError::Manifest { path: path.clone(), what };
        let mut shards = Vec::with_capacity(manifest.shards.len());
        let mut before = Vec::with_capacity(manifest.shards.len());
        let (mut records, mut positions) = (0, 0);
        for summary in &manifest.shards {
            if Path::new(&summary.file).components().count() != 1 {
                return Err(wrong(format!("{:?} is not the name of a file in this folder", summary.file)));
            }
            let shard = Shard::open(&dir.join(&summary.file))?;
            let totals = shard.totals();
            if shard.kind() != manifest.kind || *summary != ShardSummary::new(&summary.file, totals) {
                return Err(SetError::OtherShard { path: path.clone(), file: summary.file.clone() });
            }
            before.push((records, positions));
            records += totals.records;
            positions += totals.positions;
            shards.push(shard);
        }
        if (records, positions) != (manifest.records, manifest.positions) {
            return Err(wrong("its totals are not those of its shards".into()));
        }
        Ok(Set { dir: dir.to_owned(), manifest, shards, before, cache: Mutex::default() })
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The manifest.
    pub fn manifest(&self) -> &SetManifest {
        &self.manifest
    }

    /// The kind of its records.
    pub fn kind(&self) -> RecordKind {
        self.manifest.kind
    }

    /// Number of records.
    pub fn records(&self) -> u64 {
        self.manifest.records
    }

    /// Number of training positions.
    pub fn positions(&self) -> u64 {
        self.manifest.positions
    }

    /// Its shards, in order.
    pub fn shards(&self) -> &[Shard] {
        &self.shards
    }

    /// Number of records and positions before a shard.
    pub(crate) fn before(&self, shard: usize) -> Option<(u64, u64)> {
        self.before.get(shard).copied()
    }

    /// A block, from the cache if possible.
    fn block(&self, shard: usize, block: usize) -> Result<Arc<Block>, SetError> {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = cache.iter().position(|&(s, b, _)| (s, b) == (shard, block))
            && let Some(found) = cache.remove(at)
        {
            let answer = Arc::clone(&found.2);
            cache.push_front(found);
            return Ok(answer);
        }
        drop(cache);
        let absent = || SetError::Absent { path: self.dir.clone(), what: "shard", number: shard as u64 };
        let read = Arc::new(self.shards.get(shard).ok_or_else(absent)?.block(block)?);
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.truncate(CACHED_BLOCKS - 1);
        cache.push_front((shard, block, Arc::clone(&read)));
        Ok(read)
    }

    /// The shard, block and place in the block of a record.
    fn find(&self, index: RecordIndex) -> Option<(usize, usize, usize)> {
        let shard = self.before.partition_point(|&(records, _)| records <= index.0).checked_sub(1)?;
        let (block, record) = self.shards.get(shard)?.block_of_record(index.0 - self.before.get(shard)?.0)?;
        Some((shard, block, record))
    }

    /// The bytes of a record.
    ///
    /// # Errors
    /// If the number is out of range, or the block is damaged.
    pub fn bytes(&self, index: RecordIndex) -> Result<Vec<u8>, SetError> {
        let absent = || SetError::Absent { path: self.dir.clone(), what: "record", number: index.0 };
        let (shard, block, record) = self.find(index).ok_or_else(absent)?;
        self.block(shard, block)?.bytes(record).ok_or_else(absent)
    }

    /// Decodes a record and checks every move for legality.
    ///
    /// # Errors
    /// If there is no such record, or it is damaged.
    pub fn record(&self, index: RecordIndex) -> Result<AnyRecord, SetError> {
        let bytes = self.bytes(index)?;
        let decoded = match self.kind() {
            RecordKind::Games => GameRecord::from_bytes(&bytes).map(AnyRecord::Game),
            RecordKind::Evaluations => EvaluationRecord::from_bytes(&bytes).map(AnyRecord::Evaluation),
        };
        decoded.map_err(|error| SetError::Record { path: self.dir.clone(), record: index.0, error })
    }

    /// The record that a position belongs to, and its ply in the record.
    ///
    /// # Errors
    /// If the number is out of range, or the block is damaged.
    pub fn position(&self, index: PositionIndex) -> Result<(RecordIndex, u32), SetError> {
        let absent = || SetError::Absent { path: self.dir.clone(), what: "position", number: index.0 };
        let find = || {
            let shard = self.before.partition_point(|&(_, positions)| positions <= index.0).checked_sub(1)?;
            let (records, positions) = self.before(shard)?;
            let within = self.shards.get(shard)?;
            let (block, position) = within.block_of_position(index.0 - positions)?;
            Some((shard, block, position, records + within.before(block)?.0))
        };
        let (shard, block, position, records) = find().ok_or_else(absent)?;
        let (record, ply) = self.block(shard, block)?.record_at(position).ok_or_else(absent)?;
        Ok((RecordIndex(records + record as u64), ply))
    }

    /// The bytes of all records in order, with their keys.
    pub fn iter(&self) -> impl Iterator<Item = Result<(RecordKey, Vec<u8>), SetError>> + '_ {
        let blocks =
            self.shards.iter().flat_map(|shard| (0..shard.blocks().len()).map(move |block| (shard, block)));
        blocks.flat_map(|(shard, number)| {
            let (block, fault) = match shard.block(number) {
                Ok(block) => (Some(block), None),
                Err(error) => (None, Some(Err(error.into()))),
            };
            let records = block.into_iter().flat_map(move |block| {
                let read = move |record: usize| {
                    let key = block.record(record)?.as_ref().map(Record::key).map_err(Clone::clone);
                    let fault = |error| ShardError {
                        path: shard.path().to_owned(),
                        fault: ShardFault::Record { block: number, record, error },
                    };
                    let bytes = block.bytes(record)?;
                    Some(key.map(|key| (key, bytes)).map_err(|error| SetError::Shard(fault(error))))
                };
                (0..).map_while(read)
            });
            records.chain(fault)
        })
    }

    /// Reads and decodes everything; `done` is called with the number of shards finished.
    ///
    /// # Errors
    /// The first fault found.
    pub fn verify(&self, mut progress: impl FnMut(usize)) -> Result<(), SetError> {
        for (done, shard) in self.shards.iter().enumerate() {
            shard.verify()?;
            progress(done + 1);
        }
        Ok(())
    }
}
