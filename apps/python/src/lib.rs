//! The native half of the Python package `tabia`: thin over the crates, without the interpreter's lock while they work.
#![deny(unsafe_code)]
// A test program of this library could not be linked: the functions that it calls are those of the interpreter that loads it.
#![cfg(not(test))]
#![expect(clippy::needless_pass_by_value, reason = "PyO3 passes the arguments of functions by value")]

mod arrays;
mod arrow;
mod batches;
mod board;
mod conditions;
mod contest;
mod encode;
mod error;
mod games;
mod interrupt;
mod meter;
mod model;
mod positions;
mod rating;
mod set;
mod vocabulary;

use pyo3::prelude::*;

/// Chess networks, encodings, training batches and matches.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("Error", module.py().get_type::<error::Error>())?;
    module.add_class::<model::Model>()?;
    module.add_class::<model::Evaluation>()?;
    module.add_class::<model::Evaluations>()?;
    module.add_class::<vocabulary::Vocabulary>()?;
    module.add_class::<set::Set>()?;
    module.add_class::<batches::Batches>()?;
    module.add_class::<batches::Batch>()?;
    module.add_class::<games::Games>()?;
    module.add_class::<games::GameStream>()?;
    module.add_class::<contest::Match>()?;
    module.add_class::<contest::Game>()?;
    module.add_class::<contest::Scorecard>()?;
    module.add_class::<contest::LevelScore>()?;
    module.add_class::<rating::Rating>()?;
    module.add_class::<board::Board>()?;
    module.add_function(wrap_pyfunction!(model::open, module)?)?;
    module.add_function(wrap_pyfunction!(encode::encode, module)?)?;
    module.add_function(wrap_pyfunction!(encode::encodings, module)?)?;
    module.add_function(wrap_pyfunction!(vocabulary::moves, module)?)?;
    module.add_function(wrap_pyfunction!(vocabulary::vocabularies, module)?)?;
    module.add_function(wrap_pyfunction!(set::build_set, module)?)?;
    module.add_function(wrap_pyfunction!(games::read_pgn, module)?)?;
    module.add_function(wrap_pyfunction!(games::scan_pgn, module)?)?;
    module.add_function(wrap_pyfunction!(contest::play, module)?)?;
    module.add_function(wrap_pyfunction!(contest::compete, module)?)?;
    module.add_function(wrap_pyfunction!(rating::rate, module)?)?;
    module.add_function(wrap_pyfunction!(rating::elo, module)?)?;
    module.add_function(wrap_pyfunction!(board::board, module)?)?;
    Ok(())
}
