//! Parses every committed fuzz input, and mutations of it.

use std::io::{Cursor, Read};

use shakmaty::Position;
use tabia_data::{BrokenGames, Chunks, GameRules, NpySet, ParsedChunk, SourceKind};
use tabia_requires::fuzz_seeds as seeds;

/// The seed, and inputs made from it by changing, removing and doubling bytes.
fn relatives(seed: &[u8], count: usize) -> impl Iterator<Item = Vec<u8>> {
    let mut random = fastrand::Rng::with_seed(seed.len() as u64);
    let changed = std::iter::repeat_with(move || {
        let mut bytes = seed.to_vec();
        for _ in 0..random.usize(1..8) {
            if bytes.is_empty() {
                break;
            }
            let at = random.usize(..bytes.len());
            match random.u8(..4) {
                0 => bytes[at] = random.u8(..),
                1 => bytes[at] ^= 1 << random.u8(..8),
                2 => drop(bytes.drain(at..(at + random.usize(1..9)).min(bytes.len()))),
                _ => {
                    let part = bytes[at..(at + random.usize(1..40)).min(bytes.len())].to_vec();
                    let to = random.usize(..bytes.len());
                    bytes.splice(to..to, part);
                }
            }
        }
        bytes
    });
    std::iter::once(seed.to_vec()).chain(changed.take(count))
}

fn parsed(kind: SourceKind, bytes: Vec<u8>) -> Option<ParsedChunk> {
    let rules = GameRules { broken: BrokenGames::KeepPrefix { plies: 1 }, ..GameRules::default() };
    Chunks::new("seed", kind, Cursor::new(bytes)).next().map(|chunk| chunk.read(&rules))
}

#[test]
fn evaluations_have_legal_moves() {
    let mut rows = 0;
    for seed in seeds("evaluations") {
        for bytes in relatives(&seed, 150) {
            for row in parsed(SourceKind::EvaluationsJsonl, bytes).unwrap_or_default().evaluations {
                assert!(row.position.is_legal(row.line.first));
                rows += 1;
            }
        }
    }
    assert!(rows > 10_000, "{rows}");
}

#[test]
fn puzzles_have_legal_moves() {
    let mut plies = 0;
    for seed in seeds("puzzles") {
        for bytes in relatives(&seed, 400) {
            for kind in [SourceKind::Epd, SourceKind::PuzzleCsv] {
                for game in parsed(kind, bytes.clone()).unwrap_or_default().games {
                    let mut position = game.start;
                    for ply in game.plies {
                        assert!(position.is_legal(ply.played));
                        position.play_unchecked(ply.played);
                        plies += 1;
                    }
                }
            }
        }
    }
    assert!(plies > 1_000, "{plies}");
}

#[test]
fn sets_have_legal_moves() {
    let mut records = 0;
    for seed in seeds("npy") {
        for bytes in relatives(&seed, 150) {
            let Ok(set) = NpySet::from_parts("seed", parts(&bytes)) else { continue };
            for record in set {
                let mut lines = record.sessions.iter().flat_map(|session| &session.lines);
                assert!(lines.all(|line| record.position.is_legal(line.first)));
                records += 1;
            }
        }
    }
    assert!(records > 100, "{records}");
}

/// The five files of a set as the fuzz target `npy` takes them: behind each other, four with their lengths before.
fn parts(bytes: &[u8]) -> [Box<dyn Read + Send>; 5] {
    let mut rest = bytes;
    std::array::from_fn(|index| {
        let part = match (index, rest.split_first_chunk()) {
            (0..4, Some((length, more))) => {
                let (part, after) = more.split_at(usize::from(u16::from_le_bytes(*length)).min(more.len()));
                rest = after;
                part
            }
            _ => rest,
        };
        Box::new(Cursor::new(part.to_vec())) as Box<dyn Read + Send>
    })
}
