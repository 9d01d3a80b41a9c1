//! Values of nodes that are known or guessed before any of their moves is looked at.

use shakmaty::{Chess, Position};

use super::{
    key,
    key_history::Kind,
    pruning,
    search::{Expected, Node, Search},
    table::{Bound, Entry},
    value::{from_table, is_decided},
    window::Window,
};

impl Search<'_> {
    /// The value of a node that can be guessed without looking at its moves.
    pub(super) fn prune_node(&mut self, node: &Node<'_>) -> Option<i32> {
        let Node { position, ply, depth, window, .. } = *node;
        let estimate = node.estimate?;
        if node.expected == Expected::Principal || node.excluded.is_some() {
            return None;
        }
        if depth <= pruning::RAZORING_DEPTH && estimate + pruning::razoring_margin(depth) <= window.alpha {
            let value = self.quiesce(position, ply, window);
            if value <= window.alpha {
                return Some(value);
            }
        }
        if is_decided(window.beta) || estimate < window.beta {
            return None;
        }
        if depth <= pruning::REVERSE_FUTILITY_DEPTH
            && !is_decided(estimate)
            && estimate - pruning::reverse_futility_margin(depth, node.trend) >= window.beta
        {
            return Some((estimate + window.beta) / 2);
        }
        self.try_passing(node, estimate)
    }

    /// A position so good that passing keeps it above beta. Not tried twice in a row, nor with pawns alone, when
    /// having to move may be a burden.
    fn try_passing(&mut self, node: &Node<'_>, estimate: i32) -> Option<i32> {
        let Node { position, ply, depth, window, .. } = *node;
        let pieces = position.us() & !(position.board().pawns() | position.board().kings());
        if depth < pruning::NULL_MOVE_DEPTH
            || ply < self.passing_from
            || node.before[0].is_none()
            || pieces.is_empty()
        {
            return None;
        }
        let passed = position.clone().swap_turn().ok()?;
        let reduced = depth - pruning::null_move_reduction(depth, estimate - window.beta);
        self.keys.push(key::pass(self.keys.key(), position), Kind::Irreversible);
        self.evaluator.push_null(&passed);
        self.frame(ply).moved = None;
        let below = Window::above(window.beta - 1).flipped();
        let value = -self.search(&passed, ply + 1, reduced, below, Expected::Cut);
        self.leave();
        if self.poller.stopped() || value < window.beta {
            return None;
        }
        // A mate found by passing is no proven mate.
        let value = if is_decided(value) { window.beta } else { value };
        let trusted = depth < pruning::VERIFIED_DEPTH && pieces.more_than_one();
        (trusted || self.holds_without_passing(node, reduced)).then_some(value)
    }

    /// Whether a node stays above beta when its side has to move: what passing promised may be zugzwang.
    fn holds_without_passing(&mut self, node: &Node<'_>, reduced: i32) -> bool {
        let outer = self.passing_from;
        self.passing_from = node.ply + 1 + (reduced.max(0).unsigned_abs() as usize) * 3 / 4;
        let window = Window::above(node.window.beta - 1);
        let value = self.search(node.position, node.ply, reduced.max(1), window, Expected::Cut);
        self.passing_from = outer;
        value >= node.window.beta
    }
}

/// The value of an entry that settles the window.
pub(super) fn decisive(entry: Entry, ply: usize, window: Window, position: &Chess) -> Option<i32> {
    // Near a draw by the fifty-move rule, a value from another keys may be wrong.
    if position.halfmoves() >= 90 {
        return None;
    }
    let value = from_table(entry.value, ply);
    let settles = match entry.bound {
        Bound::None => false,
        Bound::Exact => true,
        Bound::Lower => value >= window.beta,
        Bound::Upper => value <= window.alpha,
    };
    settles.then_some(value)
}

/// The evaluation, unless the table holds a value that says more.
pub(super) fn refined(evaluation: i32, entry: Option<Entry>, ply: usize) -> i32 {
    let Some(entry) = entry else { return evaluation };
    let value = from_table(entry.value, ply);
    let better = match entry.bound {
        Bound::None => false,
        Bound::Exact => true,
        Bound::Lower => value > evaluation,
        Bound::Upper => value < evaluation,
    };
    if better { value } else { evaluation }
}
