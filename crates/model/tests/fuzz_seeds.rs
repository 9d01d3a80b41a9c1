//! Every committed fuzz input goes through its reader and comes back: what fuzzing found once stays fixed.
#![cfg(all(feature = "fuzzing", not(target_arch = "wasm32")))]

use std::path::Path;

use tabia_model::fuzz::READERS;

#[test]
fn every_seed_is_read_without_a_panic() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    let mut panicked = Vec::new();
    for (name, read) in READERS {
        let folder = seeds.join(name);
        let mut count = 0;
        for entry in std::fs::read_dir(&folder).expect("every reader has a folder of seeds") {
            let file = entry.expect("a readable entry").path();
            let bytes = std::fs::read(&file).expect("a readable seed");
            if std::panic::catch_unwind(|| read(&bytes)).is_err() {
                panicked.push(file);
            }
            count += 1;
        }
        assert!(count > 0, "{} holds no seeds", folder.display());
    }
    assert!(panicked.is_empty(), "readers panicked on {panicked:?}");
}
