//! Finding the ledgers and scorecards in a folder.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// How many folders deep is looked.
const DEPTH: usize = 4;
/// How many files are looked at.
const MOST_FILES: usize = 1000;
/// A larger file is no scorecard, and no index of a match one would wait for.
const MOST_BYTES: u64 = 64 << 20;

/// What a file's name says it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The index of a match, `NAME.pgn.jsonl`.
    Ledger,
    /// A JSON file: perhaps a scorecard.
    Json,
}

/// A file that was found, as it was then.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// Its path below the folder without the ending, with forward slashes.
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) kind: Kind,
    pub(super) bytes: u64,
    pub(super) modified: SystemTime,
}

impl Found {
    /// The PGN file beside a ledger's index, if it is a plain file.
    pub(super) fn games(&self) -> Option<PathBuf> {
        let games = self.path.with_extension("");
        let plain =
            fs::symlink_metadata(&games).is_ok_and(|about| about.is_file() && about.len() <= MOST_BYTES);
        plain.then_some(games)
    }
}

/// The ledgers and JSON files below `folder`, by name. Links and hidden folders are not followed.
pub(super) fn find(folder: &Path) -> io::Result<Vec<Found>> {
    let mut all = Vec::new();
    look(folder, "", DEPTH, &mut all)?;
    all.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(all)
}

fn look(folder: &Path, prefix: &str, depth: usize, all: &mut Vec<Found>) -> io::Result<()> {
    for entry in fs::read_dir(folder)?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Ok(kind) = entry.file_type() else { continue };
        if name.starts_with('.') || all.len() >= MOST_FILES {
            continue;
        }
        let name = format!("{prefix}{name}");
        if kind.is_dir() && depth > 1 {
            // A folder that cannot be read holds nothing for us.
            let _unreadable = look(&entry.path(), &format!("{name}/"), depth - 1, all);
        } else if kind.is_file() {
            all.extend(known(&entry, &name));
        }
    }
    Ok(())
}

fn known(entry: &DirEntry, name: &str) -> Option<Found> {
    let (name, kind) = match (name.strip_suffix(".pgn.jsonl"), name.strip_suffix(".json")) {
        (Some(base), _) => (base, Kind::Ledger),
        (_, Some(base)) => (base, Kind::Json),
        _ => return None,
    };
    let about = entry.metadata().ok()?;
    let found = Found {
        name: name.to_owned(),
        path: entry.path(),
        kind,
        bytes: about.len(),
        modified: about.modified().ok()?,
    };
    (found.bytes <= MOST_BYTES).then_some(found)
}
