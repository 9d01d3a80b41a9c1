//! Everything that chooses a move, and the specs that name it.
//!
//! ```
//! use shakmaty::{ByColor, Chess};
//! use tabia_game::History;
//! use tabia_players::{Action, Level, LevelPlayer, Limits, NoControl, Player};
//!
//! let mut player = LevelPlayer::new(Level::new(2).expect("1 to 5"), 0);
//! let game = History::new(Chess::default(), ByColor::default());
//! let decision = player.decide(&game, &Limits::default(), &NoControl)?;
//! assert_eq!(decision.action, Action::Move);
//! assert_eq!(decision.choice.lines[0].moves, [decision.choice.mv]);
//! # Ok::<_, tabia_players::PlayerError>(())
//! ```
//!
//! | to find | look in |
//! |---|---|
//! | the contract | [`Player`], [`Decision`], [`Limits`], [`SearchControl`] |
//! | a player from one line of text | [`Spec`], [`PlayerContext`], `spec/kinds/` |
//! | the levels of the Chess Challenge, and a network in it | [`LevelPlayer`], [`ChallengeEntry`], [`ChallengeRules`] |
//! | whether a network may enter the challenge | [`admit`] |
//! | a network one ply deep | [`OnePly`] |
//! | a network's policy head: temperature, nucleus, sampling | [`PolicyPlayer`], [`Pick`] |
//! | playing at a rating | [`StrengthSettings`], [`SearchBlend`], [`strength_at`] |
//! | playing like one person | [`Adapter`] |
//! | thinking time, resignation and draw offers of people | [`HumanPlayer`], [`HumanBehaviour`], [`think_time_for`] |
//! | the alpha-beta engine as a player | [`EnginePlayer`] |
#![forbid(unsafe_code)]

mod adapter;
mod challenge;
mod contempt_player;
mod ending;
mod engine;
mod human;
mod move_order;
mod one_ply;
mod player;
mod policy;
mod policy_search;
mod spec;
mod strength;
#[cfg(test)]
mod test_time;
mod time_cap;
mod wrapped;

#[cfg(test)]
#[path = "../../search/src/test_networks.rs"]
#[expect(dead_code, reason = "shared with the tests of search")]
mod test_networks;

pub use adapter::{
    Adapter, AdapterError, AdapterGain, AdapterNetwork, FEATURES, Feature, LEAST_PROBABILITY, MemoryMove,
    OpeningMemory, each_feature, log_time, memory_key,
};
pub use challenge::{
    CHALLENGE_INPUT, ChallengeEntry, ChallengeRules, Level, LevelPlayer, NotAdmitted, OutputWarning,
    UnknownRules, admit,
};
pub use contempt_player::ContemptPlayer;
pub use engine::EnginePlayer;
pub use human::{HumanBehaviour, HumanPlayer, think_time_for};
pub use one_ply::OnePly;
pub use player::{Action, Decision, Player, PlayerError};
pub use policy::{NoPolicy, Persona, Pick, PolicyPlayer};
pub use policy_search::SearchBlend;
pub use spec::*;
pub use strength::{StrengthSettings, strength_at};
pub use tabia_search::{
    Choice, Limits, Line, NoControl, SearchControl, SearchError, TimeLeft, winning_chance,
};
pub use wrapped::Wrapped;
