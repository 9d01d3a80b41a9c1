//! Evaluates how closely networks match human play: move prediction, puzzle solving, think time.
//!
//! Metrics are computed on positions of real games, presented to the networks as training streams present them. Their
//! 95% confidence intervals are clustered by game, because positions of one game are correlated. Results are identical
//! to the bit for any number of threads.
//!
//! | to find | look in |
//! |---|---|
//! | a network, or a family of them, under evaluation | [`EvalModel`] |
//! | the games or puzzles used | [`GameSelection`], [`SelectedGames`] |
//! | move prediction | [`MoveFilter`], [`MoveReport`] |
//! | puzzle solving | [`PuzzleContext`], [`PuzzlePlayer`], [`PuzzleReport`] |
//! | think time | [`TimeReport`] |
//! | predicted errors | [`BlunderEval`], [`BlunderReport`] |
//! | ratings estimated from moves | [`RatingFilter`], [`RatingReport`] |
#![forbid(unsafe_code)]

mod band;
mod blunders;
mod calibration;
mod eval_model;
mod moves;
mod puzzle_rating;
mod puzzles;
mod rating;
mod select;
mod time;
mod time_scores;
mod workers;

pub use band::{Grouping, Speed};
pub use blunders::{
    BlunderEval, BlunderGroup, BlunderReport, JudgedMove, RestMoves, fit_errors, judged_score,
};
pub use calibration::{Calibration, Reliability};
pub use eval_model::EvalModel;
pub use moves::{Comparison, MoveFilter, MoveGroup, MoveMetrics, MoveReport, UNLIKELY};
pub use puzzle_rating::PuzzleRating;
pub use puzzles::{
    BuildPlayer, PuzzleBand, PuzzleContext, PuzzleMetrics, PuzzlePlayer, PuzzleReport, Solver,
};
pub use rating::{RatedSide, RatingFilter, RatingGroup, RatingReport, SideEvidence, fit_ratings};
pub use select::{GameSelection, SelectError, SelectedGame, SelectedGames};
pub use tabia_practice::{ClusteredMean, Estimate};
pub use time::{TimeGroup, TimeMetrics, TimePredictor, TimeReport};
pub use workers::{EvalError, Workers};

/// Lower bound of probabilities in the log loss.
const MIN_PROBABILITY: f32 = 1e-9;
