//! Positions as the inputs of networks.

use pyo3::prelude::*;
use tabia_encoding::{Batch, Encoding, encoding};

use crate::arrays;
use crate::conditions::{Arguments, Conditions};
use crate::error::invalid;
use crate::positions::Given;

/// An encoding by its name.
pub(crate) fn named(name: &str) -> PyResult<&'static dyn Encoding> {
    encoding(name).ok_or_else(|| {
        let known = encodings().join(", ");
        invalid(format!("unknown encoding {name:?} (expected {known})"))
    })
}

/// The inputs of an encoding, one row for each position: an array, or a dictionary of arrays where the encoding has several
/// inputs.
///
/// A position is a FEN, moves from the start in UCI or algebraic notation, a `chess.Board`, or `FEN moves e2e4 ...`. Ratings
/// and clocks (in seconds) are a number for all positions or one for each; see `Model.evaluate`.
///
/// >>> import tabia
/// >>> tabia.encode(["e2e4", "e2e4 e7e5"], "challenge-768").shape
/// (2, 768)
/// >>> {name: x.shape for name, x in tabia.encode("1. e4 c5", "maia3-12", elo=1500).items()}
/// {'tokens': (1, 64, 12), 'self_elo': (1,), 'oppo_elo': (1,)}
#[pyfunction]
#[pyo3(signature = (positions, encoding, *, elo = None, opponent_elo = None, clock = None, opponent_clock = None, time_control = None, pool = None))]
#[expect(clippy::too_many_arguments, reason = "the options of a Python function")]
pub(crate) fn encode<'py>(
    py: Python<'py>,
    positions: &Bound<'py, PyAny>,
    encoding: &str,
    elo: Option<Bound<'py, PyAny>>,
    opponent_elo: Option<Bound<'py, PyAny>>,
    clock: Option<Bound<'py, PyAny>>,
    opponent_clock: Option<Bound<'py, PyAny>>,
    time_control: Option<String>,
    pool: Option<String>,
) -> PyResult<Bound<'py, PyAny>> {
    let encoding = named(encoding)?;
    let given = Given::of(positions)?;
    let histories = given.as_slice();
    let arguments = Arguments { elo, opponent_elo, clock, opponent_clock, time_control, pool };
    let conditions = Conditions::of(&arguments, histories.len())?;
    let batch = py.detach(|| {
        let mut batch = Batch::new(encoding);
        for (row, history) in histories.iter().enumerate() {
            batch.push(&conditions.situation(history, row));
        }
        batch
    });
    arrays::inputs_of(py, batch)
}

/// The names of all encodings.
///
/// >>> import tabia
/// >>> "humchess-74" in tabia.encodings()
/// True
#[pyfunction]
pub(crate) fn encodings() -> Vec<&'static str> {
    tabia_encoding::encodings().map(|encoding| encoding.id().0).collect()
}
