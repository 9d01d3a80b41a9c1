//! Writing a set shard by shard. Shards finished by an earlier run are kept.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use twox_hash::XxHash3_64;

use super::manifest::FILE_NAME;
use super::{Set, SetError, SetManifest, ShardSummary, SourceSummary};
use crate::shard::{Shard, ShardError, ShardFault, ShardHead, ShardOptions, ShardTotals, ShardWriter};
use crate::{RecordKey, RecordKind};

/// The plan of a set to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetPlan {
    /// What the records are.
    pub kind: RecordKind,
    /// Number of shards; records are distributed by the high bits of their keys.
    pub shards: u32,
    /// Block size and compression.
    pub packing: ShardOptions,
    /// Fingerprint of the sources and everything else that decides which records there are, see [`fingerprint`].
    pub fingerprint: String,
}

impl SetPlan {
    /// The shard that a record with this key belongs to.
    pub fn shard_of(&self, key: RecordKey) -> u32 {
        ((u128::from(key.0) * u128::from(self.shards)) >> 64) as u32
    }

    /// The head of a shard; its fingerprint covers the plan, too.
    fn head(&self, shard: u32) -> ShardHead {
        let ShardOptions { block_records, level } = self.packing;
        let packing = format!("{} {} {block_records} {level}", self.kind, self.shards);
        let fingerprint = fingerprint([packing.as_bytes(), self.fingerprint.as_bytes()]);
        ShardHead { fingerprint, shard, shards: self.shards }
    }
}

/// A hash of some texts, in this order, as 16 hexadecimal digits.
pub fn fingerprint<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut all = Vec::new();
    for part in parts {
        all.extend_from_slice(&(part.len() as u64).to_le_bytes());
        all.extend_from_slice(part);
    }
    format!("{:016x}", XxHash3_64::oneshot(&all))
}

fn file_name(shard: u32) -> String {
    format!("shard-{shard:05}.tabia")
}

/// Writes a set.
///
/// Either [`push`](SetWriter::push) all records in the order of their keys, or write the shards in any order, on any
/// threads, with a [`SetShard`] each. [`finish`](SetWriter::finish) writes the manifest, which completes the set. Finished
/// shards of an incomplete set are reused by a later run with the same plan.
pub struct SetWriter {
    dir: PathBuf,
    plan: SetPlan,
    finished: BTreeMap<u32, ShardTotals>,
    current: Option<SetShard>,
    next: u32,
}

impl SetWriter {
    /// Creates or resumes the set in a folder, which is created if needed.
    ///
    /// # Errors
    /// If the folder already holds a complete set, or cannot be written to.
    pub fn create(dir: &Path, plan: SetPlan) -> Result<Self, SetError> {
        if dir.join(FILE_NAME).exists() {
            return Err(SetError::Occupied { path: dir.to_owned() });
        }
        fs::create_dir_all(dir).map_err(|error| SetError::Io {
            path: dir.to_owned(),
            doing: "make the folder",
            error,
        })?;
        let mut writer = SetWriter {
            dir: dir.to_owned(),
            plan: SetPlan { shards: plan.shards.max(1), ..plan },
            finished: BTreeMap::new(),
            current: None,
            next: 0,
        };
        for shard in 0..writer.plan.shards {
            if let Some(totals) = writer.look(shard) {
                writer.finished.insert(shard, totals);
            }
        }
        Ok(writer)
    }

    /// What the set will be.
    pub fn plan(&self) -> &SetPlan {
        &self.plan
    }

    /// The shards finished by this or an earlier run with the same plan.
    pub fn finished(&self) -> &BTreeMap<u32, ShardTotals> {
        &self.finished
    }

    fn path(&self, shard: u32) -> PathBuf {
        self.dir.join(file_name(shard))
    }

    /// The totals of a shard, if it is complete and of this plan.
    fn look(&self, shard: u32) -> Option<ShardTotals> {
        let found = Shard::open(&self.path(shard)).ok()?;
        (found.kind() == self.plan.kind && *found.head() == self.plan.head(shard)).then(|| found.totals())
    }

    /// Starts a shard, to be filled by [`SetShard::push`] and ended by [`SetShard::finish`].
    ///
    /// # Errors
    /// If its file cannot be created.
    pub fn shard(&self, shard: u32) -> Result<SetShard, SetError> {
        let head = self.plan.head(shard);
        let writer = ShardWriter::create(&self.path(shard), self.plan.kind, &head, self.plan.packing)?;
        let path = self.path(shard);
        Ok(SetShard { writer, plan: self.plan.clone(), path, shard, last: None, records: 0 })
    }

    /// Adds the next record, with a greater key than the one before. Records of finished shards are skipped.
    ///
    /// # Errors
    /// If the records are not in order, or a shard cannot be written.
    pub fn push(&mut self, key: RecordKey, bytes: &[u8]) -> Result<(), SetError> {
        let shard = self.plan.shard_of(key);
        while self.next <= shard {
            self.end_current()?;
            if !self.finished.contains_key(&self.next) {
                self.current = Some(self.shard(self.next)?);
            }
            self.next += 1;
        }
        match &mut self.current {
            Some(current) => current.push(key, bytes),
            // The shard was kept from an earlier run.
            None => Ok(()),
        }
    }

    fn end_current(&mut self) -> Result<(), SetError> {
        if let Some(current) = self.current.take() {
            let shard = current.shard;
            self.finished.insert(shard, current.finish()?);
        }
        Ok(())
    }

    /// Completes a set written by [`push`](SetWriter::push); shards without records are written empty.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn finish(
        mut self,
        sources: Vec<SourceSummary>,
        options: BTreeMap<String, String>,
    ) -> Result<Set, SetError> {
        self.end_current()?;
        for shard in 0..self.plan.shards {
            if !self.finished.contains_key(&shard) && self.look(shard).is_none() {
                self.shard(shard)?.finish()?;
            }
        }
        self.seal(sources, options)
    }

    /// Completes a set whose shards were written one by one.
    ///
    /// # Errors
    /// If a shard is missing, or the manifest cannot be written.
    pub fn seal(
        self,
        sources: Vec<SourceSummary>,
        options: BTreeMap<String, String>,
    ) -> Result<Set, SetError> {
        let mut shards = Vec::new();
        for shard in 0..self.plan.shards {
            let missing = || SetError::Unfinished { path: self.dir.clone(), shard };
            shards.push(ShardSummary::new(&file_name(shard), self.look(shard).ok_or_else(missing)?));
        }
        let fingerprint = self.plan.head(0).fingerprint;
        SetManifest::new(self.plan.kind, fingerprint, shards, sources, options).write(&self.dir)?;
        Set::open(&self.dir)
    }
}

/// Writes one shard of a set.
pub struct SetShard {
    writer: ShardWriter,
    plan: SetPlan,
    path: PathBuf,
    shard: u32,
    last: Option<RecordKey>,
    records: u64,
}

impl SetShard {
    /// Adds the next record, with a greater key than the one before.
    ///
    /// # Errors
    /// If the record is out of order, belongs to another shard, is invalid, or cannot be written.
    pub fn push(&mut self, key: RecordKey, bytes: &[u8]) -> Result<(), SetError> {
        let fault = |fault| SetError::Shard(ShardError { path: self.path.clone(), fault });
        if self.plan.shard_of(key) != self.shard {
            let (shard, shards) = (self.shard, self.plan.shards);
            return Err(fault(ShardFault::WrongShard { key: key.0, shard, shards }));
        }
        if self.last.is_some_and(|last| last >= key) {
            return Err(fault(ShardFault::Order { record: self.records }));
        }
        self.writer.push(bytes)?;
        self.last = Some(key);
        self.records += 1;
        Ok(())
    }

    /// Completes the shard and renames its file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(self) -> Result<ShardTotals, SetError> {
        Ok(self.writer.finish()?)
    }
}
