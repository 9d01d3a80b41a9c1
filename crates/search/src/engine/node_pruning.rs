//! Pruning of whole nodes: razoring, reverse futility, null moves and table cutoffs.

use shakmaty::{Chess, Position};

use super::{
    key,
    key_history::Kind,
    ordering::{Ordered, OrderingContext, Ranked},
    packed_move::PackedMove,
    pruning,
    quiescence::tactical_moves,
    search::{Node, NodeType, Search},
    see,
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
        let parameters = &self.shared.parameters;
        if depth <= parameters.razoring_depth && estimate + parameters.razoring_margin(depth) <= window.alpha
        {
            let value = self.quiesce(position, ply, window);
            if value <= window.alpha {
                return Some(value);
            }
        }
        if is_decisive(window.beta) {
            return None;
        }
        if estimate < window.beta {
            return self.probcut(node, estimate);
        }
        if depth <= parameters.reverse_futility_depth
            && !is_decisive(estimate)
            && estimate - parameters.reverse_futility_margin(depth, node.trend) >= window.beta
        {
            return Some((estimate + window.beta) / 2);
        }
        self.null_move(node, estimate).or_else(|| self.probcut(node, estimate))
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
        let reduced = depth - self.shared.parameters.null_move_reduction(depth, estimate - window.beta);
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

    /// ProbCut: a capture that a shallow search finds well above beta will be above beta in a deep one.
    fn probcut(&mut self, node: &Node<'_>, estimate: i32) -> Option<i32> {
        let Node { position, ply, depth, window, .. } = *node;
        let margin = self.shared.parameters.probcut;
        let beta = window.beta + margin;
        let reduced = depth - pruning::PROBCUT_REDUCTION;
        if margin == 0 || depth < pruning::PROBCUT_DEPTH || is_decisive(beta) || self.poller.stopped() {
            return None;
        }
        if node.entry.is_some_and(|entry| entry.depth >= reduced && from_tt(entry.value, ply) < beta) {
            return None;
        }
        let from_table = node.entry.and_then(|entry| entry.best);
        let histories = &*self.learnt.histories;
        let context = OrderingContext { histories, from_table, killers: [None; 2], before: node.before };
        let mut moves = tactical_moves(position);
        let ordered = Ordered::tactical(position, &mut moves, &context);
        for Ranked { m, .. } in ordered {
            if !see::gains(position, m, beta - estimate) {
                continue;
            }
            let mut after = position.clone();
            after.play_unchecked(m);
            self.enter(position, m, &after, ply);
            let above = Window::above(beta - 1).flipped();
            let mut value = -self.quiesce(&after, ply + 1, above);
            if value >= beta {
                value = -self.search(&after, ply + 1, reduced, above, NodeType::All);
            }
            self.leave();
            if self.poller.stopped() {
                return None;
            }
            if value >= beta {
                let best = Some(PackedMove::of(m));
                let entry =
                    Entry { best, value, evaluation: node.raw, depth: reduced + 1, bound: Bound::Lower };
                self.tt_store(ply, entry);
                return Some(value);
            }
        }
        None
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
