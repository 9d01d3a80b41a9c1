//! Reads every committed fuzz input.
#![cfg(not(target_arch = "wasm32"))]

use tabia_game::{EpdRecord, PgnReader, read_game, write_game};
use tabia_requires::fuzz_seeds as seeds;

#[test]
fn every_pgn_seed_is_read_to_its_end() {
    for seed in seeds("pgn") {
        // Errors are fine; hangs and panics are not.
        assert!(PgnReader::new(seed.as_slice()).count() <= seed.len());
        for game in PgnReader::new(seed.as_slice()).flatten() {
            let mut written = Vec::new();
            write_game(&game, &mut written).unwrap();
            let again = read_game(&written).expect("what was written is readable");
            assert_eq!(again.mainline().count(), game.mainline().count());
        }
    }
}

#[test]
fn epd_seeds_do_not_panic() {
    for seed in seeds("epd") {
        drop(EpdRecord::parse_all(&String::from_utf8_lossy(&seed)));
    }
}
