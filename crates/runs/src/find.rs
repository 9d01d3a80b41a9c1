//! Finds runs below a folder.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::folder::RunFolder;

/// Limits of the search.
const MAX_DEPTH: usize = 4;
const MAX_RUNS: usize = 2_000;
const MAX_FOLDERS: usize = 20_000;

/// A run and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundRun {
    /// Path relative to the searched folder, with `/` separators; the folder's name if it is itself a run.
    pub name: String,
    /// The run.
    pub folder: RunFolder,
}

/// A folder that cannot be searched for runs.
#[derive(Debug, thiserror::Error)]
#[error("cannot search {} for training runs: {error}", path.display())]
pub struct FindError {
    /// Folder.
    pub path: PathBuf,
    /// Cause.
    pub error: io::Error,
}

/// Runs at and below `path`, sorted by name: folders with a `metrics.jsonl` or a `run.json`. Symlinks, hidden folders
/// and folders inside a run are skipped.
///
/// # Errors
/// If `path` cannot be read. Unreadable folders below it are skipped.
pub fn find(path: &Path) -> Result<Vec<FoundRun>, FindError> {
    if let Some(folder) = RunFolder::at(path) {
        let full = path.canonicalize().ok();
        let name = full.as_deref().unwrap_or(path).file_name().unwrap_or(path.as_os_str());
        return Ok(vec![FoundRun { name: name.to_string_lossy().into_owned(), folder }]);
    }
    let mut found = Vec::new();
    let top = subfolders(path).map_err(|error| FindError { path: path.to_owned(), error })?;
    let mut open: Vec<(String, PathBuf, usize)> =
        top.into_iter().map(|(name, path)| (name, path, 1)).collect();
    let mut visited = 0;
    while let Some((name, path, depth)) = open.pop() {
        visited += 1;
        if found.len() == MAX_RUNS || visited > MAX_FOLDERS {
            break;
        }
        if let Some(folder) = RunFolder::at(&path) {
            found.push(FoundRun { name, folder });
        } else if depth < MAX_DEPTH {
            let inside = subfolders(&path).unwrap_or_default();
            open.extend(inside.into_iter().map(|(inner, path)| (format!("{name}/{inner}"), path, depth + 1)));
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

fn subfolders(path: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let entries = fs::read_dir(path)?;
    let folders =
        entries.filter_map(Result::ok).filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let named = folders.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()));
    Ok(named.filter(|(name, _)| !name.starts_with('.')).collect())
}
