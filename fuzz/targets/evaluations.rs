//! Every row that is read has a legal first move.
#![no_main]

use shakmaty::Position;
use tabia_data::{Chunks, GameRules, SourceKind};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let text = std::io::Cursor::new(bytes.to_vec());
    for chunk in Chunks::new("fuzz", SourceKind::EvaluationsJsonl, text) {
        for row in chunk.read(&GameRules::default()).evaluations {
            assert!(row.position.is_legal(row.line.first));
        }
    }
});
