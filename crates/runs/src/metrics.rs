//! Reads `metrics.jsonl`: complete lines only, downsampled, or only what was appended since the last read.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use crate::downsample::Downsampler;

/// Maximum number of bytes of new lines per read.
const CHUNK: u64 = 1 << 20;

/// Identifies a file even if another one replaces it: resuming a run rewrites its metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FileId(String);

/// Lines of a metrics file and their byte range.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// Complete lines.
    pub text: String,
    /// File they were read from.
    pub file: FileId,
    /// Offset of the first line.
    pub from: u64,
    /// Offset of the next line.
    pub next: u64,
    /// Number of lines skipped because they are not JSON objects.
    pub unreadable: u64,
}

impl Metrics {
    /// Reads all complete lines, downsampled to `max_lines` step lines and as many evaluation lines.
    ///
    /// # Errors
    /// If reading fails.
    pub fn read(mut reader: impl BufRead, max_lines: usize) -> io::Result<Metrics> {
        let mut downsampler = Downsampler::new(max_lines);
        let mut line = Vec::new();
        let mut next = 0;
        loop {
            line.clear();
            let length = reader.read_until(b'\n', &mut line)?;
            // An incomplete last line is still being written, or was truncated.
            if line.pop() != Some(b'\n') {
                break;
            }
            next += length as u64;
            downsampler.add(&line);
        }
        let unreadable = downsampler.unreadable();
        Ok(Metrics { text: downsampler.finish(), next, unreadable, ..Metrics::default() })
    }
}

impl FileId {
    /// An identifier received from a client.
    pub fn new(id: &str) -> Self {
        FileId(id.to_owned())
    }

    /// The identifier as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn of(data: &fs::Metadata) -> Self {
        let created = data.created().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let created = created.map_or(0, |time| time.as_nanos());
        #[cfg(unix)]
        let number = std::os::unix::fs::MetadataExt::ino(data);
        #[cfg(not(unix))]
        let number = 0;
        FileId(format!("{number:x}-{created:x}"))
    }
}

pub(crate) fn path(run: &Path) -> PathBuf {
    run.join("metrics.jsonl")
}

pub(crate) fn first(run: &Path, max_lines: usize) -> io::Result<Metrics> {
    match open(run)? {
        Some((file, id)) => downsampled(file, id, max_lines),
        None => Ok(Metrics::default()),
    }
}

pub(crate) fn more(run: &Path, known: &FileId, from: u64, max_lines: usize) -> io::Result<Metrics> {
    let Some((mut file, id)) = open(run)? else { return Ok(Metrics::default()) };
    if id != *known || from == 0 || file.metadata()?.len() < from {
        return downsampled(file, id, max_lines);
    }
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.by_ref().take(CHUNK).read_to_end(&mut bytes)?;
    // A line longer than the chunk is read to its end.
    if !bytes.contains(&b'\n') && bytes.len() as u64 == CHUNK {
        BufReader::new(file).read_until(b'\n', &mut bytes)?;
    }
    let complete = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    bytes.truncate(complete);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(Metrics { text, file: id, from, next: from + complete as u64, unreadable: 0 })
}

/// Opens the metrics file; `None` if it does not exist yet. Symlinks are not followed.
fn open(run: &Path) -> io::Result<Option<(File, FileId)>> {
    let path = path(run);
    match fs::symlink_metadata(&path) {
        Ok(data) if data.is_file() => {
            let file = File::open(&path)?;
            let id = FileId::of(&file.metadata()?);
            Ok(Some((file, id)))
        }
        Ok(_) => Err(io::Error::new(io::ErrorKind::InvalidInput, "metrics.jsonl is not a regular file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn downsampled(file: File, id: FileId, max_lines: usize) -> io::Result<Metrics> {
    Ok(Metrics { file: id, ..Metrics::read(BufReader::new(file), max_lines)? })
}
