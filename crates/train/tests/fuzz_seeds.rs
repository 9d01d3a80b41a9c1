//! Every committed fuzz input goes through its reader and comes back: what fuzzing found once stays fixed.
#![cfg(feature = "fuzzing")]

use std::path::Path;

#[test]
fn every_seed_of_a_checkpoint_is_read_without_a_panic() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/checkpoint");
    let mut count = 0;
    for entry in std::fs::read_dir(&folder).expect("the folder of seeds") {
        let bytes = std::fs::read(entry.expect("a readable entry").path()).expect("a readable seed");
        tabia_train::fuzz::checkpoint(&bytes);
        count += 1;
    }
    assert!(count > 0, "{} holds no seeds", folder.display());
}
