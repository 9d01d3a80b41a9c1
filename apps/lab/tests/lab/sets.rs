//! Small sets for tests.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::ops::Range;
use std::path::Path;

use shakmaty::{Chess, Position, san::SanPlus};
use tabia_data::{
    Chunks, GameRecord, GameRules, RecordKey, RecordKind, SetPlan, SetWriter, ShardOptions, SourceKind,
};

/// Writes the records of a PGN, EPD or JSONL text as a set of `shards` shards.
pub(crate) fn write_set(dir: &Path, kind: SourceKind, text: &str, shards: u32) {
    let mut records: Vec<Vec<u8>> = Vec::new();
    for chunk in Chunks::new("test", kind, Cursor::new(text.as_bytes().to_vec())) {
        let parsed = chunk.read(&GameRules::default());
        assert!(parsed.faults.is_empty(), "{}", parsed.faults);
        records.extend(parsed.games.iter().map(|game| game.to_bytes().expect("legal moves")));
        records.extend(parsed.evaluations.iter().map(|row| row.to_bytes().expect("a legal move")));
    }
    let kind = match kind {
        SourceKind::EvaluationsJsonl => RecordKind::Evaluations,
        _ => RecordKind::Games,
    };
    write_records(dir, kind, &records, shards);
}

/// Writes records, given as bytes in any order, as a set.
pub(crate) fn write_records(dir: &Path, kind: RecordKind, records: &[Vec<u8>], shards: u32) {
    let mut by_key: BTreeMap<RecordKey, Vec<&[u8]>> = BTreeMap::new();
    for record in records {
        by_key.entry(kind.key(record).expect("a record")).or_default().push(record);
    }
    let packing = ShardOptions { block_records: 8, level: 3 };
    let plan = SetPlan { kind, shards, packing, fingerprint: "test".into() };
    let mut writer = SetWriter::create(dir, plan).expect("a writable folder");
    for (key, parts) in by_key {
        writer.push(key, &kind.unite(parts).expect("records")).expect("a writable folder");
    }
    writer.finish(Vec::new(), BTreeMap::new()).expect("a writable folder");
}

/// A PGN of `count` different games of `plies` plies, with ratings, and with clocks and evaluations in some.
pub(crate) fn games(count: usize, plies: usize) -> String {
    games_numbered(0..count, plies)
}

/// Like [`games`]; equal numbers give equal games.
pub(crate) fn games_numbered(numbers: Range<usize>, plies: usize) -> String {
    let mut text = String::new();
    for number in numbers {
        let mut rng = fastrand::Rng::with_seed(number as u64);
        let (white, result) = (1200 + 10 * number, ["1-0", "0-1", "1/2-1/2"][number % 3]);
        text += &format!(
            "[Event \"Rated Blitz game\"]\n[White \"w{number}\"]\n[Black \"b{}\"]\n[Result \"{result}\"]\n\
             [WhiteElo \"{white}\"]\n[BlackElo \"1500\"]\n[TimeControl \"300+2\"]\n\n",
            number % 4
        );
        let mut position = Chess::default();
        for ply in 0..plies {
            let Some(played) = rng.choice(position.legal_moves()) else { break };
            text += &format!("{} ", SanPlus::from_move_and_play_unchecked(&mut position, played));
            if number % 2 == 0 {
                text +=
                    &format!("{{[%eval 0.{:02}] [%clk 0:0{}:00]}} ", ply % 100, 5 - 5 * ply / plies.max(1));
            }
        }
        text += &format!("{result}\n\n");
    }
    text
}

/// The records of a PGN.
pub(crate) fn records(text: &str) -> Vec<GameRecord> {
    let chunks = Chunks::new("test", SourceKind::Pgn, Cursor::new(text.as_bytes().to_vec()));
    chunks.flat_map(|chunk| chunk.read(&GameRules::default()).games).collect()
}
