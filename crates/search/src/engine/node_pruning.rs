//! Pruning of whole nodes: razoring, reverse futility, null moves and table cutoffs.

use shakmaty::{Chess, Position};

use super::{
    key,
    key_history::Kind,
    pruning,
    search::{Node, NodeType, Search},
    transposition_table::{Bound, Entry},
    value::{from_tt, is_decisive},
    window::Window,
};

impl Search<'_> {
    /// The value of a node that is pruned.
    pub(super) fn prune_node(&mut self, node: &Node<'_>) -> Option<i32> {
        let Node { position, ply, depth, window, .. } = *node;
        let estimate = node.estimate?;
        if node.node_type == NodeType::Pv || node.excluded.is_some() {
            return None;
        }
        if depth <= pruning::RAZORING_DEPTH && estimate + pruning::razoring_margin(depth) <= window.alpha {
            let value = self.quiesce(position, ply, window);
            if value <= window.alpha {
                return Some(value);
            }
        }
        if is_decisive(window.beta) || estimate < window.beta {
            return None;
        }
        if depth <= pruning::REVERSE_FUTILITY_DEPTH
            && !is_decisive(estimate)
            && estimate - pruning::reverse_futility_margin(depth, node.trend) >= window.beta
        {
            return Some((estimate + window.beta) / 2);
        }
        self.null_move(node, estimate)
    }

    /// Null move pruning. Not tried twice in a row, nor with pawns alone because of zugzwang.
    fn null_move(&mut self, node: &Node<'_>, estimate: i32) -> Option<i32> {
        let Node { position, ply, depth, window, .. } = *node;
        let pieces = position.us() & !(position.board().pawns() | position.board().kings());
        if depth < pruning::NULL_MOVE_DEPTH
            || ply < self.null_move_from
            || node.before[0].is_none()
            || pieces.is_empty()
        {
            return None;
        }
        let passed = position.clone().swap_turn().ok()?;
        let reduced = depth - pruning::null_move_reduction(depth, estimate - window.beta);
        self.keys.push(key::after_null_move(self.keys.key(), position), Kind::Irreversible);
        self.evaluator.push_null(&passed);
        self.frame(ply).moved = None;
        let below = Window::above(window.beta - 1).flipped();
        let value = -self.search(&passed, ply + 1, reduced, below, NodeType::Cut);
        self.leave();
        if self.poller.stopped() || value < window.beta {
            return None;
        }
        // A mate after a null move is not proven.
        let value = if is_decisive(value) { window.beta } else { value };
        let trusted = depth < pruning::VERIFIED_DEPTH && pieces.more_than_one();
        (trusted || self.null_move_holds(node, reduced)).then_some(value)
    }

    /// Verification search against zugzwang.
    fn null_move_holds(&mut self, node: &Node<'_>, reduced: i32) -> bool {
        let outer = self.null_move_from;
        self.null_move_from = node.ply + 1 + (reduced.max(0).unsigned_abs() as usize) * 3 / 4;
        let window = Window::above(node.window.beta - 1);
        let value = self.search(node.position, node.ply, reduced.max(1), window, NodeType::Cut);
        self.null_move_from = outer;
        value >= node.window.beta
    }
}

/// The value of an entry that causes a cutoff.
pub(super) fn tt_cutoff(entry: Entry, ply: usize, window: Window, position: &Chess) -> Option<i32> {
    // Near the fifty-move rule, a value from another path may be wrong.
    if position.halfmoves() >= 90 {
        return None;
    }
    let value = from_tt(entry.value, ply);
    let settles = match entry.bound {
        Bound::None => false,
        Bound::Exact => true,
        Bound::Lower => value >= window.beta,
        Bound::Upper => value <= window.alpha,
    };
    settles.then_some(value)
}

/// The evaluation, or the value of the table where its bound allows.
pub(super) fn refine_by_tt(evaluation: i32, entry: Option<Entry>, ply: usize) -> i32 {
    let Some(entry) = entry else { return evaluation };
    let value = from_tt(entry.value, ply);
    let better = match entry.bound {
        Bound::None => false,
        Bound::Exact => true,
        Bound::Lower => value > evaluation,
        Bound::Upper => value < evaluation,
    };
    if better { value } else { evaluation }
}
