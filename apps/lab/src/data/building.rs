//! `building.json`: the inputs of an unfinished build, so that another run reuses shards only if it would write the same.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use anyhow::{Context, Result, bail};
use serde::Serialize;
use tabia_data::SetWriter;
use tabia_query::TableSpec;

const FILE_NAME: &str = "building.json";

/// An unfinished build, locked against other processes.
pub(super) struct Building {
    path: PathBuf,
    /// Locked as long as this lives.
    file: File,
}

#[derive(Serialize)]
struct Inputs<'a> {
    tables: &'a [TableSpec],
    /// Modification times in nanoseconds, in the order of the files; 0 if unknown.
    modified: Vec<u128>,
    options: &'a BTreeMap<String, String>,
    shards: u32,
}

impl Building {
    /// Locks a folder, and removes shards of a build with other inputs or options.
    pub(super) fn begin(
        out: &Path,
        tables: &[TableSpec],
        options: &BTreeMap<String, String>,
        shards: u32,
    ) -> Result<Building> {
        if out.join("set.json").exists() {
            bail!("{} already holds a set; remove it or choose another folder", out.display());
        }
        fs::create_dir_all(out).with_context(|| format!("cannot create the folder {}", out.display()))?;
        let path = out.join(FILE_NAME);
        let wrong = || format!("cannot write {}", path.display());
        let is_new = !path.exists();
        let mut file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .with_context(wrong)?;
        if file.try_lock().is_err() {
            bail!("another process is building {}", out.display());
        }
        let files = || tables.iter().flat_map(|table| &table.files);
        let inputs = Inputs {
            tables,
            modified: files().map(|file| modified(file.path.as_deref())).collect(),
            options,
            shards,
        };
        let inputs = serde_json::to_vec_pretty(&inputs)?;
        let mut before = Vec::new();
        file.read_to_end(&mut before).with_context(wrong)?;
        let can_go_on = files().all(|file| file.path.is_some());
        if before != inputs || !can_go_on {
            let leftovers = shard_files(out)?;
            if is_new && !leftovers.is_empty() {
                // Do not remove shards of unknown origin.
                fs::remove_file(&path).with_context(wrong)?;
                bail!("{} holds shards that belong to no set; remove them first", out.display());
            }
            for shard in leftovers {
                fs::remove_file(&shard).with_context(|| format!("cannot remove {}", shard.display()))?;
            }
            file.rewind().with_context(wrong)?;
            file.set_len(0).with_context(wrong)?;
            file.write_all(&inputs).with_context(wrong)?;
            file.sync_all().with_context(wrong)?;
        }
        remove_parts(out);
        Ok(Building { path, file })
    }

    /// The first and last key of each run of finished shards.
    pub(super) fn key_ranges(&self, set: &SetWriter) -> Vec<(u64, u64)> {
        let shards = u128::from(set.plan().shards);
        let first = |shard: u128| ((shard << 64).div_ceil(shards)) as u64;
        let last = |shard: u128| (((shard + 1) << 64).div_ceil(shards) - 1) as u64;
        let mut ranges: Vec<(u128, u128)> = Vec::new();
        for &shard in set.finished().keys() {
            let shard = u128::from(shard);
            match ranges.last_mut() {
                Some((_, end)) if *end + 1 == shard => *end = shard,
                _ => ranges.push((shard, shard)),
            }
        }
        ranges.into_iter().map(|(begin, end)| (first(begin), last(end))).collect()
    }

    /// Removes the file; the manifest has the inputs.
    pub(super) fn end(self) -> Result<()> {
        drop(self.file);
        fs::remove_file(&self.path).with_context(|| format!("cannot remove {}", self.path.display()))
    }
}

fn modified(path: Option<&Path>) -> u128 {
    let time = path.and_then(|path| fs::metadata(path).ok()).and_then(|about| about.modified().ok());
    time.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).map_or(0, |since| since.as_nanos())
}

/// The shards in a folder.
fn shard_files(out: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(out).with_context(|| format!("cannot read the folder {}", out.display()))?;
    let is_shard = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        name.starts_with("shard-") && name.ends_with(".tabia")
    };
    Ok(entries.flatten().map(|entry| entry.path()).filter(is_shard).collect())
}

/// Removes partial shards of a killed run.
fn remove_parts(out: &Path) {
    let Ok(entries) = fs::read_dir(out) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if name.starts_with("shard-") && name.ends_with(".part") {
            // Remaining files are harmless, as only complete shards are renamed.
            let _ = fs::remove_file(&path);
        }
    }
}
