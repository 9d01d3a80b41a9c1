//! Who is stronger, and how sure are we.
//!
//! The arena sees only [`tabia_players::Player`]s, made by [`Entrant`]s that its caller hands in: never a model or a
//! process. A [`Run`] plays a [`Schedule`] of games on worker threads and puts each on disk ([`Ledger`]) before it counts;
//! [`statistics`] says what the results mean.
//!
//! ```
//! use tabia_arena::statistics::{EloScale, Pairs, Sprt, Tally};
//!
//! let match_result = Tally { wins: 136, draws: 111, losses: 96 };
//! assert_eq!(match_result.elo().expect("there are games").to_string(), "+40.7 [+10.6, +71.4]");
//! assert_eq!(Tally { wins: 10, ..Tally::default() }.elo().expect("games").to_string(), "above +182.7");
//!
//! let test = Sprt::new(0.0, 5.0, EloScale::Normalised)?;
//! assert_eq!(test.verdict(test.llr(Pairs([3, 8, 20, 11, 8]))), None); // play on
//! # Ok::<_, tabia_arena::statistics::BadSprt>(())
//! ```
//!
//! | to find | look in |
//! |---|---|
//! | Elo, superiority, SPRT, ratings | [`statistics`] |
//! | one game | [`play_game`], [`GameInProgress`], [`Rules`], [`PlayedGame`] |
//! | where games begin | [`Openings`] |
//! | who meets whom | [`Schedule`] |
//! | a whole run | [`Run`], [`Entrant`], [`Progress`], [`Finished`]; a move at a time [`SteppedMatch`] |
//! | games on disk | [`Ledger`], [`LedgerIndex`], [`Settings`] |
//! | tables | [`Report`], [`Standings`], [`read_results`] |
//! | the ladder of levels | [`challenge`] |
#![forbid(unsafe_code)]

mod adjudicate;
pub mod challenge;
mod entrant;
mod game;
mod ledger;
mod ledger_index;
mod openings;
mod progress;
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

pub use entrant::{Entrant, Lifetime};
pub use game::{Fault, FaultKind, PlayedGame, PlayedMove, play_game};
pub use ledger::{Ledger, LedgerError, LedgerProblem};
pub use ledger_index::LedgerIndex;
pub use openings::{Opening, Openings, OpeningsError, OpeningsProblem};
pub use progress::{GameInProgress, Step};
pub use record::{GameRecord, GameResult, PgnTags};
pub use report::{EncounterRow, OpeningRow, PlayerRow, Report};
pub use results::{PgnResults, read_results};
pub use rules::{Adjudication, Budget, LevelDraw, Opinion, Resign, Rules};
pub use run::{End, Finished, Progress, Run, RunError, TestResult};
pub use schedule::{BadSchedule, Fixture, Format, PlayerId, Schedule};
pub use settings::Settings;
pub use standings::{Between, ResultRow, Standings};
pub use stepped_match::{MatchEvent, SteppedMatch};
pub use stop::{Stop, StopRequest};
pub use timer::{Timer, WallTimer};

use shakmaty::{Chess, Move, Position as _};

/// A move in UCI notation, castling as the position's kind of chess writes it.
fn uci_of(m: Move, position: &Chess) -> String {
    m.to_uci(position.castles().mode()).to_string()
}

/// Bytes in hexadecimal.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Spreads the bits of a number over all others: the output function of SplitMix64.
fn mix(number: u64) -> u64 {
    let mut z = number;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
