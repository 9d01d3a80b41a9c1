//! Whatever is read as a puzzle, from EPD or from the Lichess table, is legal move by move.
#![no_main]

use shakmaty::Position;
use tabia_data::{BrokenGames, Chunks, GameRules, SourceKind};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let rules = GameRules { broken: BrokenGames::KeepPrefix { plies: 1 }, ..GameRules::default() };
    for kind in [SourceKind::Epd, SourceKind::PuzzleCsv] {
        for chunk in Chunks::new("fuzz", kind, std::io::Cursor::new(bytes.to_vec())) {
            for game in chunk.read(&rules).games {
                let mut position = game.start;
                for ply in game.plies {
                    assert!(position.is_legal(ply.played));
                    position.play_unchecked(ply.played);
                }
            }
        }
    }
});
