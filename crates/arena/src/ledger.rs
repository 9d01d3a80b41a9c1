#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tabia_game::{Game, write_game};

use crate::{GameRecord, Settings, hex};

/// The finished games of a run on disk: a PGN file, and an index of it with one line of JSON a game.
///
/// A game is on disk, and known to be, when [`append`](Self::append) returns: the PGN is written and synchronised first,
/// the line of the index after it. Killed at any moment, a run loses only games that were not appended; a line or a game
/// that was cut in the middle is removed when the ledger is opened again. The format is in `docs/formats/ledger.md`.
#[derive(Debug)]
pub struct Ledger {
    pgn: File,
    index: File,
    pgn_path: PathBuf,
    index_path: PathBuf,
    settings: String,
    pgn_end: u64,
    records: Vec<GameRecord>,
    numbers: BTreeSet<u32>,
}

/// Why a ledger cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {problem}")]
pub struct LedgerError {
    /// The file.
    pub file: String,
    /// What is wrong.
    #[source]
    pub problem: LedgerProblem,
}

/// What is wrong with a ledger.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerProblem {
    /// The file cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Another run writes to it.
    #[error("another run is writing to it")]
    InUse,
    /// A PGN file without an index, which a run would have to overwrite.
    #[error("there are games in it that belong to no run; name another file")]
    NotOurs,
    /// The first line is not a ledger's.
    #[error("it is not the index of a match")]
    NotAnIndex,
    /// A version this program does not know.
    #[error("it is of version {0}; this program reads version {VERSION}")]
    Version(u32),
    /// The games were played with other settings.
    #[error("it holds games with other settings ({}); use these settings again, or name another file", .0.join("; "))]
    OtherSettings(Vec<String>),
    /// A line in the middle makes no sense.
    #[error("line {line}: {what}")]
    Damaged {
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
    /// A game appended twice, or one of other settings.
    #[error("game {0} is there already")]
    PlayedTwice(u32),
}

/// What the first line says the file is.
const MAGIC: &str = "tabia arena";
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Head {
    ledger: String,
    version: u32,
    settings_hash: String,
    settings: Settings,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    /// The settings' hash.
    settings: String,
    /// Where the game's PGN begins, in bytes.
    pgn_at: u64,
    pgn_bytes: u64,
    pgn_sha256: String,
    game: GameRecord,
}

impl Ledger {
    /// Begins a ledger, or goes on with one of the same settings. The index lies beside the PGN file, with the ending
    /// `.jsonl` added to its name.
    ///
    /// # Errors
    /// When the files cannot be used, another run uses them, or they hold games of other settings or of no run.
    pub fn open(pgn_path: &Path, settings: &Settings) -> Result<Ledger, LedgerError> {
        let mut index_path = OsString::from(pgn_path);
        index_path.push(".jsonl");
        let index_path = PathBuf::from(index_path);
        let in_file = |path: &Path| {
            let file = path.display().to_string();
            move |problem| LedgerError { file, problem }
        };
        let index = open_for_update(&index_path).map_err(in_file(&index_path))?;
        match index.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(in_file(&index_path)(LedgerProblem::InUse)),
            Err(TryLockError::Error(error)) => return Err(in_file(&index_path)(error.into())),
        }
        let pgn = open_for_update(pgn_path).map_err(in_file(pgn_path))?;
        let mut ledger = Ledger {
            pgn,
            index,
            pgn_path: pgn_path.to_owned(),
            index_path: index_path.clone(),
            settings: settings.hash(),
            pgn_end: 0,
            records: Vec::new(),
            numbers: BTreeSet::new(),
        };
        let fresh = ledger.restore(settings).map_err(in_file(&index_path))?;
        if fresh {
            ledger.begin(settings).map_err(|(path, problem)| in_file(&path)(problem))?;
        }
        Ok(ledger)
    }

    /// The games so far, in the order they were finished.
    pub fn records(&self) -> &[GameRecord] {
        &self.records
    }

    /// Puts a finished game on disk.
    ///
    /// # Errors
    /// When the files cannot be written, or the game is there already.
    pub fn append(&mut self, record: GameRecord, game: &Game) -> Result<(), LedgerError> {
        let to = |path: &Path, problem| LedgerError { file: path.display().to_string(), problem };
        if !self.numbers.insert(record.game) {
            return Err(to(&self.index_path, LedgerProblem::PlayedTwice(record.game)));
        }
        let mut text = Vec::new();
        let write = write_game(game, &mut text)
            .and_then(|()| self.pgn.write_all(&text))
            .and_then(|()| self.pgn.sync_data());
        write.map_err(|error| to(&self.pgn_path, error.into()))?;
        let entry = Entry {
            settings: self.settings.clone(),
            pgn_at: self.pgn_end,
            pgn_bytes: text.len() as u64,
            pgn_sha256: hex(&Sha256::digest(&text)),
            game: record,
        };
        self.pgn_end += entry.pgn_bytes;
        let write = line_of(&entry)
            .and_then(|line| self.index.write_all(&line))
            .and_then(|()| self.index.sync_data());
        write.map_err(|error| to(&self.index_path, error.into()))?;
        self.records.push(entry.game);
        Ok(())
    }

    /// Reads what is there and cuts off what is torn; whether the ledger is still to be begun.
    fn restore(&mut self, settings: &Settings) -> Result<bool, LedgerProblem> {
        let (mut index, mut pgn) = (Vec::new(), Vec::new());
        self.index.seek(SeekFrom::Start(0))?;
        self.index.read_to_end(&mut index)?;
        self.pgn.seek(SeekFrom::Start(0))?;
        self.pgn.read_to_end(&mut pgn)?;
        // A line counts once its end is written.
        let whole = index.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let lines: Vec<&[u8]> =
            index.get(..whole).unwrap_or_default().split_inclusive(|byte| *byte == b'\n').collect();
        let Some((head, entries)) = lines.split_first() else {
            let ours = index.is_empty()
                || b"{\"ledger\":\"tabia arena\"".starts_with(index.get(..22).unwrap_or(&index));
            return if pgn.is_empty() && ours {
                Ok(true)
            } else {
                Err(if ours { LedgerProblem::NotOurs } else { LedgerProblem::NotAnIndex })
            };
        };
        check_head(head, settings)?;
        let mut index_end = head.len();
        for (place, line) in entries.iter().enumerate() {
            let number = place + 2;
            let damaged = |what: String| LedgerProblem::Damaged { line: number, what };
            let last = place + 1 == entries.len();
            let entry: Entry = match serde_json::from_slice(line) {
                Ok(entry) => entry,
                // A disk may keep a line's end and lose what was before it.
                Err(_) if last => break,
                Err(error) => return Err(damaged(error.to_string())),
            };
            if entry.settings != self.settings {
                return Err(damaged("a game with other settings".to_owned()));
            }
            let end = entry.pgn_at.saturating_add(entry.pgn_bytes);
            if entry.pgn_at != self.pgn_end {
                return Err(damaged("games are missing before this one".to_owned()));
            }
            let text = usize::try_from(entry.pgn_at)
                .ok()
                .zip(usize::try_from(end).ok())
                .and_then(|(from, to)| pgn.get(from..to));
            let Some(text) = text else {
                if last {
                    break;
                }
                return Err(damaged("the PGN file ends before this game".to_owned()));
            };
            if hex(&Sha256::digest(text)) != entry.pgn_sha256 {
                if last {
                    break;
                }
                return Err(damaged("the game in the PGN file is not the one that was written".to_owned()));
            }
            if !self.numbers.insert(entry.game.game) {
                return Err(LedgerProblem::PlayedTwice(entry.game.game));
            }
            index_end += line.len();
            self.pgn_end = end;
            self.records.push(entry.game);
        }
        self.index.set_len(index_end as u64)?;
        self.index.seek(SeekFrom::End(0))?;
        self.pgn.set_len(self.pgn_end)?;
        self.pgn.seek(SeekFrom::End(0))?;
        Ok(false)
    }

    fn begin(&mut self, settings: &Settings) -> Result<(), (PathBuf, LedgerProblem)> {
        let head = Head {
            ledger: MAGIC.to_owned(),
            version: VERSION,
            settings_hash: settings.hash(),
            settings: settings.clone(),
        };
        let write = self
            .index
            .set_len(0)
            .and_then(|()| self.index.seek(SeekFrom::Start(0)))
            .and_then(|_| line_of(&head))
            .and_then(|line| self.index.write_all(&line))
            .and_then(|()| self.index.sync_all());
        write.map_err(|error| (self.index_path.clone(), error.into()))?;
        let write = self.pgn.sync_all().and_then(|()| sync_folder(&self.pgn_path));
        write.map_err(|error| (self.pgn_path.clone(), error.into()))
    }
}

fn open_for_update(path: &Path) -> Result<File, LedgerProblem> {
    Ok(OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?)
}

fn line_of(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}

fn check_head(line: &[u8], settings: &Settings) -> Result<(), LedgerProblem> {
    let differences = parse_head(line)?.differences(settings);
    if differences.is_empty() { Ok(()) } else { Err(LedgerProblem::OtherSettings(differences)) }
}

/// The settings of an index, from its first line.
pub(crate) fn parse_head(line: &[u8]) -> Result<Settings, LedgerProblem> {
    let value: serde_json::Value = serde_json::from_slice(line).map_err(|_| LedgerProblem::NotAnIndex)?;
    if value.get("ledger").and_then(serde_json::Value::as_str) != Some(MAGIC) {
        return Err(LedgerProblem::NotAnIndex);
    }
    match value.get("version").and_then(serde_json::Value::as_u64) {
        Some(version) if version == u64::from(VERSION) => {}
        version => {
            let version = version.and_then(|version| u32::try_from(version).ok()).unwrap_or(u32::MAX);
            return Err(LedgerProblem::Version(version));
        }
    }
    let head: Head = serde_json::from_value(value)
        .map_err(|error| LedgerProblem::Damaged { line: 1, what: error.to_string() })?;
    Ok(head.settings)
}

/// The game of any other line of an index.
pub(crate) fn parse_entry(line: &[u8]) -> serde_json::Result<GameRecord> {
    Ok(serde_json::from_slice::<Entry>(line)?.game)
}

/// Makes sure that the names of new files are on disk too.
fn sync_folder(file: &Path) -> io::Result<()> {
    let folder = match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}
