//! `set.json`: what a set is and how it was built.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::SetError;
use crate::RecordKind;
use crate::shard::ShardTotals;

pub(super) const FILE_NAME: &str = "set.json";
const FORMAT: &str = "tabia set";
const VERSION: u32 = 1;

/// The manifest of a set. Written last: a folder with a manifest holds a complete set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetManifest {
    format: String,
    version: u32,
    /// What the records are.
    pub kind: RecordKind,
    /// Fingerprint of the sources and options the set was built from.
    pub fingerprint: String,
    /// How many records there are.
    pub records: u64,
    /// Number of training positions.
    pub positions: u64,
    /// Where the records come from.
    pub sources: Vec<SourceSummary>,
    /// How it was built.
    pub options: BTreeMap<String, String>,
    /// The files.
    pub shards: Vec<ShardSummary>,
}

/// One source of a set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceSummary {
    /// The file's name, or whatever else names it.
    pub name: String,
    /// Records read from it, duplicates included.
    pub records: u64,
    /// Counts of rejected input by kind of fault.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub broken: BTreeMap<String, u64>,
}

/// One shard of a set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardSummary {
    /// The file's name.
    pub file: String,
    /// Number of records.
    pub records: u64,
    /// How many positions they have.
    pub positions: u64,
    /// Its length.
    pub bytes: u64,
    /// Checksum of all its bytes, as 16 hexadecimal digits.
    pub checksum: String,
}

impl ShardSummary {
    pub(super) fn new(file: &str, totals: ShardTotals) -> Self {
        ShardSummary {
            file: file.to_owned(),
            records: totals.records,
            positions: totals.positions,
            bytes: totals.bytes,
            checksum: format!("{:016x}", totals.checksum),
        }
    }
}

impl SetManifest {
    pub(super) fn new(
        kind: RecordKind,
        fingerprint: String,
        shards: Vec<ShardSummary>,
        sources: Vec<SourceSummary>,
        options: BTreeMap<String, String>,
    ) -> Self {
        SetManifest {
            format: FORMAT.into(),
            version: VERSION,
            kind,
            fingerprint,
            records: shards.iter().map(|shard| shard.records).sum(),
            positions: shards.iter().map(|shard| shard.positions).sum(),
            sources,
            options,
            shards,
        }
    }

    /// The manifest of the set in a folder.
    ///
    /// # Errors
    /// If there is none, or it is not one this program can read.
    pub fn read(dir: &Path) -> Result<Self, SetError> {
        /// The fields that every version has.
        #[derive(Deserialize)]
        struct Stamp {
            format: String,
            version: u32,
        }
        let path = dir.join(FILE_NAME);
        let bytes =
            fs::read(&path).map_err(|error| SetError::Io { path: path.clone(), doing: "read it", error })?;
        let wrong = |what: String| SetError::Manifest { path: path.clone(), what };
        let stamp: Stamp = serde_json::from_slice(&bytes)
            .map_err(|error| wrong(format!("not the manifest of a set: {error}")))?;
        if stamp.format != FORMAT {
            return Err(wrong(format!("the format is {:?}, not {FORMAT:?}", stamp.format)));
        }
        if stamp.version != VERSION {
            return Err(SetError::Version { path, have: stamp.version, known: VERSION });
        }
        serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))
    }

    /// Writes the manifest to a temporary name, then renames it.
    pub(super) fn write(&self, dir: &Path) -> Result<(), SetError> {
        let path = dir.join(FILE_NAME);
        let part = dir.join("set.json.part");
        let write = || {
            let mut text = serde_json::to_vec_pretty(self)?;
            text.push(b'\n');
            let mut file = File::create(&part)?;
            file.write_all(&text)?;
            file.sync_all()?;
            fs::rename(&part, &path)?;
            sync_folder(dir)
        };
        write().map_err(|error| {
            // Failing to remove the partial file does not change the error.
            let _ = fs::remove_file(&part);
            SetError::Io { path: path.clone(), doing: "write it", error }
        })
    }
}

/// Flushes the folder's entries to disk.
fn sync_folder(dir: &Path) -> std::io::Result<()> {
    if cfg!(unix) { File::open(dir)?.sync_all() } else { Ok(()) }
}
