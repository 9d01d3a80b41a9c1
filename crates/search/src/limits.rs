use std::time::Duration;

use shakmaty::{ByColor, Move};

/// How long a player may think. Without any limit set, a player uses its own default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// Plies to look ahead.
    pub depth: Option<u32>,
    /// Positions to visit.
    pub nodes: Option<u64>,
    /// Time for this move.
    pub movetime: Option<Duration>,
    /// Both clocks, as they stand when the player starts to think.
    pub clocks: Option<ByColor<TimeLeft>>,
    /// Moves until the next time control; `None` is for the rest of the game.
    pub moves_to_go: Option<u32>,
    /// A mate in this many moves is wanted.
    pub mate: Option<u32>,
    /// Think until told to stop.
    pub infinite: bool,
    /// Choose among these moves only; empty is all.
    pub search_moves: Vec<Move>,
    /// How many of the best moves to report.
    pub lines: usize,
    /// Of these, only moves that cost no more than this of the chance to win, against the best, are looked at closely; of
    /// the others an [upper bound](crate::Line::upper_bound) is reported, or no score where the search ended before it came
    /// to them at all. Without it all of them are looked at.
    pub within: Option<f64>,
}

/// One player's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeLeft {
    /// What the clock shows.
    pub remaining: Duration,
    /// What each move adds.
    pub increment: Duration,
}
