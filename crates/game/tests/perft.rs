//! Legal moves counted to depth 4, against counts by other programs.

use shakmaty::{fen::Fen, perft};
use tabia_game::EpdRecord;

/// Compares every node count up to `deepest`; the number of nodes counted.
fn check(record: &EpdRecord, deepest: u32) -> u64 {
    let mut nodes = 0;
    for (depth, expected) in record.node_counts().filter(|(depth, _)| *depth <= deepest) {
        let fen = Fen::from_position(&record.position, shakmaty::EnPassantMode::Legal);
        assert_eq!(perft(&record.position, depth), expected, "{fen} at depth {depth}");
        nodes += expected;
    }
    nodes
}

#[test]
fn tricky_and_ordinary_positions_to_depth_4() {
    let records = EpdRecord::parse_all(include_str!("../../../fixtures/perft.epd")).unwrap();
    assert!(records.len() >= 50);
    for record in &records {
        assert_eq!(record.node_counts().count(), 4);
        check(record, 4);
    }
}

/// The whole of perft-marcel to depth 4: 6,838 positions, 4.1 thousand million nodes.
#[cfg(not(target_arch = "wasm32"))]
#[test]
fn perft_marcel() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/suites/perft-marcel.epd");
    let Ok(bytes) = std::fs::read(path) else {
        #[expect(clippy::disallowed_macros, reason = "says why the test did nothing")]
        {
            eprintln!("skipped: {path} is not there");
        }
        return;
    };
    let records = EpdRecord::parse_all(&String::from_utf8_lossy(&bytes)).unwrap();
    assert_eq!(records.len(), 6838);
    for record in &records {
        assert!(check(record, 4) > 0);
    }
}
