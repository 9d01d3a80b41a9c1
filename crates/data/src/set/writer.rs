//! Writing a set shard by shard, keeping what an earlier run finished.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use twox_hash::XxHash3_64;

use super::manifest::FILE_NAME;
use super::{Set, SetError, SetManifest, ShardSummary, SourceSummary};
use crate::shard::{Shard, ShardError, ShardFault, ShardHead, ShardOptions, ShardTotals, ShardWriter};
use crate::{RecordKey, RecordKind};

/// What a set will be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetPlan {
    /// What the records are.
    pub kind: RecordKind,
    /// Over how many shards they are spread, by the high bits of their keys.
    pub shards: u32,
    /// How shards are cut and packed.
    pub packing: ShardOptions,
    /// Stands for the sources and whatever else decides which records there are: see [`fingerprint`].
    pub fingerprint: String,
}

impl SetPlan {
    /// The shard that a record with this key belongs to.
    pub fn shard_of(&self, key: RecordKey) -> u32 {
        ((u128::from(key.0) * u128::from(self.shards)) >> 64) as u32
    }

    /// The head of a shard, whose fingerprint also stands for the plan itself.
    fn head(&self, shard: u32) -> ShardHead {
        let ShardOptions { block_records, level } = self.packing;
        let packing = format!("{} {} {block_records} {level}", self.kind, self.shards);
        let fingerprint = fingerprint([packing.as_bytes(), self.fingerprint.as_bytes()]);
        ShardHead { fingerprint, shard, shards: self.shards }
    }
}

/// 16 hexadecimal digits that stand for some texts, in this order.
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
/// threads, with a [`SetShard`] each. The set is there when [`finish`](SetWriter::finish) has written its manifest;
/// until then, finished shards wait for another run with the same plan.
pub struct SetWriter {
    dir: PathBuf,
    plan: SetPlan,
    finished: BTreeMap<u32, ShardTotals>,
    current: Option<SetShard>,
    next: u32,
}

impl SetWriter {
    /// Begins, or goes on with, the set in a folder, which is made if there is none.
    ///
    /// # Errors
    /// If the folder holds a whole set already, or cannot be written to.
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

    /// The shards that need not be written: an earlier run with the same plan finished them, or this one did.
    pub fn finished(&self) -> &BTreeMap<u32, ShardTotals> {
        &self.finished
    }

    fn path(&self, shard: u32) -> PathBuf {
        self.dir.join(file_name(shard))
    }

    /// What a shard holds, if it is there, whole, and of this plan.
    fn look(&self, shard: u32) -> Option<ShardTotals> {
        let found = Shard::open(&self.path(shard)).ok()?;
        (found.kind() == self.plan.kind && *found.head() == self.plan.head(shard)).then(|| found.totals())
    }

    /// Begins a shard. Its records are given to [`SetShard::push`], and [`SetShard::finish`] ends it.
    ///
    /// # Errors
    /// If its file cannot be made.
    pub fn shard(&self, shard: u32) -> Result<SetShard, SetError> {
        let head = self.plan.head(shard);
        let writer = ShardWriter::create(&self.path(shard), self.plan.kind, &head, self.plan.packing)?;
        let path = self.path(shard);
        Ok(SetShard { writer, plan: self.plan.clone(), path, shard, last: None, records: 0 })
    }

    /// Adds the next record, whose key is greater than that of the one before. A record of a shard that is finished
    /// already is passed over.
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

    /// Ends the set that was [`push`](SetWriter::push)ed: shards that got no record are written empty.
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

    /// Ends a set whose shards were written one by one: all of them must be there.
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
    /// Adds the next record, whose key is greater than that of the one before.
    ///
    /// # Errors
    /// If the record is out of order, does not belong here, makes no sense, or cannot be written.
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

    /// Ends the shard and gives the file its name.
    ///
    /// # Errors
    /// If the file cannot be written whole.
    pub fn finish(self) -> Result<ShardTotals, SetError> {
        Ok(self.writer.finish()?)
    }
}
