//! Results in words and as JSON.

use std::fmt;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tabia_arena::SprtResult;
use tabia_arena::statistics::{Sprt, Verdict};

/// Where a test stands.
pub(crate) struct TestState {
    hypotheses: (f64, f64),
    bounds: (f64, f64),
    llr: f64,
    verdict: Option<Verdict>,
}

impl TestState {
    /// A test that was watched while the games were played.
    pub(crate) fn of_result(sprt: &Sprt, result: &SprtResult) -> TestState {
        TestState { verdict: result.verdict, ..TestState::of_ratio(sprt, result.llr) }
    }

    /// A test of games that were played without it.
    pub(crate) fn of_ratio(sprt: &Sprt, llr: f64) -> TestState {
        TestState { hypotheses: sprt.hypotheses(), bounds: sprt.bounds(), llr, verdict: sprt.verdict(llr) }
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({
            "elo0": self.hypotheses.0,
            "elo1": self.hypotheses.1,
            "llr": self.llr,
            "lower": self.bounds.0,
            "upper": self.bounds.1,
            "verdict": self.verdict,
        })
    }
}

/// `SPRT of 0 against 5 normalised Elo: LLR +2.96 (-2.94, +2.94), H1 accepted`
impl fmt::Display for TestState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match self.verdict {
            Some(Verdict::AcceptH0) => "H0 accepted",
            Some(Verdict::AcceptH1) => "H1 accepted",
            None => "nothing is shown yet",
        };
        let ((elo0, elo1), (low, high)) = (self.hypotheses, self.bounds);
        write!(f, "SPRT of {elo0} against {elo1} normalised Elo: ")?;
        write!(f, "LLR {:+.2} ({low:+.2}, {high:+.2}), {verdict}", self.llr)
    }
}

/// Writes a file of JSON.
pub(crate) fn write_json(path: &Path, value: &Value) -> Result<()> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    if path.exists() && !path.is_file() {
        return fs::write(path, text).with_context(|| path.display().to_string());
    }
    // Whoever reads it meanwhile, or after a crash, finds the old file or the new one.
    let mut beside = path.as_os_str().to_owned();
    beside.push(".part");
    let written = File::create(&beside).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.and_then(|()| fs::rename(&beside, path)).with_context(|| path.display().to_string())
}
