//! How like people a network is: the moves it foretells, the puzzles it solves, the time it would take.
//!
//! Everything is measured on positions of real games, each put to the networks as a training stream would give it, and
//! comes with 95% intervals that know that the positions of one game are alike. The same input gives the same figures, bit
//! by bit, however many threads work.
//!
//! | to find | look in |
//! |---|---|
//! | a network that is asked | [`Subject`] |
//! | the games or puzzles to ask about | [`Choice`], [`Selected`] |
//! | which moves people play | [`MoveTerms`], [`MoveReport`] |
//! | how hard puzzles may be | [`PuzzleTerms`], [`PuzzlePlayer`], [`PuzzleReport`] |
//! | how long people think | [`TimeReport`] |
#![forbid(unsafe_code)]

mod band;
mod calibration;
mod estimate;
mod moves;
mod parallel;
mod puzzle_rating;
mod puzzles;
mod select;
mod subject;
mod time;
mod time_chances;

pub use band::{Grouping, Speed};
pub use calibration::{Calibration, Reliability};
pub use estimate::{Clustered, Estimate};
pub use moves::{Comparison, Figures, MoveGroup, MoveReport, MoveTerms, UNLIKELY};
pub use parallel::{JudgeError, Work};
pub use puzzle_rating::PuzzleRating;
pub use puzzles::{MakePlayer, PuzzleBand, PuzzleFigures, PuzzlePlayer, PuzzleReport, PuzzleTerms, Solver};
pub use select::{Choice, SelectError, Selected, SelectedGame};
pub use subject::Subject;
pub use time::{Teller, TimeFigures, TimeGroup, TimeReport};
