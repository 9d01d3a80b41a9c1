//! The test suites that lie beside the checkout are read to the last line, and their moves are legal.
#![cfg(not(target_arch = "wasm32"))]

use tabia_game::EpdRecord;

fn suite(name: &str) -> Option<Vec<EpdRecord>> {
    let path = format!("{}/../../../shared/data/suites/{name}", env!("CARGO_MANIFEST_DIR"));
    let Ok(bytes) = std::fs::read(&path) else {
        #[expect(clippy::disallowed_macros, reason = "says why the test did nothing")]
        {
            eprintln!("skipped: {path} is not there");
        }
        return None;
    };
    Some(EpdRecord::parse_all(&String::from_utf8_lossy(&bytes)).expect("every line is a record"))
}

#[test]
fn suites_name_legal_moves() {
    for (name, positions) in [("bratko-kopec.epd", 24), ("kaufman.epd", 25)] {
        let Some(records) = suite(name) else { continue };
        assert_eq!(records.len(), positions, "{name}");
        for record in records {
            let moves = record.moves("bm").unwrap().len() + record.moves("am").unwrap().len();
            assert!(moves > 0, "{record}");
            assert_eq!(EpdRecord::parse(&record.to_string(), 1), Ok(Some(record)));
        }
    }
}
