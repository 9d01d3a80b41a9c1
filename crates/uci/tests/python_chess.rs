//! What [`tabia_uci::serve`] makes of a player conforms under python-chess, a strict client.
//!
//! The interpreter is `TABIA_PYTHON`, else `python3`. Without the `chess` package the test says so and does nothing,
//! unless `TABIA_REQUIRE_PYTHON` is `1`.

use std::process::{Command, Stdio};

use serde_json::Value;

#[expect(
    clippy::disallowed_methods,
    reason = "where Python lives is a matter of the machine, not of the test"
)]
fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn python() -> Option<String> {
    let python = setting("TABIA_PYTHON").unwrap_or_else(|| "python3".to_owned());
    let probe = Command::new(&python).args(["-c", "import chess.engine"]).stderr(Stdio::null()).status();
    let found = probe.is_ok_and(|status| status.success());
    assert!(found || setting("TABIA_REQUIRE_PYTHON").as_deref() != Some("1"), "{python} cannot import chess");
    found.then_some(python)
}

#[test]
fn python_chess_plays_with_a_served_engine() {
    let Some(python) = python() else {
        #[expect(clippy::disallowed_macros, reason = "says why the test did nothing")]
        {
            eprintln!("skipped: no Python with the chess package");
        }
        return;
    };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/check_uci.py");
    let output = Command::new(python)
        .args([script, "--games", "12", "--movetime", "4", "--option", "Style=Captures"])
        .arg(env!("CARGO_BIN_EXE_tabia-random-mover"))
        .output()
        .expect("it was there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("the script prints JSON");
    assert_eq!(report["id"]["name"], "Random Mover");
    assert_eq!(report["options"].as_array().map(Vec::len), Some(6));
    assert_eq!(report["lines"], 3);
    assert_eq!(report["ponder_hits"], 4);
    assert!(report["moves"].as_u64() > Some(100), "{report}");
}
