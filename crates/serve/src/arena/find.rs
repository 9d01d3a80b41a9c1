//! Finds ledgers and scorecards below a folder.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

const MAX_DEPTH: usize = 4;
const MAX_FILES: usize = 1000;
const MAX_FILE_BYTES: u64 = 64 << 20;

/// Kind of a file by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Index of a match, `NAME.pgn.jsonl`.
    Ledger,
    /// A JSON file, possibly a scorecard.
    Json,
}

/// A file and its metadata.
#[derive(Clone, Debug)]
pub(super) struct FoundFile {
    /// Relative path without the extension, with forward slashes.
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) kind: Kind,
    pub(super) bytes: u64,
    pub(super) modified: SystemTime,
}

impl FoundFile {
    /// The PGN file beside a ledger's index, if it is a regular file.
    pub(super) fn games(&self) -> Option<PathBuf> {
        let games = self.path.with_extension("");
        let usable =
            fs::symlink_metadata(&games).is_ok_and(|data| data.is_file() && data.len() <= MAX_FILE_BYTES);
        usable.then_some(games)
    }
}

/// Ledgers and JSON files below `folder`, sorted by name. Symlinks and hidden files are skipped.
pub(super) fn find(folder: &Path) -> io::Result<Vec<FoundFile>> {
    let mut files = Vec::new();
    collect(folder, "", MAX_DEPTH, &mut files)?;
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}

fn collect(folder: &Path, prefix: &str, depth: usize, files: &mut Vec<FoundFile>) -> io::Result<()> {
    for entry in fs::read_dir(folder)?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Ok(kind) = entry.file_type() else { continue };
        if name.starts_with('.') || files.len() >= MAX_FILES {
            continue;
        }
        let name = format!("{prefix}{name}");
        if kind.is_dir() && depth > 1 {
            // Unreadable folders are skipped.
            let _ = collect(&entry.path(), &format!("{name}/"), depth - 1, files);
        } else if kind.is_file() {
            files.extend(classify(&entry, &name));
        }
    }
    Ok(())
}

fn classify(entry: &DirEntry, name: &str) -> Option<FoundFile> {
    let (name, kind) = match (name.strip_suffix(".pgn.jsonl"), name.strip_suffix(".json")) {
        (Some(base), _) => (base, Kind::Ledger),
        (_, Some(base)) => (base, Kind::Json),
        _ => return None,
    };
    let data = entry.metadata().ok()?;
    let (bytes, modified) = (data.len(), data.modified().ok()?);
    let file = FoundFile { name: name.to_owned(), path: entry.path(), kind, bytes, modified };
    (bytes <= MAX_FILE_BYTES).then_some(file)
}
