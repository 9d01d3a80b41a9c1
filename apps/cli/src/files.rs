use std::{
    fs::{self, File},
    io::Write,
    path::Path,
};

use anyhow::{Context, Result};
use serde_json::Value;

/// Writes a file whole or not at all: readers find the old contents or the new, also after a crash.
///
/// # Errors
/// If it cannot be written.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<()> {
    // A device or a pipe is written directly.
    if path.exists() && !path.is_file() {
        return fs::write(path, bytes).with_context(|| path.display().to_string());
    }
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let written = File::create(&part).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.and_then(|()| fs::rename(&part, path)).with_context(|| path.display().to_string())
}

/// Writes JSON, atomically.
///
/// # Errors
/// If it cannot be written.
pub fn write_json(path: &Path, value: &Value) -> Result<()> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    write_atomically(path, text.as_bytes())
}
