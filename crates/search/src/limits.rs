use std::time::Duration;

use shakmaty::{ByColor, Move};

/// How long and how widely to search. The first limit reached ends the search; without any, a player uses its own default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// Maximum depth in plies.
    pub depth: Option<u32>,
    /// Maximum number of nodes.
    pub nodes: Option<u64>,
    /// Time for this move.
    pub movetime: Option<Duration>,
    /// Both clocks when the search starts.
    pub clocks: Option<ByColor<TimeLeft>>,
    /// Moves until the next time control; `None` for sudden death.
    pub moves_to_go: Option<u32>,
    /// Stop at a mate in this many moves.
    pub mate: Option<u32>,
    /// Search until stopped.
    pub infinite: bool,
    /// Search only these moves; all if empty.
    pub search_moves: Vec<Move>,
    /// How many lines to report (MultiPV).
    pub lines: usize,
    /// Search only those lines fully whose winning chance is within this of the best. Of the others an
    /// [upper bound](crate::Line::upper_bound) is reported, or no score where the search ended first. `None` searches all.
    pub within: Option<f64>,
}

/// One player's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeLeft {
    /// Time on the clock.
    pub remaining: Duration,
    /// Increment per move.
    pub increment: Duration,
}

impl Limits {
    /// Whether neither depth, nodes nor time is limited.
    pub fn is_unlimited(&self) -> bool {
        !self.infinite
            && self.depth.is_none()
            && self.nodes.is_none()
            && self.movetime.is_none()
            && self.clocks.is_none()
            && self.mate.is_none()
    }

    /// The depth, node and time limits of `own` with the moves and lines requested here.
    pub fn replaced_by(&self, own: &Limits) -> Limits {
        Limits {
            search_moves: self.search_moves.clone(),
            lines: self.lines,
            within: self.within,
            ..own.clone()
        }
    }
}
