//! Whatever is read as a puzzle, from EPD or from the Lichess table, is legal move by move.
#![no_main]

use shakmaty::Position;
use tabia_data::{BrokenGames, Chunks, GameRules, SourceKind};
use tabia_game::Puzzle;

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
    // The page reads lines of either form.
    for line in String::from_utf8_lossy(bytes).lines() {
        let Ok(Some(puzzle)) = Puzzle::parse(line) else { continue };
        let mut position = puzzle.start;
        for m in puzzle.moves {
            assert!(position.is_legal(m));
            position.play_unchecked(m);
        }
    }
});
