//! Test results as text and JSON.

use std::fmt;

use serde_json::{Value, json};
use tabia_arena::SprtResult;
use tabia_arena::statistics::{Sprt, Verdict};

/// The state of an SPRT.
pub(crate) struct TestState {
    hypotheses: (f64, f64),
    bounds: (f64, f64),
    llr: f64,
    verdict: Option<Verdict>,
}

impl TestState {
    /// A test that ran with the games.
    pub(crate) fn of_result(sprt: &Sprt, result: &SprtResult) -> TestState {
        TestState { verdict: result.verdict, ..TestState::of_ratio(sprt, result.llr) }
    }

    /// A test of games that are finished.
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
            None => "undecided",
        };
        let ((elo0, elo1), (low, high)) = (self.hypotheses, self.bounds);
        write!(f, "SPRT of {elo0} against {elo1} normalised Elo: ")?;
        write!(f, "LLR {:+.2} ({low:+.2}, {high:+.2}), {verdict}", self.llr)
    }
}
