//! How the benches compare: contenders in interleaved rounds of which the best counts, and a table of ratios.
//!
//! A busy machine slows everyone down, but rarely all rounds of one contender alone: ratios of best rounds hold where times
//! do not.
#![forbid(unsafe_code)]

mod line_process;
mod rounds;

pub use line_process::LineProcess;
pub use rounds::{Contender, Round, Shown, Table, best_of};
