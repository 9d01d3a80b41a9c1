#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{
    cmp::Reverse,
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

/// Challengers ranked by level passed, then by fewest parameters, then by points.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Leaderboard {
    leaderboard: String,
    version: u32,
    entries: Vec<LeaderboardEntry>,
}

/// Best result of a challenger.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeaderboardEntry {
    /// Identity of the challenger: a hash of the model file.
    pub id: String,
    /// Display name.
    pub name: String,
    /// Rules of the challenge. Entries of before there were several say `tabia`.
    #[serde(default = "earlier_rules")]
    pub rules: String,
    /// Highest level passed together with all levels below it; 0 for none.
    pub level: u32,
    /// Number of parameters.
    pub parameters: u64,
    /// Points on all levels played.
    pub points: f64,
    /// Games on all levels played.
    pub games: u64,
    /// Date such as `2026.01.31`.
    pub date: String,
}

/// Error of a leaderboard file.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {kind}")]
pub struct LeaderboardError {
    /// File.
    pub file: String,
    /// Kind of error.
    pub kind: LeaderboardErrorKind,
}

/// Kind of [`LeaderboardError`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LeaderboardErrorKind {
    /// I/O error.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Invalid JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// Unsupported version.
    #[error("unsupported version {0} (expected version {VERSION})")]
    Version(u32),
    /// Not a leaderboard.
    #[error("not a leaderboard")]
    NotALeaderboard,
    /// Results by other rules.
    #[error(
        "results by the rules {board:?}, which do not compare with those by {entry:?} (expected another file)"
    )]
    OtherRules {
        /// Rules of the results in the file.
        board: String,
        /// Rules of the new result.
        entry: String,
    },
}

const MAGIC: &str = "tabia challenge";
const VERSION: u32 = 1;

fn earlier_rules() -> String {
    "tabia".to_owned()
}

impl Leaderboard {
    /// Reads a leaderboard; a missing file is an empty one.
    ///
    /// # Errors
    /// If the file cannot be read or is not a leaderboard.
    pub fn read(path: &Path) -> Result<Leaderboard, LeaderboardError> {
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Leaderboard::empty()),
            Err(error) => return Err(in_file(path, error)),
        };
        let board: Leaderboard = serde_json::from_slice(&bytes).map_err(|error| in_file(path, error))?;
        match (board.leaderboard.as_str(), board.version) {
            (MAGIC, VERSION) => Ok(board),
            (MAGIC, version) => Err(in_file(path, LeaderboardErrorKind::Version(version))),
            _ => Err(in_file(path, LeaderboardErrorKind::NotALeaderboard)),
        }
    }

    /// Adds a result to the file and returns the leaderboard. A challenger (`id`) has one entry, for the highest level it
    /// reached; at the same level the latest one. The file is replaced atomically.
    ///
    /// # Errors
    /// If the file cannot be read or written, is not a leaderboard, or is one of other rules.
    pub fn record(path: &Path, entry: LeaderboardEntry) -> Result<Leaderboard, LeaderboardError> {
        let beside = |ending: &str| {
            let mut name = OsString::from(path);
            name.push(ending);
            PathBuf::from(name)
        };
        let lock_path = beside(".lock");
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(&lock_path);
        let lock = lock.map_err(|error| in_file(&lock_path, error))?;
        lock.lock().map_err(|error| in_file(&lock_path, error))?;
        let mut board = Leaderboard::read(path)?;
        if let Some(other) = board.entries.iter().find(|known| known.rules != entry.rules) {
            let kind = LeaderboardErrorKind::OtherRules { board: other.rules.clone(), entry: entry.rules };
            return Err(in_file(path, kind));
        }
        board.insert(entry);
        let mut text = serde_json::to_vec_pretty(&board).map_err(|error| in_file(path, error))?;
        text.push(b'\n');
        let new = beside(".new");
        let write = File::create(&new)
            .and_then(|mut file| file.write_all(&text).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&new, path));
        write.map_err(|error| in_file(path, error))?;
        Ok(board)
    }

    /// Entries, best first.
    pub fn entries(&self) -> &[LeaderboardEntry] {
        &self.entries
    }

    fn empty() -> Leaderboard {
        Leaderboard { leaderboard: MAGIC.to_owned(), version: VERSION, entries: Vec::new() }
    }

    fn insert(&mut self, entry: LeaderboardEntry) {
        if self.entries.iter().any(|known| known.id == entry.id && known.level > entry.level) {
            return;
        }
        self.entries.retain(|known| known.id != entry.id);
        self.entries.push(entry);
        self.entries.sort_by(|a, b| {
            let rank = |e: &LeaderboardEntry| (Reverse(e.level), e.parameters);
            rank(a).cmp(&rank(b)).then(b.points.total_cmp(&a.points)).then_with(|| a.name.cmp(&b.name))
        });
    }
}

fn in_file(path: &Path, kind: impl Into<LeaderboardErrorKind>) -> LeaderboardError {
    LeaderboardError { file: path.display().to_string(), kind: kind.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: &str, level: u32, parameters: u64, points: f64) -> LeaderboardEntry {
        LeaderboardEntry {
            id: id.into(),
            name: format!("net {id}"),
            rules: "original".into(),
            level,
            parameters,
            points,
            games: 50,
            date: String::new(),
        }
    }

    #[test]
    fn rank_is_by_level_then_fewest_parameters() {
        let mut board = Leaderboard::empty();
        for e in [
            entry("a", 1, 100, 40.0),
            entry("b", 3, 900, 99.0),
            entry("c", 3, 200, 80.0),
            entry("d", 3, 200, 81.0),
            entry("e", 0, 1, 3.5),
        ] {
            board.insert(e);
        }
        board.insert(entry("a", 4, 100, 120.0));
        let ids: Vec<&str> = board.entries().iter().map(|entry| entry.id.as_str()).collect();
        assert_eq!(ids, ["a", "d", "c", "b", "e"]);
        board.insert(entry("a", 1, 100, 44.0));
        assert_eq!(board.entries()[0].level, 4, "a worse result is ignored");
    }
}
