//! A chess engine over any evaluation. Nothing here prints, parses a protocol, or reads a clock of its own.
//!
//! ```
//! use shakmaty::{ByColor, Chess};
//! use tabia_game::History;
//! use tabia_search::{BaselineEvaluator, Engine, EngineOptions, Limits, NoControl};
//!
//! let mut engine = Engine::new(EngineOptions::default(), Box::new(BaselineEvaluator));
//! let game = History::new(Chess::default(), ByColor::default());
//! let limits = Limits { depth: Some(4), ..Limits::default() };
//! let choice = engine.search(&game, &limits, &NoControl)?;
//! assert_eq!(choice.lines[0].moves[0], choice.mv);
//! # Ok::<_, tabia_search::SearchError>(())
//! ```
//!
//! | to find | look in |
//! |---|---|
//! | the engine: alpha-beta, move ordering, transposition table, time management | [`Engine`], `engine/` |
//! | what a search is given | [`Limits`], [`SearchControl`] |
//! | what it returns | [`Choice`], [`Line`] |
//! | evaluations | [`Evaluator`], [`evaluator_for`], [`exact_evaluator_for`], [`baseline`] |
//! | an evaluation for playing against a weaker player | [`ContemptEvaluator`] |
//! | two-input networks in a context of their own | [`FixedContext`] |
//! | whether a position can be evaluated without search | [`is_quiet`] |
//! | endgame tables | `TableUse` (feature `syzygy`) |
//! | centipawns as a winning chance | [`winning_chance`] |
#![forbid(unsafe_code)]

pub mod baseline;
mod contempt;
mod control;
mod engine;
mod evaluator;
mod fixed_context;
mod limits;
mod nnue_evaluator;
mod output;
#[cfg(test)]
mod test_networks;
mod winning_chance;

pub use baseline::{material_gain, piece_value};
pub use contempt::{Contempt, ContemptEvaluator, ContemptSide};
pub use control::{NoControl, SearchControl};
#[cfg(feature = "syzygy")]
pub use engine::TableUse;
pub use engine::{Bench, Engine, EngineOptions, ParameterError, ParameterSpec, Parameters, bench, is_quiet};
pub use evaluator::{
    AccumulatorEvaluator, BaselineEvaluator, EVALUATION_LIMIT, Evaluator, ModelEvaluator, NoEvaluation,
    evaluator_for, exact_evaluator_for, score_of_wdl,
};
pub use fixed_context::FixedContext;
pub use limits::{Limits, TimeLeft};
pub use nnue_evaluator::NnueEvaluator;
pub use output::{Choice, Line, SearchError};
#[cfg(feature = "syzygy")]
pub use tabia_syzygy::{Tables, TablesError};
pub use winning_chance::winning_chance;
