//! One game of chess as data: moves, variations, clocks, draw rules, PGN and EPD in and out.
//!
//! Chess itself is [`shakmaty`]; this crate adds what a game has beyond a position. There is no I/O other than the
//! `Read` and `Write` a caller passes in, no clock, no thread and no `unsafe`.
//!
//! ```
//! use tabia_game::{PgnReader, write_game};
//!
//! let pgn = "[White \"A\"]\n\n1. e4 {[%clk 0:03:00]} e5 (1... c5 2. Nf3) 2. Nf3 1-0\n\n[White \"B\"]\n\n1. e5 *\n";
//! let mut games = PgnReader::new(pgn.as_bytes());
//!
//! let first = games.next().expect("a game").expect("readable");
//! assert_eq!(first.mainline().count(), 3);
//! let mut out = Vec::new();
//! write_game(&first, &mut out)?;
//!
//! let broken = games.next().expect("a game").expect_err("e5 is not legal");
//! assert_eq!(broken.to_string(), "game 2 (line 5, byte 68): at ply 1, byte 84: `e5` is not a legal move");
//! # Ok::<_, std::io::Error>(())
//! ```
//!
//! | to find | look in |
//! |---|---|
//! | the tree of moves and its annotations | [`Game`], [`NodeId`], [`Notes`] |
//! | tag pairs | [`Headers`] |
//! | an encoder's view of a game | [`History`] |
//! | time controls and clocks | [`TimeControl`], [`Clock`] |
//! | phases of a game, speeds of time controls | [`Phase`], [`TimeClass`] |
//! | how games end | [`Outcome`], [`status`], [`Repetitions`] |
//! | PGN in | [`PgnReader`], [`RawGames`], [`read_game`], [`BrokenGame`] |
//! | PGN out | [`write_game`] |
//! | start positions at odds, of Chess960 | [`Odds`], [`Chess960`] |
//! | puzzles | [`Puzzle`] |
//! | FEN and EPD | [`position_from_fen`], [`EpdRecord`] |
#![forbid(unsafe_code)]

mod chess960;
mod clock;
mod epd;
mod fen;
mod headers;
mod history;
mod notes;
mod odds;
mod outcome;
mod pgn;
mod phase;
mod puzzle;
mod rating_pool;
mod rules;
mod time_class;
mod time_control;
mod tree;

pub use chess960::{Chess960, UnknownChess960};
pub use clock::{Clock, Press};
pub use epd::{BadEpdMove, EpdError, EpdProblem, EpdRecord, Operand, Operation};
pub use fen::{FenError, fen_of, position_from_fen};
pub use headers::{BadTagName, Headers, SEVEN_TAG_ROSTER};
pub use history::History;
pub use notes::{Evaluation, Notes};
pub use odds::{Odds, UnknownOdds};
pub use outcome::{DrawReason, Outcome, WinReason};
pub use pgn::{
    BrokenGame, DEFAULT_GAME_LIMIT, MissingResult, PgnReader, Place, Problem, RawGame, RawGames, ReadOptions,
    Variations, read_game, write_game,
};
pub use pgn_reader::Nag;
pub use phase::Phase;
pub use puzzle::{Puzzle, PuzzleError, PuzzleProblem};
pub use rules::{Repetitions, Status, status};
pub use time_class::TimeClass;
pub use time_control::{BadTimeControl, Stage, TimeControl};
pub use tree::{Game, IllegalMove, NodeId};
