//! Every committed fuzz input goes through its reader and comes back: what fuzzing found once stays fixed.
#![cfg(all(feature = "fuzzing", not(target_arch = "wasm32")))]

use std::path::Path;

use tabia_model::fuzz::READERS;

#[test]
fn every_seed_is_read_without_a_panic() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    for (name, read) in READERS {
        let mut count = 0;
        let folder = seeds.join(name);
        for entry in std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let file = entry.expect("a readable entry").path();
            println!("{}", file.display()); // shown when the reader panics
            read(&std::fs::read(&file).expect("a readable seed"));
            count += 1;
        }
        assert!(count > 0, "{} holds no seeds", folder.display());
    }
}
