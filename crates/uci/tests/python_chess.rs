//! A served engine with python-chess, a strict client.

use std::process::Command;

use serde_json::Value;

#[test]
fn python_chess_plays_with_a_served_engine() {
    let Some(python) = tabia_requires::python(&["chess.engine"]) else { return };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/check_uci.py");
    let output = Command::new(python)
        .args([script, "--games", "12", "--movetime", "4", "--option", "Style=Captures"])
        .arg(env!("CARGO_BIN_EXE_tabia-random-mover"))
        .output()
        .expect("it was there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("the script prints JSON");
    assert_eq!(report["id"]["name"], "Random Mover");
    assert_eq!(report["options"].as_array().map(Vec::len), Some(7));
    assert_eq!(report["lines"], 3);
    assert_eq!(report["ponder_hits"], 4);
    assert!(report["moves"].as_u64() > Some(100), "{report}");
}
