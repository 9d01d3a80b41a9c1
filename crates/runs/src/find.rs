//! The runs under a folder.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::folder::RunFolder;

/// How deep below the folder runs are looked for.
const DEEPEST: usize = 4;
/// So many runs are found at most, and so many folders looked into.
const MOST_RUNS: usize = 2_000;
const MOST_FOLDERS: usize = 20_000;

/// A run and what it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundRun {
    /// Its path from the folder that was searched, with `/` between the parts; the folder's own name if it is the run itself.
    pub name: String,
    /// Where it is.
    pub folder: RunFolder,
}

/// A folder that cannot be searched.
#[derive(Debug, thiserror::Error)]
#[error("cannot look for runs in {}: {error}", path.display())]
pub struct FindError {
    /// Which.
    pub path: PathBuf,
    /// Why.
    pub error: io::Error,
}

/// The runs at and under `path`, by name: folders with a `metrics.jsonl` or a `run.json`. Links and hidden folders are not followed,
/// and a run's own folders are not looked into.
///
/// # Errors
/// If `path` itself cannot be read. Folders below that cannot be read have no runs.
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
    let mut looked_into = 0;
    while let Some((name, path, depth)) = open.pop() {
        looked_into += 1;
        if found.len() == MOST_RUNS || looked_into > MOST_FOLDERS {
            break;
        }
        if let Some(folder) = RunFolder::at(&path) {
            found.push(FoundRun { name, folder });
        } else if depth < DEEPEST {
            // What may not be looked into has nothing to show.
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
