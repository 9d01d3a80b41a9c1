#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{fs, path::Path};

use crate::{
    GameRecord, LedgerError, LedgerErrorKind, Report, ResultRow, Settings, Standings,
    ledger::{complete_lines, parse_entry, parse_head},
};

/// Maximum number of players, to bound the time for tables.
const MAX_PLAYERS: usize = 200;

/// Read-only view of the index of a [`Ledger`](crate::Ledger), which may be growing.
#[derive(Clone, Debug, PartialEq)]
pub struct LedgerIndex {
    /// Settings of the run.
    pub settings: Settings,
    /// Games in order of completion.
    pub records: Vec<GameRecord>,
}

impl LedgerIndex {
    /// Reads `NAME.pgn.jsonl`. An incomplete or invalid last line is still being written and is ignored.
    ///
    /// # Errors
    /// If the file cannot be read, is not an index of this version, or is corrupt.
    pub fn read(path: &Path) -> Result<LedgerIndex, LedgerError> {
        fs::read(path)
            .map_err(LedgerErrorKind::from)
            .and_then(|bytes| LedgerIndex::from_bytes(&bytes))
            .map_err(|kind| kind.in_file(path))
    }

    /// Parses an index.
    ///
    /// # Errors
    /// If it is not an index of this version or is corrupt.
    pub fn from_bytes(bytes: &[u8]) -> Result<LedgerIndex, LedgerErrorKind> {
        let lines = complete_lines(bytes);
        let (head, entries) = lines.split_first().ok_or(LedgerErrorKind::NotAnIndex)?;
        let settings = parse_head(head)?;
        let players = settings.players().len();
        if players > MAX_PLAYERS {
            let reason = format!("{players} players (maximum {MAX_PLAYERS})");
            return Err(LedgerErrorKind::Corrupt { line: 1, reason });
        }
        let mut records = Vec::with_capacity(entries.len());
        for (place, line) in entries.iter().enumerate() {
            let corrupt = |reason: String| LedgerErrorKind::Corrupt { line: place + 2, reason };
            let record = match parse_entry(line) {
                Ok(record) => record,
                Err(_) if place + 1 == entries.len() => break,
                Err(error) => return Err(corrupt(error.to_string())),
            };
            if record.white == record.black || record.white.0.max(record.black.0) >= players {
                return Err(corrupt(format!("invalid players (expected two of {players})")));
            }
            records.push(record);
        }
        Ok(LedgerIndex { settings, records })
    }

    /// Tables of the games so far.
    pub fn report(&self) -> Report {
        let rows = self.records.iter().map(ResultRow::from);
        Report::of_records(&Standings::of(self.settings.players(), rows), &self.records)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOLDEN: &[u8] = include_bytes!("../../../fixtures/arena/ledger.pgn.jsonl");

    #[test]
    fn growing_index_is_read() {
        let whole = LedgerIndex::from_bytes(GOLDEN).unwrap();
        assert_eq!(whole.settings.players(), ["first", "second"]);
        assert_eq!(whole.report().players[0].games.games(), whole.records.len() as u64);
        // Truncated anywhere after the first line, games with complete lines are read.
        let head = GOLDEN.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        for end in head..GOLDEN.len() {
            let lines = GOLDEN[head..end].iter().filter(|byte| **byte == b'\n').count();
            assert_eq!(LedgerIndex::from_bytes(&GOLDEN[..end]).unwrap().records, whole.records[..lines]);
        }
        assert!(LedgerIndex::from_bytes(&GOLDEN[..head - 1]).is_err());
    }

    #[test]
    fn unknown_players_are_an_error() {
        let text = String::from_utf8(GOLDEN.to_vec()).unwrap();
        let stranger = text.replacen("\"black\":1", "\"black\":7", 1);
        let error = LedgerIndex::from_bytes(stranger.as_bytes()).unwrap_err();
        assert!(matches!(error, LedgerErrorKind::Corrupt { line: 2, .. }), "{error}");
    }

    #[test]
    fn fuzz_seeds_are_read() {
        for seed in [
            &include_bytes!("../../../fuzz/seeds/ledger/complete")[..],
            include_bytes!("../../../fuzz/seeds/ledger/cut"),
        ] {
            assert!(!LedgerIndex::from_bytes(seed).unwrap().records.is_empty());
        }
    }
}
