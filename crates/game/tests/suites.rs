//! The shared test suites are read completely, and their moves are legal.
#![cfg(not(target_arch = "wasm32"))]

use tabia_game::EpdRecord;

fn suite(name: &str) -> Option<Vec<EpdRecord>> {
    let path = tabia_requires::shared_data(&format!("suites/{name}"))?;
    let bytes = std::fs::read(path).expect("it can be read");
    Some(EpdRecord::parse_all(&String::from_utf8_lossy(&bytes)).expect("every line is a record"))
}

#[test]
fn moves_of_suites_are_legal() {
    let mut faults = Vec::new();
    for (name, positions) in [("bratko-kopec.epd", 24), ("kaufman.epd", 25)] {
        let Some(records) = suite(name) else { return };
        assert_eq!(records.len(), positions, "{name}");
        for record in records {
            for moves in [record.moves("bm"), record.moves("am")] {
                faults.extend(moves.err().map(|fault| fault.to_string()));
            }
            assert!(record.operands("bm").or(record.operands("am")).is_some(), "{record}");
            assert_eq!(EpdRecord::parse(&record.to_string(), 1), Ok(Some(record)));
        }
    }
    // Either knight can take on e5; the suite does not say which.
    assert_eq!(faults, ["`Ne5` of `am` is not exactly one legal move"]);
}
