//! Comparative benchmarks: contenders run in interleaved rounds, and the table shows ratios of their best rounds.
//!
//! Other load on the machine rarely affects all rounds of a single contender, so ratios of best rounds are more stable than
//! times.
#![forbid(unsafe_code)]

mod line_process;
mod network;
mod onnxruntime;
mod pass;
mod positions;
mod rounds;

pub use line_process::LineProcess;
pub use network::random_mlp;
pub use onnxruntime::Onnxruntime;
pub use pass::Pass;
pub use positions::positions;
pub use rounds::{Contender, Round, Shown, Table, best_of};
