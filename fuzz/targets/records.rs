#![no_main]

use tabia_data::{EvaluationRecord, GameRecord, RecordKind};

// What can be read is written as the same record again.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    for kind in [RecordKind::Games, RecordKind::Evaluations] {
        let _ = kind.key(bytes);
        let _ = kind.unite([bytes, bytes]);
    }
    if let Ok(game) = GameRecord::from_bytes(bytes) {
        let again = game.to_bytes().and_then(|bytes| GameRecord::from_bytes(&bytes));
        assert_eq!(again, Ok(game));
    }
    if let Ok(evaluation) = EvaluationRecord::from_bytes(bytes) {
        let again = evaluation.to_bytes().and_then(|bytes| EvaluationRecord::from_bytes(&bytes));
        assert!(again.is_ok());
    }
});
