//! The root of the search: candidates that keep their order, their values and their lines between iterations.

use shakmaty::{Chess, Move, Position};
use tabia_game::History;

use super::{
    ordering::{Clues, Ordered, is_noisy},
    pruning,
    search::{Expected, Search},
    value::INFINITE,
    window::Window,
};
use crate::{Limits, SearchError};

/// What the value of a candidate says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    /// It is its value.
    Exact,
    /// It is worth no more.
    Upper,
    /// The same, but the search has not shown that.
    Assumed,
}

/// A move to choose from.
#[derive(Clone, Debug)]
pub(super) struct RootMove {
    pub(super) m: Move,
    /// What the current pass over the moves found; minus [`INFINITE`] if nothing, or only that it is not better.
    value: i32,
    /// What the last finished iteration found.
    previous: i32,
    /// What the value says.
    bound: Bound,
    /// What the last move that was better than it was worth then.
    no_more_than: Option<i32>,
    /// The move and what should follow.
    pub(super) line: Vec<Move>,
    /// The iteration the line is of.
    pub(super) depth: i32,
    /// The longest line looked at.
    pub(super) deepest: usize,
    /// Nodes spent on it in this iteration.
    pub(super) nodes: u64,
}

impl RootMove {
    pub(super) fn new(m: Move) -> RootMove {
        RootMove {
            m,
            value: -INFINITE,
            previous: -INFINITE,
            bound: Bound::Exact,
            no_more_than: None,
            line: vec![m],
            depth: 0,
            deepest: 0,
            nodes: 0,
        }
    }

    /// The latest value there is; `None` if it was never looked at.
    pub(super) fn latest(&self) -> Option<i32> {
        [self.value, self.previous].into_iter().find(|&value| value > -INFINITE)
    }

    /// The search has shown that it is worth no more than this.
    pub(super) fn is_at_most(&mut self, most: i32) {
        self.value = most;
        self.bound = Bound::Upper;
    }

    /// It is taken to be worth no more than this until it is looked at by itself.
    pub(super) fn assume_at_most(&mut self, most: i32) {
        self.value = most;
        self.bound = Bound::Assumed;
    }

    /// It is worth no more than this, whatever was found earlier.
    pub(super) fn lower_to(&mut self, most: i32) {
        if self.latest().is_some_and(|latest| latest > most) {
            self.value = most;
        }
    }

    /// The latest value that the search has shown by looking at it alone, and whether that is only an upper bound.
    pub(super) fn shown(&self) -> Option<(i32, bool)> {
        match self.bound {
            Bound::Assumed => None,
            bound => self.latest().map(|value| (value, bound == Bound::Upper)),
        }
    }

    /// The same, or else what it was found to be no better than.
    pub(super) fn shown_or_bounded(&self) -> Option<(i32, bool)> {
        self.shown().or(self.no_more_than.map(|most| (most, true)))
    }

    /// A new iteration begins.
    pub(super) fn carry_over(&mut self) {
        if let Some(latest) = self.latest() {
            self.previous = latest;
        }
        self.value = -INFINITE;
        self.nodes = 0;
    }
}

/// The moves a player may choose from.
pub(super) fn candidates(game: &History, limits: &Limits) -> Result<Vec<RootMove>, SearchError> {
    let legal = game.current().legal_moves();
    if legal.is_empty() {
        return Err(SearchError::GameOver);
    }
    let wanted = |m: &Move| limits.search_moves.is_empty() || limits.search_moves.contains(m);
    let moves: Vec<RootMove> = legal.into_iter().filter(wanted).map(RootMove::new).collect();
    if moves.is_empty() { Err(SearchError::NoSuchMove) } else { Ok(moves) }
}

impl Search<'_> {
    /// Puts the candidates in the order in which a node would try them.
    pub(super) fn order_candidates(&self, position: &Chess, moves: &mut [RootMove]) {
        let from_table = self.tt_probe().and_then(|entry| entry.best);
        let clues = Clues { histories: self.histories, from_table, killers: [None; 2], before: [None; 3] };
        let order: Vec<Move> =
            Ordered::all(position, &mut position.legal_moves(), &clues).map(|ranked| ranked.m).collect();
        moves.sort_by_key(|candidate| order.iter().position(|&m| m == candidate.m));
    }

    /// Looks `depth` plies ahead along each of `moves`, and puts the best first. Returns its value, which is a bound
    /// if it lies outside the window.
    pub(super) fn search_root(
        &mut self,
        position: &Chess,
        moves: &mut [RootMove],
        depth: i32,
        mut window: Window,
    ) -> i32 {
        for candidate in &mut *moves {
            candidate.value = -INFINITE;
        }
        let mut best = -INFINITE;
        for (place, candidate) in moves.iter_mut().enumerate() {
            let before = self.poller.nodes();
            self.deepest = 0;
            let value = self.search_candidate(position, candidate.m, place, depth, window);
            candidate.nodes += self.poller.nodes() - before;
            if self.poller.stopped() {
                break;
            }
            best = best.max(value);
            if place == 0 || value > window.alpha {
                candidate.value = value;
                candidate.bound = Bound::Exact;
                candidate.no_more_than = None;
                candidate.depth = depth;
                candidate.deepest = self.deepest;
                candidate.line.clear();
                candidate.line.push(candidate.m);
                candidate.line.extend_from_slice(self.pv.from(1));
            } else {
                candidate.no_more_than = Some(window.alpha);
            }
            window.alpha = window.alpha.max(value);
            if window.is_empty() {
                break;
            }
        }
        // Stable, so that what was not better stays where it was.
        moves.sort_by_key(|candidate| -candidate.value);
        best
    }

    fn search_candidate(
        &mut self,
        position: &Chess,
        m: Move,
        place: usize,
        depth: i32,
        window: Window,
    ) -> i32 {
        let mut after = position.clone();
        after.play_unchecked(m);
        self.enter(position, m, &after, 0);
        let mut depth = depth - 1;
        let mut reduction = 0;
        if self.selective() {
            let check = after.is_check();
            depth += i32::from(check);
            if place > 2 && !is_noisy(m) && !check && depth >= pruning::LATE_MOVE_DEPTH {
                reduction = (pruning::late_move_reduction(depth, place) - 1).clamp(0, depth - 1);
            }
        }
        let mut value = window.alpha + 1;
        if place > 0 {
            let above = Window::above(window.alpha).flipped();
            value = -self.search(&after, 1, depth - reduction, above, Expected::Cut);
            if value > window.alpha && reduction > 0 {
                value = -self.search(&after, 1, depth, above, Expected::Cut);
            }
        }
        if value > window.alpha && !self.poller.stopped() {
            value = -self.search(&after, 1, depth, window.flipped(), Expected::Principal);
        }
        self.leave();
        value
    }
}
