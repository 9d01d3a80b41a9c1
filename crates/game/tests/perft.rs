//! Node counts to depth 3 from the `D1` to `D3` operations of EPD records.

use shakmaty::{Position as _, perft};
use tabia_game::EpdRecord;

fn check(record: &EpdRecord) {
    let counts: Vec<(u32, u64)> = record.node_counts().filter(|(depth, _)| *depth <= 3).collect();
    assert_eq!(counts.iter().map(|(depth, _)| *depth).collect::<Vec<_>>(), [1, 2, 3], "{record}");
    for (depth, expected) in counts {
        assert_eq!(perft(&record.position, depth), expected, "{record} at depth {depth}");
    }
}

#[test]
fn perft_of_special_and_ordinary_positions() {
    let records = EpdRecord::parse_all(include_str!("../../../fixtures/perft.epd")).unwrap();
    assert!(records.len() >= 50);
    for record in &records {
        check(record);
    }
}

#[test]
fn perft_of_chess960() {
    let records = EpdRecord::parse_all(include_str!("../../../fixtures/perft-chess960.epd")).unwrap();
    assert!(records.len() >= 14);
    for record in &records {
        assert!(record.position.castles().mode().is_chess960(), "{record}");
        check(record);
    }
}
