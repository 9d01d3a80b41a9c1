//! Matches between players and statistics of their results.
//!
//! The arena sees only [`tabia_players::Player`]s, built by [`Entrant`]s: never a model or a
//! process. A [`Run`] plays a [`Schedule`] of games on worker threads and writes each to a [`Ledger`] before counting
//! it; [`statistics`] evaluates the results.
//!
//! ```
//! use tabia_arena::statistics::{EloScale, Pairs, Sprt, Tally};
//!
//! let games = Tally { wins: 136, draws: 111, losses: 96 };
//! assert_eq!(games.elo().expect("games").to_string(), "+40.7 [+10.6, +71.4]");
//! assert_eq!(Tally { wins: 10, ..Tally::default() }.elo().expect("games").to_string(), "above +182.7");
//!
//! let test = Sprt::new(0.0, 5.0, EloScale::Normalised)?;
//! assert_eq!(test.verdict(test.llr(Pairs([3, 8, 20, 11, 8]))), None); // undecided
//! # Ok::<_, tabia_arena::statistics::SprtError>(())
//! ```
//!
//! | to find | look in |
//! |---|---|
//! | Elo, LOS, SPRT, ratings | [`statistics`] |
//! | a game | [`play_game`], [`GameInProgress`], [`Rules`], [`PlayedGame`] |
//! | opening books | [`Openings`] |
//! | pairings and rounds | [`Schedule`] |
//! | a match or tournament | [`Run`], [`Entrant`], [`Progress`], [`Finished`]; move by move [`SteppedMatch`] |
//! | games on disk | [`Ledger`], [`LedgerIndex`], [`Settings`] |
//! | result tables | [`Report`], [`Standings`], [`read_results`] |
//! | the challenge ladder | [`challenge`] |
#![forbid(unsafe_code)]

mod adjudicate;
pub mod challenge;
mod entrant;
mod game;
mod game_in_progress;
mod ledger;
mod ledger_index;
mod openings;
mod record;
mod report;
mod results;
mod roster;
mod rules;
mod run;
mod schedule;
mod settings;
mod standings;
pub mod statistics;
mod stepped_match;
mod stop;
mod timer;
mod worker;

pub use entrant::{Entrant, PlayerLifetime};
pub use game::{Forfeit, ForfeitReason, PlayedGame, PlayedMove, play_game};
pub use game_in_progress::{GameInProgress, Step};
pub use ledger::{Ledger, LedgerError, LedgerErrorKind};
pub use ledger_index::LedgerIndex;
pub use openings::{Opening, Openings, OpeningsError, OpeningsErrorKind};
pub use record::{GameRecord, GameResult, PgnTags};
pub use report::{HeadToHeadRow, OpeningRow, PlayerRow, Report};
pub use results::{PgnResults, read_results};
pub use rules::{Adjudication, Agreement, Budget, DrawAdjudication, DrawRules, ResignAdjudication, Rules};
pub use run::{End, Finished, Progress, Run, RunError, SprtResult};
pub use schedule::{Format, PlayerId, Schedule, ScheduleError, ScheduledGame};
pub use settings::Settings;
pub use standings::{MatchScore, ResultRow, Standings};
pub use stepped_match::{MatchEvent, SteppedMatch};
pub use stop::{Stop, StopRequest};
pub use timer::{Timer, WallTimer};

use shakmaty::{Chess, Move, Position as _};

/// A move in UCI notation with the castling mode of the position.
fn uci_of(m: Move, position: &Chess) -> String {
    m.to_uci(position.castles().mode()).to_string()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Output function of SplitMix64.
fn mix(number: u64) -> u64 {
    let mut z = number;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
