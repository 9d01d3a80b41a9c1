//! The labels written so far and a journal of them, so that a run that was killed goes on where it was.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use super::form::Form;

/// What must be the same for two runs to write the same labels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Settings {
    /// The name the engine gives itself.
    pub(super) engine: String,
    /// Its options, in order.
    pub(super) options: Vec<(String, String)>,
    /// What a position may cost, as `go` says it.
    pub(super) go: String,
    pub(super) lines: usize,
    pub(super) chunk: usize,
    /// What the labels become.
    pub(super) form: Form,
}

/// What is written, as the journal counts it: everything from the beginning of the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Written {
    /// How many chunks of positions.
    pub(super) chunks: u64,
    /// How many positions, with and without an answer.
    pub(super) positions: u64,
    /// How many lines of moves they have.
    pub(super) rows: u64,
    /// Positions with fewer lines than were asked for.
    pub(super) short: u64,
    /// Positions without an answer.
    pub(super) faults: u64,
    /// The length of the output.
    pub(super) bytes: u64,
    /// A hash of all these positions: another input has another.
    pub(super) input: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Entry {
    /// The first line.
    TabiaLabelJournal {
        version: u32,
        settings: Settings,
    },
    Written(Written),
}

const VERSION: u32 = 2;

/// How much work is lost at most when the process is killed or the power fails.
const NOTE_EVERY: Duration = Duration::from_millis(500);

/// An output being written: `NAME.part` and `NAME.journal` until it is finished, then `NAME`.
pub(super) struct Output {
    path: PathBuf,
    part: File,
    journal: File,
    /// What is appended; the journal may lag behind.
    written: Written,
    noted: Instant,
}

impl Output {
    /// Begins an output, or goes on with one begun under the same settings.
    pub(super) fn open(path: &Path, settings: &Settings) -> Result<Output> {
        ensure!(!path.exists(), "{} is already there", path.display());
        let mut part = open_to_go_on(&with_suffix(path, "part"))?;
        let mut journal = open_to_go_on(&with_suffix(path, "journal"))?;
        if journal.try_lock().is_err() {
            bail!("another run is writing {}", path.display());
        }
        let length = part.metadata()?.len();
        let (written, journal_end) = match read_journal(&journal, length)
            .with_context(|| format!("{}", with_suffix(path, "journal").display()))?
        {
            Some(found) if found.settings == *settings => (found.written, found.end),
            Some(found) => bail!(
                "{} was begun with other settings: {:?}, not {settings:?}; use the same, or delete it and its journal",
                with_suffix(path, "part").display(),
                found.settings
            ),
            None => (Written::default(), 0),
        };
        // What a killed run wrote without noting it down is written again.
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
    pub(super) fn written(&self) -> Written {
        self.written
    }

    /// Appends the labels of the next chunk, a whole compressed frame, and notes it down now and then.
    pub(super) fn append(&mut self, frame: &[u8], now: Written) -> Result<()> {
        self.part.write_all(frame).with_context(|| self.unwritable())?;
        self.written = Written { bytes: self.written.bytes + frame.len() as u64, ..now };
        if self.noted.elapsed() >= NOTE_EVERY { self.note() } else { Ok(()) }
    }

    /// Notes down what is appended, once it is safe on the disk.
    pub(super) fn note(&mut self) -> Result<()> {
        self.noted = Instant::now();
        self.part.sync_data().with_context(|| self.unwritable())?;
        write_entry(&mut self.journal, &Entry::Written(self.written)).with_context(|| self.unwritable())
    }

    fn unwritable(&self) -> String {
        format!("cannot write {}", with_suffix(&self.path, "part").display())
    }

    /// Where the labels are while the output is unfinished.
    pub(super) fn part(&self) -> PathBuf {
        with_suffix(&self.path, "part")
    }

    /// Removes what was written: it has become something else.
    pub(super) fn remove(self) -> Result<()> {
        for suffix in ["part", "journal"] {
            let path = with_suffix(&self.path, suffix);
            std::fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
        Ok(())
    }

    /// Gives the output its name: everything is written.
    pub(super) fn finish(self) -> Result<()> {
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

fn write_entry(journal: &mut File, entry: &Entry) -> Result<()> {
    let mut line = serde_json::to_vec(entry)?;
    line.push(b'\n');
    Ok(journal.write_all(&line)?)
}

struct Found {
    settings: Settings,
    written: Written,
    /// Where the last entry that counts ends.
    end: u64,
}

/// The last entry of which the output, `length` bytes long, has everything. A last line that was cut off does not
/// count; a journal without its first line says nothing.
fn read_journal(journal: &File, length: u64) -> Result<Option<Found>> {
    let mut lines = BufReader::new(journal);
    let mut line = Vec::new();
    let mut found: Option<Found> = None;
    let mut end = 0;
    loop {
        line.clear();
        let read = lines.read_until(b'\n', &mut line)? as u64;
        if read == 0 || line.last() != Some(&b'\n') {
            return Ok(found);
        }
        end += read;
        let entry = serde_json::from_slice(&line).context("not a journal of data label")?;
        match (entry, &mut found) {
            (Entry::TabiaLabelJournal { version: VERSION, settings }, None) => {
                found = Some(Found { settings, written: Written::default(), end });
            }
            (Entry::TabiaLabelJournal { version, .. }, None) => bail!("version {version} is not known"),
            (Entry::Written(written), Some(found)) if written.bytes <= length => {
                (found.written, found.end) = (written, end);
            }
            (Entry::Written(_), Some(_)) => {}
            _ => bail!("not a journal of data label"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        let options = vec![("Hash".to_owned(), "16".to_owned())];
        let (engine, go) = ("Fake".to_owned(), "go depth 1".to_owned());
        Settings { engine, options, go, lines: 1, chunk: 2, form: Form::Rows }
    }

    fn chunk(chunks: u64) -> Written {
        Written { chunks, positions: 2 * chunks, rows: 2 * chunks, input: chunks, ..Written::default() }
    }

    #[test]
    fn what_was_not_noted_down_is_written_again() {
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
    fn an_output_that_lost_its_end_goes_on_from_what_is_left() {
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
    fn other_settings_and_a_second_writer_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows");
        let output = Output::open(&path, &settings()).unwrap();
        let refused = Output::open(&path, &settings()).err().unwrap();
        assert!(refused.to_string().starts_with("another run is writing"), "{refused}");
        drop(output);
        let other = Settings { lines: 2, ..settings() };
        let refused = Output::open(&path, &other).err().unwrap();
        assert!(refused.to_string().contains("other settings"), "{refused}");
    }
}
