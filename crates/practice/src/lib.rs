//! Learning from games: what was lost where, against people of the same rating, and how strongly a game was played.
//!
//! There is no I/O, no thread and no clock: a [`Reviewer`] takes one game at a time, one move at a time, and its results
//! merge, so that a terminal and a browser worker use it alike. Every result can be serialised.
//!
//! | to find | look in |
//! |---|---|
//! | the review of a game | [`Reviewer`], [`ReviewedMove`], [`GameReview`] |
//! | marks such as `??` and `!!` | [`Mark`], [`Reviewed`] |
//! | "you played like N" | [`RatingEvidence`], [`RatingModel`], [`RatingEstimate`] |
//! | what people of a rating lose, and how hard a position is | [`Peers`], [`Difficulty`] |
//! | the figures of many games | [`Summary`], [`SummaryReport`] |
//! | accuracy in percent | [`move_accuracy`], [`game_accuracy`] |
//! | positions to practise, with spaced repetition | [`deck`] |
//! | opening repertoires and what they cover | [`Repertoire`] |
//! | endgames and middlegames to win or to hold | [`Drill`], [`drills`] |
//! | puzzles to solve | [`PuzzleGame`], [`PuzzleChoice`] |
//! | names of openings and players | [`opening_family`], [`NameCounter`] |
//! | means with intervals | [`ClusteredMean`], [`Estimate`] |
#![forbid(unsafe_code)]

mod accuracy;
mod color;
pub mod deck;
mod difficulty;
mod drills;
mod estimate;
mod game_review;
mod mark;
mod names;
mod openings;
mod puzzles;
mod rating;
mod repertoire;
mod review;
mod summary;
#[cfg(test)]
mod tests;

pub use accuracy::{game_accuracy, move_accuracy};
pub use color::Side;
pub use difficulty::{ConsideredMove, Difficulty, Peers};
pub use drills::{Drill, DrillAttempt, DrillTask, drills};
pub use estimate::{ClusteredMean, Estimate};
pub use game_review::{GameReview, SideReview, game_key};
pub use mark::{Mark, Reviewed};
pub use names::NameCounter;
pub use openings::{NamedOpening, opening_family, openings};
pub use puzzles::{PuzzleChoice, PuzzleGame, PuzzleStep};
pub use rating::{
    ESTIMATED, RATINGS, RatingEstimate, RatingEvidence, RatingModel, TOLD_RATINGS, at_ratings, with_rating,
};
pub use repertoire::{
    Coverage, CoverageLimits, CoverageNode, CoverageWalk, Deviation, Hole, MoveCoverage, NodeState,
    Repertoire, RepertoireError, RepertoireFile, RepertoireLine, RepertoireStatus, Unanswered, guess_color,
};
pub use review::{
    GameMove, ReviewInProgress, ReviewSettings, ReviewedMove, Reviewer, StartClock, WhiteScore,
};
pub use summary::{Moment, MonthFigures, Place, PlaceFigures, PlayedLike, Summary, SummaryReport, Weakness};
