//! Reads a page from a folder when the server starts.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::path::Path;
use std::{fs, io};

use axum::body::Bytes;

use crate::ConfigError;

/// All files below `folder` by relative path with forward slashes. Symlinks and hidden files are skipped.
pub(super) fn read(folder: &Path) -> Result<Vec<(String, Bytes)>, ConfigError> {
    let mut files = Vec::new();
    collect(folder, "", &mut files)
        .map_err(|error| ConfigError::Unreadable { path: folder.to_owned(), error })?;
    if !files.iter().any(|(name, _)| name == "index.html") {
        return Err(ConfigError::NoPage(folder.to_owned()));
    }
    Ok(files)
}

fn collect(folder: &Path, prefix: &str, files: &mut Vec<(String, Bytes)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let kind = entry.file_type()?;
        if name.starts_with('.') {
            continue;
        }
        let name = format!("{prefix}{name}");
        if kind.is_dir() {
            collect(&entry.path(), &format!("{name}/"), files)?;
        } else if kind.is_file() {
            files.push((name, fs::read(entry.path())?.into()));
        }
    }
    Ok(())
}
