use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// One start of a run, the first or one that continued it: a line of the run's `starts.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// Steps made before it.
    pub step: u64,
    /// What was typed.
    pub command: String,
    /// What it trained on.
    pub device: String,
}

/// Where a run keeps its starts.
pub fn starts_path(run: &Path) -> PathBuf {
    run.join("starts.jsonl")
}

/// Adds a start. The starts after its step belong to work that was thrown away, and so do they.
///
/// # Errors
/// If the file system refuses, or what is there cannot be read.
pub fn add_start(path: &Path, start: &Start) -> io::Result<()> {
    let mut starts = match read_starts(path) {
        Ok(starts) => starts,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    starts.retain(|earlier| earlier.step < start.step);
    starts.push(start.clone());
    let mut text = Vec::new();
    for start in &starts {
        serde_json::to_writer(&mut text, start)?;
        text.push(b'\n');
    }
    let fresh = path.with_extension("jsonl.tmp");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(&fresh)?;
    file.write_all(&text)?;
    file.sync_all()?;
    fs::rename(&fresh, path)
}

/// The starts of a run, first to last.
///
/// # Errors
/// If the file cannot be read, or a line is not one of ours.
pub fn read_starts(path: &Path) -> io::Result<Vec<Start>> {
    let text = fs::read_to_string(path)?;
    let line = |(number, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| {
            let message = format!("{}, line {}: {error}", path.display(), number + 1);
            io::Error::new(io::ErrorKind::InvalidData, message)
        })
    };
    text.lines().enumerate().map(line).collect()
}
