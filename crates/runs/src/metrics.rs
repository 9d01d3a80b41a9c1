//! `metrics.jsonl` as it travels: only whole lines, only new ones where the reader has the others, and not too many.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use crate::downsample::Downsampler;

/// The most bytes of new lines that travel at once.
const CHUNK: u64 = 1 << 20;

/// Tells a file from one that took its place: continuing a run writes its metrics anew.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FileId(String);

/// Lines of metrics, and where they end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metrics {
    /// Whole lines.
    pub text: String,
    /// Which file they are of.
    pub file: FileId,
    /// The byte of the file they begin at.
    pub from: u64,
    /// The byte of the file the next line begins at.
    pub next: u64,
    /// Lines left out because they are no JSON objects.
    pub unreadable: u64,
}

impl Metrics {
    /// All whole lines of `reader`, at most `most_lines` of training and as many of evaluations.
    ///
    /// # Errors
    /// If reading fails.
    pub fn read(mut reader: impl BufRead, most_lines: usize) -> io::Result<Metrics> {
        let mut downsampler = Downsampler::new(most_lines);
        let mut line = Vec::new();
        let mut next = 0;
        loop {
            line.clear();
            let length = reader.read_until(b'\n', &mut line)?;
            // The last line is being written, or was cut off.
            if line.pop() != Some(b'\n') {
                break;
            }
            next += length as u64;
            downsampler.add(&line);
        }
        let unreadable = downsampler.unreadable();
        Ok(Metrics { text: downsampler.finish(), file: FileId::default(), from: 0, next, unreadable })
    }
}

impl FileId {
    /// The name by which a reader calls a file it was told of.
    pub fn named(name: &str) -> Self {
        FileId(name.to_owned())
    }

    /// The name.
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

pub(crate) fn first(run: &Path, most_lines: usize) -> io::Result<Metrics> {
    match open(run)? {
        Some((file, id)) => downsampled(file, id, most_lines),
        None => Ok(nothing()),
    }
}

pub(crate) fn more(run: &Path, known: &FileId, from: u64, most_lines: usize) -> io::Result<Metrics> {
    let Some((mut file, id)) = open(run)? else { return Ok(nothing()) };
    if id != *known || from == 0 || file.metadata()?.len() < from {
        return downsampled(file, id, most_lines);
    }
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.by_ref().take(CHUNK).read_to_end(&mut bytes)?;
    // A line longer than a chunk is read to its end.
    if !bytes.contains(&b'\n') && bytes.len() as u64 == CHUNK {
        BufReader::new(file).read_until(b'\n', &mut bytes)?;
    }
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    bytes.truncate(whole);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(Metrics { text, file: id, from, next: from + whole as u64, unreadable: 0 })
}

/// The file, unless there is none yet. A link is not followed.
fn open(run: &Path) -> io::Result<Option<(File, FileId)>> {
    let path = path(run);
    match fs::symlink_metadata(&path) {
        Ok(data) if data.is_file() => {
            let file = File::open(&path)?;
            let id = FileId::of(&file.metadata()?);
            Ok(Some((file, id)))
        }
        Ok(_) => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no plain file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn nothing() -> Metrics {
    Metrics { text: String::new(), file: FileId::default(), from: 0, next: 0, unreadable: 0 }
}

fn downsampled(file: File, id: FileId, most_lines: usize) -> io::Result<Metrics> {
    Ok(Metrics { file: id, ..Metrics::read(BufReader::new(file), most_lines)? })
}
