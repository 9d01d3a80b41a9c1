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

/// Finished games of a run on disk: a PGN file and an index with one JSON line per game.
///
/// [`append`](Self::append) syncs the game to disk before it returns, first the PGN, then the index line. A run killed
/// at any time loses only games that were not appended; truncated games and lines are removed when the ledger is
/// reopened. The format is documented in `docs/formats/ledger.md`.
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

/// Error of a ledger.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {kind}")]
pub struct LedgerError {
    /// File.
    pub file: String,
    /// Kind of error.
    pub kind: LedgerErrorKind,
}

/// Kind of [`LedgerError`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerErrorKind {
    /// I/O error.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Locked by another run.
    #[error("locked by another run")]
    Locked,
    /// A PGN file without an index, which would be overwritten.
    #[error("PGN file without an index (expected an empty or new file)")]
    UnindexedGames,
    /// Not an index.
    #[error("not the index of a match")]
    NotAnIndex,
    /// Unsupported version.
    #[error("unsupported version {0} (expected version {VERSION})")]
    Version(u32),
    /// The ledger has games with other settings.
    #[error("games with other settings ({}); restore the settings or use another file", .0.join("; "))]
    SettingsMismatch(Vec<String>),
    /// Corrupt line.
    #[error("line {line}: {reason}")]
    Corrupt {
        /// Line number, from 1.
        line: usize,
        /// Reason.
        reason: String,
    },
    /// A game was appended twice.
    #[error("duplicate game {0}")]
    DuplicateGame(u32),
}

impl LedgerErrorKind {
    pub(crate) fn in_file(self, path: &Path) -> LedgerError {
        LedgerError { file: path.display().to_string(), kind: self }
    }
}

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
    /// Hash of the settings.
    settings: String,
    /// Byte offset in the PGN file.
    pgn_at: u64,
    pgn_bytes: u64,
    pgn_sha256: String,
    game: GameRecord,
}

impl Ledger {
    /// Creates a ledger, or continues one with the same settings. The index is next to the PGN file, with `.jsonl`
    /// appended to its name.
    ///
    /// # Errors
    /// If the files cannot be used, are locked, or have games of other settings.
    pub fn open(pgn_path: &Path, settings: &Settings) -> Result<Ledger, LedgerError> {
        let mut index_path = OsString::from(pgn_path);
        index_path.push(".jsonl");
        let index_path = PathBuf::from(index_path);
        let index = open_for_update(&index_path).map_err(|kind| kind.in_file(&index_path))?;
        match index.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(LedgerErrorKind::Locked.in_file(&index_path)),
            Err(TryLockError::Error(error)) => return Err(LedgerErrorKind::Io(error).in_file(&index_path)),
        }
        let pgn = open_for_update(pgn_path).map_err(|kind| kind.in_file(pgn_path))?;
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
        let is_new = ledger.restore(settings).map_err(|kind| kind.in_file(&index_path))?;
        if is_new {
            ledger.create(settings)?;
        }
        Ok(ledger)
    }

    /// Games in order of completion.
    pub fn records(&self) -> &[GameRecord] {
        &self.records
    }

    /// Writes a finished game to disk.
    ///
    /// # Errors
    /// If the files cannot be written or the game is a duplicate.
    pub fn append(&mut self, record: GameRecord, game: &Game) -> Result<(), LedgerError> {
        if !self.numbers.insert(record.game) {
            return Err(LedgerErrorKind::DuplicateGame(record.game).in_file(&self.index_path));
        }
        let mut text = Vec::new();
        let write = write_game(game, &mut text)
            .and_then(|()| self.pgn.write_all(&text))
            .and_then(|()| self.pgn.sync_data());
        write.map_err(|error| LedgerErrorKind::Io(error).in_file(&self.pgn_path))?;
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
        write.map_err(|error| LedgerErrorKind::Io(error).in_file(&self.index_path))?;
        self.records.push(entry.game);
        Ok(())
    }

    /// Reads an existing ledger and removes truncated games; returns whether it must be created.
    fn restore(&mut self, settings: &Settings) -> Result<bool, LedgerErrorKind> {
        let (mut index, mut pgn) = (Vec::new(), Vec::new());
        self.index.seek(SeekFrom::Start(0))?;
        self.index.read_to_end(&mut index)?;
        self.pgn.seek(SeekFrom::Start(0))?;
        self.pgn.read_to_end(&mut pgn)?;
        let lines = complete_lines(&index);
        let Some((head, entries)) = lines.split_first() else {
            let ours = index.is_empty()
                || b"{\"ledger\":\"tabia arena\"".starts_with(index.get(..22).unwrap_or(&index));
            return if pgn.is_empty() && ours {
                Ok(true)
            } else {
                Err(if ours { LedgerErrorKind::UnindexedGames } else { LedgerErrorKind::NotAnIndex })
            };
        };
        check_head(head, settings)?;
        let mut index_end = head.len();
        for (place, line) in entries.iter().enumerate() {
            let number = place + 2;
            let corrupt = |reason: &str| LedgerErrorKind::Corrupt { line: number, reason: reason.to_owned() };
            let last = place + 1 == entries.len();
            let entry: Entry = match serde_json::from_slice(line) {
                Ok(entry) => entry,
                // After a crash, the disk may have the end of a line without the rest.
                Err(_) if last => break,
                Err(error) => return Err(corrupt(&error.to_string())),
            };
            if entry.settings != self.settings {
                return Err(corrupt("game with other settings"));
            }
            let end = entry.pgn_at.saturating_add(entry.pgn_bytes);
            if entry.pgn_at != self.pgn_end {
                return Err(corrupt("missing games before this one"));
            }
            let text = usize::try_from(entry.pgn_at)
                .ok()
                .zip(usize::try_from(end).ok())
                .and_then(|(from, to)| pgn.get(from..to));
            let Some(text) = text else {
                if last {
                    break;
                }
                return Err(corrupt("PGN file ends before this game"));
            };
            if hex(&Sha256::digest(text)) != entry.pgn_sha256 {
                if last {
                    break;
                }
                return Err(corrupt("PGN of this game was modified"));
            }
            if !self.numbers.insert(entry.game.game) {
                return Err(LedgerErrorKind::DuplicateGame(entry.game.game));
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

    fn create(&mut self, settings: &Settings) -> Result<(), LedgerError> {
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
        write.map_err(|error| LedgerErrorKind::Io(error).in_file(&self.index_path))?;
        let write = self.pgn.sync_all().and_then(|()| sync_folder(&self.pgn_path));
        write.map_err(|error| LedgerErrorKind::Io(error).in_file(&self.pgn_path))
    }
}

fn open_for_update(path: &Path) -> Result<File, LedgerErrorKind> {
    Ok(OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?)
}

/// Lines with a line ending: others are still being written.
pub(crate) fn complete_lines(index: &[u8]) -> Vec<&[u8]> {
    let end = index.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    index.get(..end).unwrap_or_default().split_inclusive(|byte| *byte == b'\n').collect()
}

fn line_of(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}

fn check_head(line: &[u8], settings: &Settings) -> Result<(), LedgerErrorKind> {
    let differences = parse_head(line)?.differences(settings);
    if differences.is_empty() { Ok(()) } else { Err(LedgerErrorKind::SettingsMismatch(differences)) }
}

/// Settings from the first line of an index.
pub(crate) fn parse_head(line: &[u8]) -> Result<Settings, LedgerErrorKind> {
    let value: serde_json::Value = serde_json::from_slice(line).map_err(|_| LedgerErrorKind::NotAnIndex)?;
    if value.get("ledger").and_then(serde_json::Value::as_str) != Some(MAGIC) {
        return Err(LedgerErrorKind::NotAnIndex);
    }
    match value.get("version").and_then(serde_json::Value::as_u64) {
        Some(version) if version == u64::from(VERSION) => {}
        version => {
            let version = version.and_then(|version| u32::try_from(version).ok()).unwrap_or(u32::MAX);
            return Err(LedgerErrorKind::Version(version));
        }
    }
    let head: Head = serde_json::from_value(value)
        .map_err(|error| LedgerErrorKind::Corrupt { line: 1, reason: error.to_string() })?;
    Ok(head.settings)
}

/// Game of any other line of an index.
pub(crate) fn parse_entry(line: &[u8]) -> serde_json::Result<GameRecord> {
    Ok(serde_json::from_slice::<Entry>(line)?.game)
}

/// Syncs the directory entries of new files.
fn sync_folder(file: &Path) -> io::Result<()> {
    let folder = match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}
