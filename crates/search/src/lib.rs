//! Given a network and limits, choose a move.
//!
//! Everything that plays is a [`Player`]. Nothing here prints, parses a protocol, or reads a clock of its own.
#![forbid(unsafe_code)]

pub mod baseline;
mod classic;
mod ending;
mod engine;
mod enhanced;
mod leaf;
mod levels;
mod limits;
mod one_ply;
mod order;
mod player;
mod policy;
mod random;
mod spec;
#[cfg(test)]
mod test_networks;

pub use engine::{Bench, Engine, EngineOptions, bench};
pub use leaf::{
    BaselineLeaf, DenseLeaf, EVALUATION_LIMIT, GeneralLeaf, LeafEvaluator, NoEvaluation, leaf_evaluator,
};
pub use levels::{Level, LevelPlayer};
pub use limits::{Limits, TimeLeft};
pub use one_ply::OnePly;
pub use player::{Choice, Line, Player, PlayerError, Quiet, Watch};
pub use policy::{NoPolicy, Pick, PolicyPlayer};
pub use random::RandomPlayer;
pub use spec::{
    Budget, BuildError, EngineSettings, EngineSpec, HumanSpec, MaiaSpec, NetSearch, NetSpec, Opened, Spec,
    SpecError, UciSpec, Workshop,
};
