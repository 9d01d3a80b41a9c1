//! One node of the principal variation search.

use std::ops::ControlFlow;

use arrayvec::ArrayVec;
use shakmaty::{Chess, Move, Position, attacks};

use super::{
    corrections::{CorrectionSlots, Corrections},
    histories::{Before, Histories, PieceTo},
    key,
    key_history::{KeyHistory, Kind},
    node_pruning::{refine_by_tt, tt_cutoff},
    ordering::{Killers, MoveClass, Ordered, OrderingContext, Ranked, is_tactical},
    packed_move::PackedMove,
    parameters::Parameters,
    pruning::{self, Selectivity, Trend},
    pv_table::PvTable,
    see,
    shared::{Shared, StopPoller},
    transposition_table::{Bound, Entry},
    value::{DRAW, INFINITE, MAX_EVAL, MAX_PLY, from_tt, is_decisive, mated_at, to_tt},
    window::Window,
};
use crate::Evaluator;

/// The search of one thread.
pub(super) struct Search<'a> {
    pub(super) shared: &'a Shared<'a>,
    pub(super) evaluator: &'a mut dyn Evaluator,
    pub(super) learnt: Learnt<'a>,
    pub(super) keys: KeyHistory,
    pub(super) pv: PvTable,
    pub(super) poller: StopPoller,
    /// Selective depth.
    pub(super) seldepth: usize,
    /// The depth of the iteration; lines are extended to at most twice of it.
    pub(super) root_depth: i32,
    frames: Vec<Frame>,
    /// The first ply at which null moves are allowed.
    pub(super) null_move_from: usize,
}

/// What a thread has learnt in the searches of a game.
pub(super) struct Learnt<'a> {
    pub(super) histories: &'a mut Histories,
    pub(super) corrections: &'a mut Corrections,
}

/// The search stack entry of a ply.
#[derive(Clone, Copy, Default)]
pub(super) struct Frame {
    /// The static evaluation, corrected; `None` in check.
    pub(super) evaluation: Option<i32>,
    /// The current move; `None` for a null move.
    pub(super) moved: Option<PieceTo>,
    /// The same.
    played: Option<Move>,
    /// How many children of the last nodes at this ply were cut off.
    cutoffs: i32,
    pub(super) killers: Killers,
    /// The move excluded by a singular search.
    pub(super) excluded: Option<Move>,
}

/// Frames before the root, so that every ply has four before it.
const FRAMES_BEFORE: usize = 4;

/// The expected type of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeType {
    /// A value inside the window.
    Pv,
    /// A value above the window.
    Cut,
    /// A value below the window.
    All,
}

impl NodeType {
    /// The type of its first child.
    fn below(self) -> NodeType {
        match self {
            NodeType::Pv => NodeType::Pv,
            NodeType::Cut => NodeType::All,
            NodeType::All => NodeType::Cut,
        }
    }
}

/// A node before its moves are searched.
pub(super) struct Node<'p> {
    pub(super) position: &'p Chess,
    pub(super) ply: usize,
    pub(super) depth: i32,
    pub(super) window: Window,
    pub(super) node_type: NodeType,
    pub(super) in_check: bool,
    pub(super) entry: Option<Entry>,
    /// The static evaluation; `None` in check.
    pub(super) raw: Option<i32>,
    /// The static evaluation, corrected and refined by the table; `None` in check.
    pub(super) estimate: Option<i32>,
    pub(super) trend: Trend,
    pub(super) before: Before,
    corrections: Option<CorrectionSlots>,
    pub(super) excluded: Option<Move>,
}

impl Node<'_> {
    /// Whether the table's move is a capture.
    fn best_is_capture(&self) -> bool {
        let to = self.entry.and_then(|entry| entry.best).map(PackedMove::to);
        to.is_some_and(|to| self.position.them().contains(to))
    }
}

/// The moves a node has searched, to update histories.
struct Tried {
    count: usize,
    quiet: ArrayVec<Move, 64>,
    tactical: ArrayVec<Move, 32>,
}

/// The best move and value of a node.
#[derive(Clone, Copy)]
pub(super) struct Best {
    pub(super) value: i32,
    pub(super) m: Option<Move>,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        shared: &'a Shared<'a>,
        evaluator: &'a mut dyn Evaluator,
        learnt: Learnt<'a>,
        keys: KeyHistory,
    ) -> Search<'a> {
        Search {
            shared,
            evaluator,
            learnt,
            keys,
            pv: PvTable::new(),
            poller: StopPoller::new(),
            seldepth: 0,
            root_depth: 0,
            frames: vec![Frame::default(); FRAMES_BEFORE + MAX_PLY + 2],
            null_move_from: 0,
        }
    }

    /// The start of every node: the window after mate distance pruning, or the value of a terminal node.
    #[inline]
    pub(super) fn enter_node(
        &mut self,
        position: &Chess,
        ply: usize,
        window: Window,
    ) -> ControlFlow<i32, Window> {
        self.pv.clear(ply);
        self.poller.count_node(self.shared);
        self.seldepth = self.seldepth.max(ply);
        if self.poller.stopped() {
            return ControlFlow::Break(DRAW);
        }
        if let Some(value) = self.terminal_value(position, ply) {
            return ControlFlow::Break(value);
        }
        if let Some(value) = self.shared.probe.value(position, ply) {
            return ControlFlow::Break(value);
        }
        let window = window.within_mates(ply);
        if window.is_empty() { ControlFlow::Break(window.alpha) } else { ControlFlow::Continue(window) }
    }

    /// The value of a position for the side to move at `depth`. Meaningless once the poller has stopped.
    pub(super) fn search(
        &mut self,
        position: &Chess,
        ply: usize,
        depth: i32,
        window: Window,
        node_type: NodeType,
    ) -> i32 {
        if depth <= 0 {
            return self.quiesce(position, ply, window);
        }
        let window = match self.enter_node(position, ply, window) {
            ControlFlow::Continue(window) => window,
            ControlFlow::Break(value) => return value,
        };
        let excluded = self.frame(ply).excluded;
        let entry = if excluded.is_some() { None } else { self.tt_probe() };
        if node_type != NodeType::Pv
            && let Some(entry) = entry
            && entry.depth >= depth
            && let Some(value) = tt_cutoff(entry, ply, window, position)
        {
            return value;
        }
        let mut node = self.static_eval(position, ply, depth, window, node_type, entry, excluded);
        if self.selective() {
            if let Some(value) = self.prune_node(&node) {
                return value;
            }
            let unknown = entry.is_none_or(|entry| entry.best.is_none());
            if unknown && depth >= pruning::INTERNAL_REDUCTION_DEPTH && node_type != NodeType::All {
                node.depth -= 1;
            }
        }
        self.search_moves(&node)
    }

    /// The value of a draw by rule, or of a line of maximum length.
    pub(super) fn terminal_value(&mut self, position: &Chess, ply: usize) -> Option<i32> {
        if self.keys.repeats() || position.is_insufficient_material() {
            return Some(DRAW);
        }
        // Mate takes precedence over the fifty-move rule.
        if position.halfmoves() >= 100 && !position.is_checkmate() {
            return Some(DRAW);
        }
        (ply >= MAX_PLY).then(|| self.evaluate(position))
    }

    pub(super) fn selective(&self) -> bool {
        self.shared.selectivity == Selectivity::Selective
    }

    /// The table entry of the current position.
    pub(super) fn tt_probe(&self) -> Option<Entry> {
        if self.selective() { self.shared.table.get(self.keys.key()) } else { None }
    }

    pub(super) fn tt_store(&self, ply: usize, entry: Entry) {
        let value = to_tt(entry.value, ply);
        self.shared.table.put(self.keys.key(), Entry { value, ..entry });
    }

    pub(super) fn evaluate(&mut self, position: &Chess) -> i32 {
        self.evaluator.evaluate(position).0.clamp(-MAX_EVAL, MAX_EVAL)
    }

    pub(super) fn frame(&mut self, ply: usize) -> &mut Frame {
        &mut self.frames[ply + FRAMES_BEFORE]
    }

    /// Sets up the frame of the root.
    pub(super) fn init_root(&mut self, position: &Chess) {
        let evaluation = (!position.is_check()).then(|| {
            let raw = self.evaluate(position);
            self.corrected(raw, self.correction_slots(position, 0))
        });
        *self.frame(0) = Frame { evaluation, ..Frame::default() };
    }

    /// The moves that led to a ply.
    pub(super) fn before(&self, ply: usize) -> Before {
        let back = |plies: usize| self.frames[ply + FRAMES_BEFORE - plies].moved;
        [back(1), back(2), back(4)]
    }

    /// Makes a move.
    pub(super) fn enter(&mut self, position: &Chess, m: Move, after: &Chess, ply: usize) {
        let key = key::after_move(self.keys.key(), position, m, after);
        self.shared.table.fetch(key);
        self.keys.push(key, if m.is_zeroing() { Kind::Irreversible } else { Kind::Reversible });
        self.evaluator.push(m, after);
        let frame = self.frame(ply);
        frame.moved = Some(PieceTo::of(position.turn(), m));
        frame.played = Some(m);
    }

    /// Where the corrections of a position are.
    pub(super) fn correction_slots(&self, position: &Chess, ply: usize) -> Option<CorrectionSlots> {
        CorrectionSlots::of(position, &self.before(ply), &self.shared.parameters)
    }

    /// A static evaluation with what earlier searches found of similar positions.
    pub(super) fn corrected(&self, raw: i32, slots: Option<CorrectionSlots>) -> i32 {
        let Some(slots) = slots.filter(|_| self.selective()) else { return raw };
        (raw + self.learnt.corrections.of(slots, &self.shared.parameters)).clamp(-MAX_EVAL, MAX_EVAL)
    }

    /// Takes back a move or a null move.
    pub(super) fn leave(&mut self) {
        self.evaluator.pop();
        self.keys.pop();
    }

    #[expect(clippy::too_many_arguments, reason = "the first half of search")]
    fn static_eval<'p>(
        &mut self,
        position: &'p Chess,
        ply: usize,
        depth: i32,
        window: Window,
        node_type: NodeType,
        entry: Option<Entry>,
        excluded: Option<Move>,
    ) -> Node<'p> {
        let in_check = position.is_check();
        let before = self.before(ply);
        let corrections = self.correction_slots(position, ply);
        let raw = if in_check || excluded.is_some() {
            None
        } else {
            entry.and_then(|entry| entry.evaluation).or_else(|| Some(self.evaluate(position)))
        };
        if excluded.is_none() {
            self.frame(ply).evaluation = raw.map(|raw| self.corrected(raw, corrections));
        }
        let evaluation = self.frame(ply).evaluation;
        self.frame(ply + 1).cutoffs = 0;
        let earlier = self.frames[ply + FRAMES_BEFORE - 2].evaluation;
        let improving = evaluation.zip(earlier).is_some_and(|(now, then)| now > then);
        Node {
            position,
            ply,
            depth,
            window,
            node_type,
            in_check,
            entry,
            raw,
            estimate: evaluation.map(|evaluation| refine_by_tt(evaluation, entry, ply)),
            trend: if improving { Trend::Improving } else { Trend::Worsening },
            before,
            corrections,
            excluded,
        }
    }

    fn search_moves(&mut self, node: &Node<'_>) -> i32 {
        let Node { position, ply, depth, .. } = *node;
        let mut moves = position.legal_moves();
        if moves.is_empty() {
            return if node.in_check { mated_at(ply) } else { DRAW };
        }
        let killers = self.frame(ply).killers;
        let from_table = node.entry.and_then(|entry| entry.best);
        let context =
            OrderingContext { histories: self.learnt.histories, from_table, killers, before: node.before };
        let ordered = Ordered::all(position, &mut moves, &context);
        let mut window = node.window;
        let mut best = Best { value: -INFINITE, m: None };
        let mut tried = Tried { count: 0, quiet: ArrayVec::new(), tactical: ArrayVec::new() };
        for Ranked { m, sort } in ordered {
            if node.excluded == Some(m) {
                continue;
            }
            if best.value > -MAX_EVAL && self.prunes_move(node, Ranked { m, sort }, &tried, window) {
                continue;
            }
            let extension = match self.singular_extension(node, m, &tried) {
                Extension::By(plies) => plies,
                Extension::Refuted(value) => return value,
            };
            let left = depth - 1 + extension;
            let value = self.search_move(node, Ranked { m, sort }, tried.count, best.value, window, left);
            if self.poller.stopped() {
                return DRAW;
            }
            tried.count += 1;
            if value > best.value {
                best.value = value;
                if value > window.alpha {
                    best.m = Some(m);
                    window.alpha = value;
                    self.pv.extend(ply, m);
                }
            }
            if value >= window.beta {
                self.update_histories(node, m, &tried);
                self.frame(ply).cutoffs += 1;
                break;
            }
            // Moves beyond the capacity are not recorded.
            let _full = if is_tactical(m) { tried.tactical.try_push(m) } else { tried.quiet.try_push(m) };
        }
        self.finish_node(node, best)
    }

    /// Stores and returns the value of a node.
    fn finish_node(&mut self, node: &Node<'_>, best: Best) -> i32 {
        if node.excluded.is_some() {
            // The excluded move may be the only one.
            return best.value.max(-MAX_EVAL);
        }
        let bound = if best.value >= node.window.beta {
            Bound::Lower
        } else if best.m.is_some() {
            Bound::Exact
        } else {
            Bound::Upper
        };
        if self.selective() {
            if bound == Bound::Upper {
                self.reward_refutation(node);
            }
            self.update_corrections(node, best, bound);
            let m = best.m.map(PackedMove::of);
            self.tt_store(
                node.ply,
                Entry { best: m, value: best.value, evaluation: node.raw, depth: node.depth, bound },
            );
        }
        best.value
    }

    /// Whether a move is pruned.
    fn prunes_move(
        &self,
        node: &Node<'_>,
        Ranked { m, sort }: Ranked,
        tried: &Tried,
        window: Window,
    ) -> bool {
        if !self.selective() {
            return false;
        }
        let Node { position, depth, .. } = *node;
        let parameters = &self.shared.parameters;
        match sort {
            MoveClass::GoodCapture => return false,
            MoveClass::BadCapture => {
                return depth <= parameters.exchange_depth
                    && !see::gains(position, m, parameters.capture_exchange_margin(depth));
            }
            MoveClass::Killer | MoveClass::Quiet if node.in_check || gives_direct_check(position, m) => {
                return false;
            }
            MoveClass::Killer | MoveClass::Quiet => {}
        }
        let reduced = (depth - parameters.late_move_reduction(depth, tried.count)).max(0);
        let record = || self.learnt.histories.of_quiet(position.turn(), m, &node.before);
        (depth <= parameters.quiet_limit_depth
            && tried.count >= parameters.quiet_move_limit(depth, node.trend))
            || (reduced <= parameters.futility_depth
                && node
                    .estimate
                    .is_some_and(|estimate| estimate + parameters.futility_margin(reduced) <= window.alpha)
                && !is_decisive(window.alpha))
            || (reduced <= parameters.history_pruning_depth && record() < parameters.history_margin(depth))
            || (reduced <= parameters.exchange_depth
                && !see::gains(position, m, parameters.quiet_exchange_margin(reduced)))
    }

    /// Singular extension of the table move, by a search without it.
    fn singular_extension(&mut self, node: &Node<'_>, m: Move, tried: &Tried) -> Extension {
        let Some(entry) = node.entry.filter(|_| tried.count == 0) else { return Extension::By(0) };
        let tt_value = from_tt(entry.value, node.ply);
        if node.depth < self.shared.parameters.singular_depth
            || !self.selective()
            || self.is_overextended(node.ply)
            || entry.best != Some(PackedMove::of(m))
            || entry.depth < node.depth - 3
            || !matches!(entry.bound, Bound::Lower | Bound::Exact)
            || is_decisive(tt_value)
        {
            return Extension::By(0);
        }
        let singular_beta = tt_value - self.shared.parameters.singular_margin_at(node.depth);
        self.frame(node.ply).excluded = Some(m);
        let window = Window::above(singular_beta - 1);
        let node_type = if node.node_type == NodeType::Cut { NodeType::Cut } else { NodeType::All };
        let without = self.search(node.position, node.ply, (node.depth - 1) / 2, window, node_type);
        self.frame(node.ply).excluded = None;
        if without < singular_beta {
            let margin = self.shared.parameters.double_extension;
            let is_double = margin > 0 && node.node_type != NodeType::Pv && without < singular_beta - margin;
            Extension::By(1 + i32::from(is_double))
        } else if node.node_type != NodeType::Pv && singular_beta >= node.window.beta {
            // Multi-cut: other moves fail high too.
            Extension::Refuted(singular_beta)
        } else if tt_value >= node.window.beta {
            Extension::By(-1)
        } else {
            Extension::By(0)
        }
    }

    fn is_overextended(&self, ply: usize) -> bool {
        ply >= 2 * self.root_depth.unsigned_abs() as usize
    }

    /// The value of a move for the side that makes it, after `tried` others with the value `best`. `depth` is that of the
    /// child.
    fn search_move(
        &mut self,
        node: &Node<'_>,
        ranked: Ranked,
        tried: usize,
        best: i32,
        window: Window,
        mut depth: i32,
    ) -> i32 {
        let mut after = node.position.clone();
        after.play_unchecked(ranked.m);
        let mut reduction = 0;
        if self.selective() {
            let check = after.is_check();
            if check
                && depth < node.depth
                && !self.is_overextended(node.ply)
                && see::gains(node.position, ranked.m, 0)
            {
                depth += 1;
            }
            if tried > 0 && node.depth >= pruning::LATE_MOVE_DEPTH {
                reduction = self.reduction(node, ranked, tried) - i32::from(check);
            }
        }
        self.enter(node.position, ranked.m, &after, node.ply);
        let below = node.ply + 1;
        let mut is_pv = node.node_type == NodeType::Pv;
        let mut value = 0;
        if tried > 0 || !is_pv {
            let above = Window::above(window.alpha).flipped();
            let reduced = (depth - reduction).clamp(depth.min(1), depth);
            let first = if tried > 0 { NodeType::Cut } else { node.node_type.below() };
            value = -self.search(&after, below, reduced, above, first);
            if value > window.alpha && reduced < depth {
                depth = self.depth_of_second_search(depth, value - best);
            }
            if value > window.alpha && reduced < depth {
                let again = if is_pv { NodeType::Cut } else { node.node_type.below() };
                value = -self.search(&after, below, depth, above, again);
            }
            is_pv &= value > window.alpha;
        }
        if is_pv && !self.poller.stopped() {
            value = -self.search(&after, below, depth, window.flipped(), NodeType::Pv);
        }
        self.leave();
        value
    }

    /// The depth at which a reduced move that failed high, by so much over the best value, is searched again.
    fn depth_of_second_search(&self, depth: i32, surplus: i32) -> i32 {
        let Parameters { deeper, shallower, .. } = self.shared.parameters;
        depth + i32::from(deeper > 0 && surplus > deeper) - i32::from(surplus < shallower)
    }

    /// Late move reduction.
    fn reduction(&self, node: &Node<'_>, Ranked { m, sort }: Ranked, tried: usize) -> i32 {
        let parameters = &self.shared.parameters;
        let mut plies = parameters.late_move_reduction(node.depth, tried + 1) - i32::from(node.in_check);
        plies += match node.node_type {
            NodeType::Pv => -1,
            NodeType::Cut => 1,
            NodeType::All => 0,
        };
        plies += i32::from(node.trend == Trend::Worsening);
        let cutoffs = self.frames[node.ply + 1 + FRAMES_BEFORE].cutoffs;
        plies += i32::from(parameters.answer_cutoffs > 0 && cutoffs >= parameters.answer_cutoffs);
        match sort {
            MoveClass::GoodCapture => 0,
            MoveClass::BadCapture => plies - 1,
            MoveClass::Killer => plies - 2,
            MoveClass::Quiet => {
                let turn = node.position.turn();
                let history = self.learnt.histories.of_quiet(turn, m, &node.before);
                let after_capture = i32::from(node.best_is_capture()) * parameters.reduction_after_capture;
                plies + after_capture - history / parameters.reduction_history
            }
        }
    }

    /// Rewards the quiet move that led to a node where nothing helps.
    fn reward_refutation(&mut self, node: &Node<'_>) {
        let share = self.shared.parameters.refutation_bonus;
        let Some(above) = node.ply.checked_sub(1).filter(|_| share > 0) else { return };
        if node.before[0].is_none() {
            return;
        }
        let Some(m) = self.frame(above).played.filter(|m| !is_tactical(*m)) else { return };
        let bonus = self.shared.parameters.history_bonus_at(node.depth) * share / 100;
        let before = self.before(above);
        self.learnt.histories.update_quiet(!node.position.turn(), m, &before, bonus);
    }

    /// Learns how far the static evaluation was off, where the value is known well enough to tell.
    fn update_corrections(&mut self, node: &Node<'_>, best: Best, bound: Bound) {
        let evaluation = self.frame(node.ply).evaluation.filter(|_| node.raw.is_some());
        let (Some(evaluation), Some(slots)) = (evaluation, node.corrections) else { return };
        let tells = match bound {
            Bound::None => false,
            Bound::Exact => true,
            Bound::Lower => best.value > evaluation,
            Bound::Upper => best.value < evaluation,
        };
        if tells && !best.m.is_some_and(is_tactical) && !is_decisive(best.value) {
            self.learnt.corrections.update(slots, best.value - evaluation, node.depth);
        }
    }

    /// Updates killers and histories after a cutoff.
    fn update_histories(&mut self, node: &Node<'_>, m: Move, tried: &Tried) {
        let turn = node.position.turn();
        let bonus = self.shared.parameters.history_bonus_at(node.depth);
        if is_tactical(m) {
            self.learnt.histories.update_capture(turn, m, bonus);
        } else {
            let killers = &mut self.frame(node.ply).killers;
            if killers[0] != Some(m) {
                *killers = [Some(m), killers[0]];
            }
            self.learnt.histories.update_quiet(turn, m, &node.before, bonus);
            for &worse in &tried.quiet {
                self.learnt.histories.update_quiet(turn, worse, &node.before, -bonus);
            }
        }
        for &worse in &tried.tactical {
            self.learnt.histories.update_capture(turn, worse, -bonus);
        }
    }
}

/// The result of a singular search.
enum Extension {
    /// Extend the table move by this much.
    By(i32),
    /// Return this value.
    Refuted(i32),
}

/// Whether the moved piece attacks the king; discovered checks are not detected.
fn gives_direct_check(position: &Chess, m: Move) -> bool {
    let (Some(from), Some(king)) = (m.from(), position.board().king_of(!position.turn())) else {
        return false;
    };
    let piece = m.promotion().unwrap_or(m.role()).of(position.turn());
    !m.is_castle()
        && attacks::attacks(m.to(), piece, position.board().occupied().without(from)).contains(king)
}
