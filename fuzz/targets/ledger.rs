//! Whatever the index of a match says, it is refused or its games add up.
#![no_main]

use tabia_arena::LedgerIndex;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(index) = LedgerIndex::from_bytes(bytes) {
        let report = index.report();
        let played: u64 = report.players.iter().map(|row| row.games.games()).sum();
        assert_eq!(played, 2 * index.records.len() as u64);
    }
});
