//! Every committed fuzz input goes through its reader and comes back: what fuzzing found once stays fixed.
#![cfg(feature = "fuzzing")]

use std::path::Path;

#[test]
fn every_seed_of_a_checkpoint_is_read_without_a_panic() {
    read("checkpoint", tabia_train::fuzz::checkpoint);
}

#[test]
fn every_seed_of_weights_in_a_graph_is_read_without_a_panic() {
    read("graph_weights", tabia_train::fuzz::graph_weights);
}

fn read(seeds: &str, reader: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(seeds);
    let mut count = 0;
    for entry in std::fs::read_dir(&folder).expect("the folder of seeds") {
        let bytes = std::fs::read(entry.expect("a readable entry").path()).expect("a readable seed");
        reader(&bytes);
        count += 1;
    }
    assert!(count > 0, "{} holds no seeds", folder.display());
}
