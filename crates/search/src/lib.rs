//! Given a network and limits, choose a move.
//!
//! Everything that plays is a [`Player`]. Nothing here prints, parses a protocol, or reads a clock of its own.
//!
//! ```
//! use shakmaty::{ByColor, Chess};
//! use tabia_game::History;
//! use tabia_search::{Level, LevelPlayer, Limits, Player, NoControl};
//!
//! let mut player = LevelPlayer::new(Level::new(2).expect("from 1 to 5"));
//! let game = History::new(Chess::default(), ByColor::default());
//! let choice = player.choose(&game, &Limits::default(), &NoControl)?;
//! assert_eq!(choice.lines[0].moves, [choice.mv]);
//! # Ok::<_, tabia_search::PlayerError>(())
//! ```
//!
//! | to find | look in |
//! |---|---|
//! | what a player is told and says | [`Player`], [`Limits`], [`SearchControl`], [`Choice`], [`Line`] |
//! | a player from one line of text | [`Spec`], [`PlayerContext`] |
//! | the levels of the Chess Challenge and their evaluation | [`LevelPlayer`], [`baseline`] |
//! | whether a network may take part in the challenge | [`admit`] |
//! | a network one move ahead | [`OnePly`] |
//! | a network that plays likely moves | [`PolicyPlayer`] |
//! | a rating asked for, and how it is shown | [`StrengthSettings`], [`SearchBlend`], [`strength_at`] |
//! | when people move, resign and offer draws | [`HumanBehaviour`], [`HumanTiming`], [`think_time_for`] |
//! | what a move cost, and who would have found a better one | [`Reviewed`] |
//! | the engine | [`Engine`] |
//! | an evaluation inside a search | [`Evaluator`], [`evaluator_for`], [`exact_evaluator_for`] |
//! | whether a position can be judged without search | [`is_quiet`] |
#![forbid(unsafe_code)]

mod admission;
pub mod baseline;
mod behaviour;
mod classic;
mod ending;
mod engine;
mod enhanced;
mod evaluator;
mod human_timing;
mod levels;
mod limits;
mod nnue_evaluator;
mod one_ply;
mod order;
mod player;
mod policy;
mod policy_search;
mod random;
mod review;
mod spec;
mod strength;
#[cfg(test)]
mod test_networks;
#[cfg(test)]
mod test_time;
mod think_time;
mod time_cap;

pub use admission::{CHALLENGE_INPUT, NotAdmitted, OutputWarning, admit};
pub use behaviour::{HumanAction, HumanBehaviour};
pub use engine::{Bench, Engine, EngineOptions, bench, is_quiet};
pub use evaluator::{
    AccumulatorEvaluator, BaselineEvaluator, EVALUATION_LIMIT, Evaluator, ModelEvaluator, NoEvaluation,
    evaluator_for, exact_evaluator_for, score_of_wdl,
};
pub use human_timing::HumanTiming;
pub use levels::{Level, LevelPlayer};
pub use limits::{Limits, TimeLeft};
pub use nnue_evaluator::NnueEvaluator;
pub use one_ply::OnePly;
pub use player::{Choice, Line, NoControl, Player, PlayerError, SearchControl};
pub use policy::{NoPolicy, Persona, Pick, PolicyPlayer};
pub use policy_search::SearchBlend;
pub use random::RandomPlayer;
pub use review::{Mark, Reviewed, winning_chance};
pub use spec::{
    Budget, Budgeted, BuildError, EngineEvaluation, EngineSettings, EngineSpec, HumanPlay, HumanSpec,
    MaiaSpec, NetSearch, NetSpec, Opened, Pause, PlayerContext, Spec, SpecError, UciSpec,
};
pub use strength::{StrengthSettings, strength_at};
pub use think_time::think_time_for;
