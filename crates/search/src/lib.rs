//! Given a network and limits, choose a move.
//!
//! Everything that plays is a [`Player`]. Nothing here prints, parses a protocol, or reads a clock of its own.
//!
//! ```
//! use shakmaty::{ByColor, Chess};
//! use tabia_game::History;
//! use tabia_search::{Level, LevelPlayer, Limits, Player, Quiet};
//!
//! let mut player = LevelPlayer::new(Level::new(2).expect("from 1 to 5"));
//! let game = History::new(Chess::default(), ByColor::default());
//! let choice = player.choose(&game, &Limits::default(), &Quiet)?;
//! assert_eq!(choice.lines[0].moves, [choice.mv]);
//! # Ok::<_, tabia_search::PlayerError>(())
//! ```
//!
//! | to find | look in |
//! |---|---|
//! | what a player is told and says | [`Player`], [`Limits`], [`Watch`], [`Choice`], [`Line`] |
//! | a player from one line of text | [`Spec`], [`Workshop`] |
//! | the levels of the Chess Challenge and their evaluation | [`LevelPlayer`], [`baseline`] |
//! | whether a network may take part in the challenge | [`admit`] |
//! | a network one move ahead | [`OnePly`] |
//! | a network that plays likely moves | [`PolicyPlayer`] |
//! | a rating asked for, and how it is shown | [`Dials`], [`Advice`], [`dials_at`] |
//! | when people move, resign and offer draws | [`Manners`], [`Paced`], [`think_time_for`] |
//! | what a move cost, and who would have found a better one | [`Reviewed`] |
//! | the engine | [`Engine`] |
//! | an evaluation inside a search | [`LeafEvaluator`], [`leaf_evaluator`], [`exact_leaf_evaluator`] |
//! | whether a position can be judged without search | [`is_quiet`] |
#![forbid(unsafe_code)]

mod admission;
pub mod baseline;
mod classic;
mod counsel;
mod ending;
mod engine;
mod enhanced;
mod haste;
mod leaf;
mod levels;
mod limits;
mod manners;
mod one_ply;
mod order;
mod paced;
mod perspective_leaf;
mod player;
mod policy;
mod random;
mod review;
mod spec;
mod strength;
#[cfg(test)]
mod test_networks;
#[cfg(test)]
mod test_time;
mod think_time;

pub use admission::{CHALLENGE_INPUT, NotAdmitted, OutputWarning, admit};
pub use counsel::Advice;
pub use engine::{Bench, Engine, EngineOptions, bench, is_quiet};
pub use leaf::{
    BaselineLeaf, DenseLeaf, EVALUATION_LIMIT, GeneralLeaf, LeafEvaluator, NoEvaluation,
    exact_leaf_evaluator, leaf_evaluator, score_of_wdl,
};
pub use levels::{Level, LevelPlayer};
pub use limits::{Limits, TimeLeft};
pub use manners::{Conduct, Manners};
pub use one_ply::OnePly;
pub use paced::Paced;
pub use perspective_leaf::PerspectiveLeaf;
pub use player::{Choice, Line, Player, PlayerError, Quiet, Watch};
pub use policy::{NoPolicy, Persona, Pick, PolicyPlayer};
pub use random::RandomPlayer;
pub use review::{Mark, Reviewed, winning_chance};
pub use spec::{
    Budget, Budgeted, BuildError, EngineEvaluation, EngineSettings, EngineSpec, HumanPlay, HumanSpec,
    MaiaSpec, NetSearch, NetSpec, Opened, Pause, Spec, SpecError, UciSpec, Workshop,
};
pub use strength::{Dials, dials_at};
pub use think_time::think_time_for;
