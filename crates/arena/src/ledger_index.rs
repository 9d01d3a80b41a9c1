#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{fs, path::Path};

use crate::{
    GameRecord, LedgerError, LedgerProblem, Report, ResultRow, Settings, Standings,
    ledger::{parse_entry, parse_head},
};

/// Tables of more players take longer than anybody looks.
const MOST_PLAYERS: usize = 200;

/// What the index of a [`Ledger`](crate::Ledger) says, for those who only look: the file is not locked, not changed, and may be
/// growing meanwhile.
#[derive(Clone, Debug, PartialEq)]
pub struct LedgerIndex {
    /// What the games depend on.
    pub settings: Settings,
    /// The games so far, in the order they were finished.
    pub records: Vec<GameRecord>,
}

impl LedgerIndex {
    /// Reads `NAME.pgn.jsonl`. A last line that is cut off or makes no sense is still being written and does not count.
    ///
    /// # Errors
    /// When the file cannot be read, is no index of this version, or is damaged.
    pub fn read(path: &Path) -> Result<LedgerIndex, LedgerError> {
        fs::read(path)
            .map_err(LedgerProblem::from)
            .and_then(|bytes| LedgerIndex::from_bytes(&bytes))
            .map_err(|problem| LedgerError { file: path.display().to_string(), problem })
    }

    /// Reads an index from its bytes.
    ///
    /// # Errors
    /// When it is no index of this version, or is damaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<LedgerIndex, LedgerProblem> {
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let lines: Vec<&[u8]> =
            bytes.get(..whole).unwrap_or_default().split_inclusive(|byte| *byte == b'\n').collect();
        let (head, entries) = lines.split_first().ok_or(LedgerProblem::NotAnIndex)?;
        let settings = parse_head(head)?;
        let players = settings.players().len();
        if players > MOST_PLAYERS {
            let what = format!("{players} players; tables are made for {MOST_PLAYERS}");
            return Err(LedgerProblem::Damaged { line: 1, what });
        }
        let mut records = Vec::with_capacity(entries.len());
        for (place, line) in entries.iter().enumerate() {
            let damaged = |what: String| LedgerProblem::Damaged { line: place + 2, what };
            let record = match parse_entry(line) {
                Ok(record) => record,
                Err(_) if place + 1 == entries.len() => break,
                Err(error) => return Err(damaged(error.to_string())),
            };
            if record.white == record.black || record.white.0.max(record.black.0) >= players {
                return Err(damaged(format!("a game of players that are not among the {players}")));
            }
            records.push(record);
        }
        Ok(LedgerIndex { settings, records })
    }

    /// The tables of the games so far.
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
    fn an_index_is_read_while_it_grows() {
        let whole = LedgerIndex::from_bytes(GOLDEN).unwrap();
        assert_eq!(whole.settings.players(), ["first", "second"]);
        assert_eq!(whole.report().players[0].games.games(), whole.records.len() as u64);
        // Cut anywhere after the first line, the games whose lines are complete count.
        let head = GOLDEN.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        for end in head..GOLDEN.len() {
            let lines = GOLDEN[head..end].iter().filter(|byte| **byte == b'\n').count();
            assert_eq!(LedgerIndex::from_bytes(&GOLDEN[..end]).unwrap().records, whole.records[..lines]);
        }
        assert!(LedgerIndex::from_bytes(&GOLDEN[..head - 1]).is_err());
    }

    #[test]
    fn a_game_of_strangers_is_damage() {
        let text = String::from_utf8(GOLDEN.to_vec()).unwrap();
        let stranger = text.replacen("\"black\":1", "\"black\":7", 1);
        let error = LedgerIndex::from_bytes(stranger.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("line 2: a game of players that are not among the 2"), "{error}");
    }
    #[test]
    fn the_inputs_of_fuzzing_are_read() {
        for seed in [
            &include_bytes!("../../../fuzz/seeds/ledger/complete")[..],
            include_bytes!("../../../fuzz/seeds/ledger/cut"),
        ] {
            assert!(!LedgerIndex::from_bytes(seed).unwrap().records.is_empty());
        }
    }
}
