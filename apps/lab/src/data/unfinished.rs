//! An output that is written in chunks, and its journal, from which a killed run is resumed.

use std::fmt::Debug;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Totals of the output according to the journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Written {
    /// Number of chunks.
    pub(crate) chunks: u64,
    /// Number of positions, with and without labels; of games, their moves.
    pub(crate) positions: u64,
    /// Number of lines, or of games.
    pub(crate) rows: u64,
    /// Positions with fewer lines than requested.
    pub(crate) short: u64,
    /// Positions without labels, or games without a result.
    pub(crate) faults: u64,
    /// The length of the output.
    pub(crate) bytes: u64,
    /// Hash of these positions, to detect another input; 0 without an input.
    pub(crate) input: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Entry<S> {
    /// The first line.
    TabiaLabelJournal {
        version: u32,
        settings: S,
    },
    Written(Written),
}

const VERSION: u32 = 2;

/// Interval between journal entries.
const NOTE_EVERY: Duration = Duration::from_millis(500);

/// An unfinished output: `NAME.part` and `NAME.journal`, later renamed to `NAME`.
pub(crate) struct Output {
    path: PathBuf,
    part: File,
    journal: File,
    /// Appended so far; the journal may lag behind.
    written: Written,
    noted: Instant,
}

impl Output {
    /// Starts an output, or resumes one with the same settings.
    pub(crate) fn open<S>(path: &Path, settings: &S) -> Result<Output>
    where
        S: Clone + Debug + PartialEq + Serialize + DeserializeOwned,
    {
        ensure!(!path.exists(), "{} already exists", path.display());
        let mut part = open_to_go_on(&with_suffix(path, "part"))?;
        let mut journal = open_to_go_on(&with_suffix(path, "journal"))?;
        if journal.try_lock().is_err() {
            bail!("another run is writing {}", path.display());
        }
        let length = part.metadata()?.len();
        let (written, journal_end) = match read_journal::<S>(&journal, length)
            .with_context(|| format!("{}", with_suffix(path, "journal").display()))?
        {
            Some(found) if found.settings == *settings => (found.written, found.end),
            Some(found) => bail!(
                "{} was started with other settings: {:?} (now {settings:?}); use the same, or delete it and its journal",
                with_suffix(path, "part").display(),
                found.settings
            ),
            None => (Written::default(), 0),
        };
        // Truncate what a killed run wrote after its last journal entry.
        part.set_len(written.bytes)?;
        part.seek(SeekFrom::End(0))?;
        journal.set_len(journal_end)?;
        journal.seek(SeekFrom::End(0))?;
        if journal_end == 0 {
            let head = Entry::TabiaLabelJournal { version: VERSION, settings: settings.clone() };
            write_entry(&mut journal, &head)?;
        }
        Ok(Output { path: path.to_owned(), part, journal, written, noted: Instant::now() })
    }

    /// What is written.
    pub(crate) fn written(&self) -> Written {
        self.written
    }

    /// Appends a compressed frame, and adds a journal entry from time to time.
    pub(crate) fn append(&mut self, frame: &[u8], now: Written) -> Result<()> {
        self.part.write_all(frame).with_context(|| self.unwritable())?;
        self.written = Written { bytes: self.written.bytes + frame.len() as u64, ..now };
        if self.noted.elapsed() >= NOTE_EVERY { self.note() } else { Ok(()) }
    }

    /// Syncs the output and adds a journal entry.
    pub(crate) fn note(&mut self) -> Result<()> {
        self.noted = Instant::now();
        self.part.sync_data().with_context(|| self.unwritable())?;
        write_entry(&mut self.journal, &Entry::<()>::Written(self.written)).with_context(|| self.unwritable())
    }

    fn unwritable(&self) -> String {
        format!("cannot write {}", with_suffix(&self.path, "part").display())
    }

    /// The path of the unfinished output.
    pub(crate) fn part(&self) -> PathBuf {
        with_suffix(&self.path, "part")
    }

    /// Removes the unfinished output, which has been converted.
    pub(crate) fn remove(self) -> Result<()> {
        for suffix in ["part", "journal"] {
            let path = with_suffix(&self.path, suffix);
            std::fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
        Ok(())
    }

    /// Renames the complete output.
    pub(crate) fn finish(self) -> Result<()> {
        let part = with_suffix(&self.path, "part");
        self.part.sync_all()?;
        std::fs::rename(&part, &self.path)
            .with_context(|| format!("cannot rename {} to {}", part.display(), self.path.display()))?;
        std::fs::remove_file(with_suffix(&self.path, "journal"))?;
        Ok(())
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    PathBuf::from(name)
}

fn open_to_go_on(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.open(path).with_context(|| format!("cannot open {}", path.display()))
}

fn write_entry<S: Serialize>(journal: &mut File, entry: &Entry<S>) -> Result<()> {
    let mut line = serde_json::to_vec(entry)?;
    line.push(b'\n');
    Ok(journal.write_all(&line)?)
}

struct Found<S> {
    settings: S,
    written: Written,
    /// End of the last valid entry.
    end: u64,
}

/// The last entry that is covered by the output's `length`. A truncated last line is ignored, and so is a journal without a
/// first line.
fn read_journal<S: DeserializeOwned>(journal: &File, length: u64) -> Result<Option<Found<S>>> {
    let mut lines = BufReader::new(journal);
    let mut line = Vec::new();
    let mut found: Option<Found<S>> = None;
    let mut end = 0;
    loop {
        line.clear();
        let read = lines.read_until(b'\n', &mut line)? as u64;
        if read == 0 || line.last() != Some(&b'\n') {
            return Ok(found);
        }
        end += read;
        let entry: Entry<S> = serde_json::from_slice(&line).context("not a journal of such a run")?;
        match (entry, &mut found) {
            (Entry::TabiaLabelJournal { version: VERSION, settings }, None) => {
                found = Some(Found { settings, written: Written::default(), end });
            }
            (Entry::TabiaLabelJournal { version, .. }, None) => bail!("unknown version {version}"),
            (Entry::Written(written), Some(found)) if written.bytes <= length => {
                (found.written, found.end) = (written, end);
            }
            (Entry::Written(_), Some(_)) => {}
            _ => bail!("not a journal of such a run"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Vec<String> {
        vec!["Fake".to_owned(), "go depth 1".to_owned()]
    }

    fn chunk(chunks: u64) -> Written {
        Written { chunks, positions: 2 * chunks, rows: 2 * chunks, input: chunks, ..Written::default() }
    }

    #[test]
    fn output_after_the_last_entry_is_truncated() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows");
        let mut output = Output::open(&path, &settings()).unwrap();
        output.append(b"one", chunk(1)).unwrap();
        output.append(b"two", chunk(2)).unwrap();
        output.note().unwrap();
        output.append(b"lost", chunk(3)).unwrap();
        drop(output);
        let append = |suffix, bytes: &[u8]| {
            let file = OpenOptions::new().append(true).open(with_suffix(&path, suffix));
            file.unwrap().write_all(bytes).unwrap();
        };
        append("part", b"half a fra");
        append("journal", b"{\"written\":{\"chu");
        let mut output = Output::open(&path, &settings()).unwrap();
        assert_eq!(output.written(), Written { bytes: 6, ..chunk(2) });
        output.append(b"three", chunk(3)).unwrap();
        output.finish().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"onetwothree");
        assert!(!with_suffix(&path, "journal").exists() && !with_suffix(&path, "part").exists());
        assert!(Output::open(&path, &settings()).is_err());
    }

    #[test]
    fn a_truncated_output_resumes_from_an_earlier_entry() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows");
        let mut output = Output::open(&path, &settings()).unwrap();
        for (number, frame) in [(1, b"one"), (2, b"two")] {
            output.append(frame, chunk(number)).unwrap();
            output.note().unwrap();
        }
        drop(output);
        File::options().write(true).open(with_suffix(&path, "part")).unwrap().set_len(4).unwrap();
        let output = Output::open(&path, &settings()).unwrap();
        assert_eq!(output.written().chunks, 1);
    }

    #[test]
    fn other_settings_and_a_second_writer_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows");
        let output = Output::open(&path, &settings()).unwrap();
        let refused = Output::open(&path, &settings()).err().unwrap();
        assert!(refused.to_string().starts_with("another run is writing"), "{refused}");
        drop(output);
        let other = vec!["Fake".to_owned(), "go depth 2".to_owned()];
        let refused = Output::open(&path, &other).err().unwrap();
        assert!(refused.to_string().contains("other settings"), "{refused}");
    }
}
