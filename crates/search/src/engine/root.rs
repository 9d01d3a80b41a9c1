//! The root node: moves that keep their order, values and lines between iterations.

use shakmaty::{Chess, Move, Position};
use tabia_game::History;

use super::{
    ordering::{Ordered, OrderingContext, is_tactical},
    pruning,
    search::{NodeType, Search},
    value::INFINITE,
    window::Window,
};
use crate::{Limits, SearchError};

/// The bound of a root move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    /// Its exact value.
    Exact,
    /// An upper bound.
    Upper,
    /// An upper bound that is assumed.
    Assumed,
}

/// A root move.
#[derive(Clone, Debug)]
pub(super) struct RootMove {
    pub(super) m: Move,
    /// The value of the current pass; minus [`INFINITE`] if not searched or not better.
    value: i32,
    /// The value of the last finished iteration.
    previous: i32,
    /// The bound of the value.
    bound: Bound,
    /// An upper bound: alpha when it last failed low.
    no_more_than: Option<i32>,
    /// Its principal variation.
    pub(super) line: Vec<Move>,
    /// The depth of the line.
    pub(super) depth: i32,
    /// Its selective depth.
    pub(super) seldepth: usize,
    /// Its nodes in this iteration.
    pub(super) nodes: u64,
    /// Its value by endgame tables.
    pub(super) table: Option<i32>,
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
            seldepth: 0,
            nodes: 0,
            table: None,
        }
    }

    /// The latest value; `None` if it was never searched.
    pub(super) fn latest(&self) -> Option<i32> {
        [self.value, self.previous].into_iter().find(|&value| value > -INFINITE)
    }

    /// Sets a proven upper bound.
    pub(super) fn is_at_most(&mut self, most: i32) {
        self.value = most;
        self.bound = Bound::Upper;
    }

    /// Sets an assumed upper bound.
    pub(super) fn assume_at_most(&mut self, most: i32) {
        self.value = most;
        self.bound = Bound::Assumed;
    }

    /// Caps its value.
    pub(super) fn lower_to(&mut self, most: i32) {
        if self.latest().is_some_and(|latest| latest > most) {
            self.value = most;
        }
    }

    /// The latest proven value, and whether it is an upper bound.
    pub(super) fn shown(&self) -> Option<(i32, bool)> {
        match self.bound {
            Bound::Assumed => None,
            bound => self.latest().map(|value| (value, bound == Bound::Upper)),
        }
    }

    /// The same, or the upper bound of its last fail-low.
    pub(super) fn shown_or_bounded(&self) -> Option<(i32, bool)> {
        self.shown().or(self.no_more_than.map(|most| (most, true)))
    }

    /// Prepares for the next iteration.
    pub(super) fn carry_over(&mut self) {
        if let Some(latest) = self.latest() {
            self.previous = latest;
        }
        self.value = -INFINITE;
        self.nodes = 0;
    }
}

/// The root moves.
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
    /// Orders the root moves as in any node.
    pub(super) fn order_candidates(&self, position: &Chess, moves: &mut [RootMove]) {
        let from_table = self.tt_probe().and_then(|entry| entry.best);
        let context = OrderingContext {
            histories: self.learnt.histories,
            from_table,
            killers: [None; 2],
            before: [None; 3],
        };
        let order: Vec<Move> =
            Ordered::all(position, &mut position.legal_moves(), &context).map(|ranked| ranked.m).collect();
        moves.sort_by_key(|candidate| order.iter().position(|&m| m == candidate.m));
    }

    /// Searches all `moves` to `depth` and puts the best first. Returns its value, a bound outside the window.
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
            self.seldepth = 0;
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
                candidate.seldepth = self.seldepth;
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
        // Stable: moves that were not better keep their order.
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
            if place > 2 && !is_tactical(m) && !check && depth >= pruning::LATE_MOVE_DEPTH {
                reduction =
                    (self.shared.parameters.late_move_reduction(depth, place) - 1).clamp(0, depth - 1);
            }
        }
        let mut value = window.alpha + 1;
        if place > 0 {
            let above = Window::above(window.alpha).flipped();
            value = -self.search(&after, 1, depth - reduction, above, NodeType::Cut);
            if value > window.alpha && reduction > 0 {
                value = -self.search(&after, 1, depth, above, NodeType::Cut);
            }
        }
        if value > window.alpha && !self.poller.stopped() {
            value = -self.search(&after, 1, depth, window.flipped(), NodeType::Pv);
        }
        self.leave();
        value
    }
}
