//! Given a network and limits, choose a move.
//!
//! Everything that plays is a [`Player`]. Nothing here prints, parses a protocol, or reads a clock of its own.
#![forbid(unsafe_code)]

pub mod baseline;
mod classic;
mod ending;
mod enhanced;
mod leaf;
mod levels;
mod limits;
mod order;
mod player;

pub use leaf::{
    BaselineLeaf, DenseLeaf, EVALUATION_LIMIT, GeneralLeaf, LeafEvaluator, NoEvaluation, leaf_evaluator,
};
pub use levels::{Level, LevelPlayer};
pub use limits::{Limits, TimeLeft};
pub use player::{Choice, Line, Player, PlayerError, Quiet, Watch};
