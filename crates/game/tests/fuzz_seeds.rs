//! Every committed fuzz input goes through its reader and comes back: what fuzzing found once stays fixed.
#![cfg(not(target_arch = "wasm32"))]

use std::path::Path;

use tabia_game::{EpdRecord, PgnReader, read_game, write_game};

fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target);
    let entries = std::fs::read_dir(folder).expect("every reader has a folder of seeds");
    let seeds: Vec<_> = entries
        .map(|entry| std::fs::read(entry.expect("an entry").path()).expect("a readable seed"))
        .collect();
    assert!(!seeds.is_empty(), "no seeds for {target}");
    seeds
}

#[test]
fn every_pgn_seed_is_read_to_its_end() {
    for seed in seeds("pgn") {
        // Broken games are answers too; a seed that never ends or panics is what this would show.
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
fn every_epd_seed_gets_an_answer() {
    for seed in seeds("epd") {
        drop(EpdRecord::parse_all(&String::from_utf8_lossy(&seed)));
    }
}
