//! Legal moves counted to depth 4, against counts by other programs.

use shakmaty::perft;
use tabia_game::EpdRecord;

/// Compares every node count up to depth 4.
fn check(record: &EpdRecord) {
    let counts: Vec<(u32, u64)> = record.node_counts().filter(|(depth, _)| *depth <= 4).collect();
    assert_eq!(counts.iter().map(|(depth, _)| *depth).collect::<Vec<_>>(), [1, 2, 3, 4], "{record}");
    for (depth, expected) in counts {
        assert_eq!(perft(&record.position, depth), expected, "{record} at depth {depth}");
    }
}

#[test]
fn tricky_and_ordinary_positions_to_depth_4() {
    let records = EpdRecord::parse_all(include_str!("../../../fixtures/perft.epd")).unwrap();
    assert!(records.len() >= 50);
    for record in &records {
        check(record);
    }
}

/// The whole of perft-marcel to depth 4: 6,838 positions and 4.1 thousand million nodes, about 25 seconds
/// of one core at the test profile.
#[cfg(not(target_arch = "wasm32"))]
#[test]
fn perft_marcel() {
    let Some(path) = tabia_requires::shared_data("suites/perft-marcel.epd") else { return };
    let bytes = std::fs::read(path).unwrap();
    let records = EpdRecord::parse_all(&String::from_utf8_lossy(&bytes)).unwrap();
    assert_eq!(records.len(), 6838);
    for record in &records {
        check(record);
    }
}
