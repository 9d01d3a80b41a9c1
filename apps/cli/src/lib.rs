//! What the command-line programs share: building players, playing contests, showing progress and figures.

#[macro_use]
extern crate tabia_stdio;

mod engine_process;
mod entrant;
mod factory;
pub mod figures;
mod files;
mod interrupt;
mod match_progress;
mod player_spec;
mod stockfish;
mod wall_clock;

use std::num::NonZeroUsize;

use time::OffsetDateTime;

pub use entrant::{FileHash, SpecEntrant, entrants};
pub use factory::{PlayerFactory, open_adapter};
pub use files::{write_atomically, write_json};
pub use interrupt::stop_on_interrupt;
pub use match_progress::play_run;
pub use player_spec::player_spec;
pub use stockfish::Stockfish;
pub use wall_clock::WallClock;

/// Today in the form of PGN.
pub fn today() -> String {
    let now = OffsetDateTime::now_utc();
    format!("{:04}.{:02}.{:02}", now.year(), u8::from(now.month()), now.day())
}

/// Lets so many threads evaluate a position together, where the runtime of a network can.
pub fn evaluate_on(threads: NonZeroUsize) {
    // More than any runtime shares a position among.
    const MOST: usize = 64;
    tabia_threads::start_helpers(threads.get().min(MOST) - 1);
}

/// The number of games at a time: as asked for, or one for each core.
pub fn jobs(asked: Option<NonZeroUsize>) -> NonZeroUsize {
    asked.unwrap_or_else(|| std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
}
