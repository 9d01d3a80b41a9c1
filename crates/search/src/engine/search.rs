//! One node of the principal variation search.

use std::ops::ControlFlow;

use arrayvec::ArrayVec;
use shakmaty::{Chess, Move, Position, attacks};

use super::{
    histories::{Before, Histories, PieceTo},
    key,
    key_history::{KeyHistory, Kind},
    ordering::{Clues, Killers, Ordered, Ranked, Sort, is_noisy},
    packed::PackedMove,
    pruning::{self, Selectivity, Trend},
    pv_table::PvTable,
    see,
    shared::{Shared, StopPoller},
    shortcuts::{decisive, refined},
    table::{Bound, Entry},
    value::{DRAW, INFINITE, MAX_EVAL, MAX_PLY, from_table, is_decided, mated_at, to_table},
    window::Window,
};
use crate::Evaluator;

/// A search under way on one thread.
pub(super) struct Search<'a> {
    pub(super) shared: &'a Shared<'a>,
    pub(super) evaluator: &'a mut dyn Evaluator,
    pub(super) histories: &'a mut Histories,
    pub(super) keys: KeyHistory,
    pub(super) pv: PvTable,
    pub(super) poller: StopPoller,
    /// The longest line looked at.
    pub(super) deepest: usize,
    /// The iteration's depth: lines are extended to at most twice of it.
    pub(super) root_depth: i32,
    frames: Vec<Frame>,
    /// The first ply at which a side may pass.
    pub(super) passing_from: usize,
}

/// What a node leaves for the nodes around it.
#[derive(Clone, Copy, Default)]
pub(super) struct Frame {
    pub(super) evaluation: Option<i32>,
    /// The move being looked at; `None` when the side to move passes.
    pub(super) moved: Option<PieceTo>,
    pub(super) killers: Killers,
    /// A move left out, to see what the position is worth without it.
    pub(super) excluded: Option<Move>,
}

/// Frames before the root's, so that every ply has four before it.
const FRAMES_BEFORE: usize = 4;

/// What is expected of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// A value inside the window.
    Principal,
    /// A value above the window, by one of the first moves.
    Cut,
    /// A value below the window, after all moves.
    All,
}

impl Expected {
    /// What to expect of the first child of such a node.
    fn below(self) -> Expected {
        match self {
            Expected::Principal => Expected::Principal,
            Expected::Cut => Expected::All,
            Expected::All => Expected::Cut,
        }
    }
}

/// What a node knows before it looks at its moves.
pub(super) struct Node<'p> {
    pub(super) position: &'p Chess,
    pub(super) ply: usize,
    pub(super) depth: i32,
    pub(super) window: Window,
    pub(super) expected: Expected,
    pub(super) in_check: bool,
    pub(super) entry: Option<Entry>,
    /// The evaluation, or what the table knows better; `None` in check.
    pub(super) estimate: Option<i32>,
    pub(super) trend: Trend,
    pub(super) before: Before,
    pub(super) excluded: Option<Move>,
}

/// Moves a node has looked at, to learn from.
struct Tried {
    count: usize,
    quiet: ArrayVec<Move, 64>,
    noisy: ArrayVec<Move, 32>,
}

/// The best a node has found.
#[derive(Clone, Copy)]
pub(super) struct Best {
    pub(super) value: i32,
    pub(super) m: Option<Move>,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        shared: &'a Shared<'a>,
        evaluator: &'a mut dyn Evaluator,
        histories: &'a mut Histories,
        keys: KeyHistory,
    ) -> Search<'a> {
        Search {
            shared,
            evaluator,
            histories,
            keys,
            pv: PvTable::new(),
            poller: StopPoller::new(),
            deepest: 0,
            root_depth: 0,
            frames: vec![Frame::default(); FRAMES_BEFORE + MAX_PLY + 2],
            passing_from: 0,
        }
    }

    /// What every node begins with: the window that is left to look at, or the value where there is nothing to look at.
    #[inline]
    pub(super) fn arrive(
        &mut self,
        position: &Chess,
        ply: usize,
        window: Window,
    ) -> ControlFlow<i32, Window> {
        self.pv.clear(ply);
        self.poller.beat(self.shared);
        self.deepest = self.deepest.max(ply);
        if self.poller.stopped() {
            return ControlFlow::Break(DRAW);
        }
        if let Some(value) = self.verdict(position, ply) {
            return ControlFlow::Break(value);
        }
        let window = window.within_mates(ply);
        if window.is_empty() { ControlFlow::Break(window.alpha) } else { ControlFlow::Continue(window) }
    }

    /// The value of a position for its side to move, `depth` plies ahead. Means nothing once the poller has stopped.
    pub(super) fn search(
        &mut self,
        position: &Chess,
        ply: usize,
        depth: i32,
        window: Window,
        expected: Expected,
    ) -> i32 {
        if depth <= 0 {
            return self.quiesce(position, ply, window);
        }
        let window = match self.arrive(position, ply, window) {
            ControlFlow::Continue(window) => window,
            ControlFlow::Break(value) => return value,
        };
        let excluded = self.frame(ply).excluded;
        let entry = if excluded.is_some() { None } else { self.tt_probe() };
        if expected != Expected::Principal
            && let Some(entry) = entry
            && entry.depth >= depth
            && let Some(value) = decisive(entry, ply, window, position)
        {
            return value;
        }
        let mut node = self.static_eval(position, ply, depth, window, expected, entry, excluded);
        if self.selective() {
            if let Some(value) = self.prune_node(&node) {
                return value;
            }
            let unknown = entry.is_none_or(|entry| entry.best.is_none());
            if unknown && depth >= pruning::INTERNAL_REDUCTION_DEPTH && expected != Expected::All {
                node.depth -= 1;
            }
        }
        self.search_moves(&node)
    }

    /// The value of a position that needs no search: a draw by rule, or the longest line there is.
    pub(super) fn verdict(&mut self, position: &Chess, ply: usize) -> Option<i32> {
        if self.keys.repeats() || position.is_insufficient_material() {
            return Some(DRAW);
        }
        // Mate on the last move of the fifty comes before the draw.
        if position.halfmoves() >= 100 && !position.is_checkmate() {
            return Some(DRAW);
        }
        (ply >= MAX_PLY).then(|| self.evaluate(position))
    }

    pub(super) fn selective(&self) -> bool {
        self.shared.selectivity == Selectivity::Selective
    }

    /// What the table knows of where the search stands.
    pub(super) fn tt_probe(&self) -> Option<Entry> {
        if self.selective() { self.shared.table.get(self.keys.key()) } else { None }
    }

    pub(super) fn tt_store(&self, ply: usize, entry: Entry) {
        let value = to_table(entry.value, ply);
        self.shared.table.put(self.keys.key(), Entry { value, ..entry });
    }

    pub(super) fn evaluate(&mut self, position: &Chess) -> i32 {
        self.evaluator.evaluate(position).0.clamp(-MAX_EVAL, MAX_EVAL)
    }

    pub(super) fn frame(&mut self, ply: usize) -> &mut Frame {
        &mut self.frames[ply + FRAMES_BEFORE]
    }

    /// Sets up the frame of the root, where no node looks around.
    pub(super) fn begin(&mut self, position: &Chess) {
        let evaluation = (!position.is_check()).then(|| self.evaluate(position));
        *self.frame(0) = Frame { evaluation, ..Frame::default() };
    }

    /// The moves that led to a ply.
    pub(super) fn before(&self, ply: usize) -> Before {
        let back = |plies: usize| self.frames[ply + FRAMES_BEFORE - plies].moved;
        [back(1), back(2), back(4)]
    }

    /// Makes a move: everything that follows the line of play moves along.
    pub(super) fn enter(&mut self, position: &Chess, m: Move, after: &Chess, ply: usize) {
        let key = key::follow(self.keys.key(), position, m, after);
        self.shared.table.fetch(key);
        self.keys.push(key, if m.is_zeroing() { Kind::Irreversible } else { Kind::Reversible });
        self.evaluator.push(m, after);
        self.frame(ply).moved = Some(PieceTo::of(position.turn(), m));
    }

    /// Takes it back.
    pub(super) fn leave(&mut self) {
        self.evaluator.pop();
        self.keys.pop();
    }

    #[expect(clippy::too_many_arguments, reason = "it is the first half of search, which has them all")]
    fn static_eval<'p>(
        &mut self,
        position: &'p Chess,
        ply: usize,
        depth: i32,
        window: Window,
        expected: Expected,
        entry: Option<Entry>,
        excluded: Option<Move>,
    ) -> Node<'p> {
        let in_check = position.is_check();
        let evaluation = if in_check {
            None
        } else if excluded.is_some() {
            self.frame(ply).evaluation
        } else {
            entry.and_then(|entry| entry.evaluation).or_else(|| Some(self.evaluate(position)))
        };
        self.frame(ply).evaluation = evaluation;
        let earlier = self.frames[ply + FRAMES_BEFORE - 2].evaluation;
        let improving = evaluation.zip(earlier).is_some_and(|(now, then)| now > then);
        Node {
            position,
            ply,
            depth,
            window,
            expected,
            in_check,
            entry,
            estimate: evaluation.map(|evaluation| refined(evaluation, entry, ply)),
            trend: if improving { Trend::Improving } else { Trend::Worsening },
            before: self.before(ply),
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
        let clues = Clues { histories: self.histories, from_table, killers, before: node.before };
        let ordered = Ordered::all(position, &mut moves, &clues);
        let mut window = node.window;
        let mut best = Best { value: -INFINITE, m: None };
        let mut tried = Tried { count: 0, quiet: ArrayVec::new(), noisy: ArrayVec::new() };
        for Ranked { m, sort } in ordered {
            if node.excluded == Some(m) {
                continue;
            }
            if best.value > -MAX_EVAL && self.skips(node, Ranked { m, sort }, &tried, window) {
                continue;
            }
            let extension = match self.singular_extension(node, m, &tried) {
                Extension::By(plies) => plies,
                Extension::Refuted(value) => return value,
            };
            let left = depth - 1 + extension;
            let value = self.search_move(node, Ranked { m, sort }, tried.count, window, left);
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
                self.learn(node, m, &tried);
                break;
            }
            // Beyond the capacity nothing more is learned.
            let _full = if is_noisy(m) { tried.noisy.try_push(m) } else { tried.quiet.try_push(m) };
        }
        self.conclude(node, best)
    }

    /// Remembers and returns what a node found.
    fn conclude(&mut self, node: &Node<'_>, best: Best) -> i32 {
        if node.excluded.is_some() {
            // With its only move left out, a position is worth nothing better than the window says.
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
            let evaluation = self.frame(node.ply).evaluation;
            let m = best.m.map(PackedMove::of);
            self.tt_store(
                node.ply,
                Entry { best: m, value: best.value, evaluation, depth: node.depth, bound },
            );
        }
        best.value
    }

    /// Whether a move is so unlikely to matter that it is left out.
    fn skips(&self, node: &Node<'_>, Ranked { m, sort }: Ranked, tried: &Tried, window: Window) -> bool {
        if !self.selective() {
            return false;
        }
        let Node { position, depth, .. } = *node;
        match sort {
            Sort::Gain => return false,
            Sort::Loss => {
                return depth <= pruning::EXCHANGE_DEPTH
                    && !see::gains(position, m, pruning::capture_exchange_margin(depth));
            }
            Sort::Killer | Sort::NoControl if node.in_check || checks_directly(position, m) => return false,
            Sort::Killer | Sort::NoControl => {}
        }
        let reduced = (depth - pruning::late_move_reduction(depth, tried.count)).max(0);
        let record = || self.histories.of_quiet(position.turn(), m, &node.before);
        (depth <= pruning::QUIET_LIMIT_DEPTH && tried.count >= pruning::quiet_move_limit(depth, node.trend))
            || (reduced <= pruning::FUTILITY_DEPTH
                && node
                    .estimate
                    .is_some_and(|estimate| estimate + pruning::futility_margin(reduced) <= window.alpha)
                && !is_decided(window.alpha))
            || (reduced <= pruning::HISTORY_DEPTH && record() < pruning::history_margin(depth))
            || (reduced <= pruning::EXCHANGE_DEPTH
                && !see::gains(position, m, pruning::quiet_exchange_margin(reduced)))
    }

    /// Whether the table's move stands alone: what the position is worth without it.
    fn singular_extension(&mut self, node: &Node<'_>, m: Move, tried: &Tried) -> Extension {
        let Some(entry) = node.entry.filter(|_| tried.count == 0) else { return Extension::By(0) };
        let told = from_table(entry.value, node.ply);
        if node.depth < pruning::SINGULAR_DEPTH
            || !self.selective()
            || self.far_extended(node.ply)
            || entry.best != Some(PackedMove::of(m))
            || entry.depth < node.depth - 3
            || !matches!(entry.bound, Bound::Lower | Bound::Exact)
            || is_decided(told)
        {
            return Extension::By(0);
        }
        let bar = told - 2 * node.depth;
        self.frame(node.ply).excluded = Some(m);
        let window = Window::above(bar - 1);
        let expected = if node.expected == Expected::Cut { Expected::Cut } else { Expected::All };
        let without = self.search(node.position, node.ply, (node.depth - 1) / 2, window, expected);
        self.frame(node.ply).excluded = None;
        if without < bar {
            Extension::By(1)
        } else if node.expected != Expected::Principal && bar >= node.window.beta {
            // Not even needed: there are other moves above beta.
            Extension::Refuted(bar)
        } else if told >= node.window.beta {
            Extension::By(-1)
        } else {
            Extension::By(0)
        }
    }

    fn far_extended(&self, ply: usize) -> bool {
        ply >= 2 * self.root_depth.unsigned_abs() as usize
    }

    /// The value of a move for the side that makes it, after `tried` others. `depth` is what is left below it.
    fn search_move(
        &mut self,
        node: &Node<'_>,
        ranked: Ranked,
        tried: usize,
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
                && !self.far_extended(node.ply)
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
        let mut principal = node.expected == Expected::Principal;
        let mut value = 0;
        if tried > 0 || !principal {
            let above = Window::above(window.alpha).flipped();
            let reduced = (depth - reduction).clamp(depth.min(1), depth);
            let first = if tried > 0 { Expected::Cut } else { node.expected.below() };
            value = -self.search(&after, below, reduced, above, first);
            if value > window.alpha && reduced < depth {
                let again = if principal { Expected::Cut } else { node.expected.below() };
                value = -self.search(&after, below, depth, above, again);
            }
            principal &= value > window.alpha;
        }
        if principal && !self.poller.stopped() {
            value = -self.search(&after, below, depth, window.flipped(), Expected::Principal);
        }
        self.leave();
        value
    }

    /// How much less deeply than the first move a later one is searched.
    fn reduction(&self, node: &Node<'_>, Ranked { m, sort }: Ranked, tried: usize) -> i32 {
        let mut plies = pruning::late_move_reduction(node.depth, tried + 1) - i32::from(node.in_check);
        plies += match node.expected {
            Expected::Principal => -1,
            Expected::Cut => 1,
            Expected::All => 0,
        };
        plies += i32::from(node.trend == Trend::Worsening);
        match sort {
            Sort::Gain => 0,
            Sort::Loss => plies - 1,
            Sort::Killer => plies - 2,
            Sort::NoControl => plies - self.histories.of_quiet(node.position.turn(), m, &node.before) / 9_000,
        }
    }

    /// A move caused a cutoff: it was better than those tried before it.
    fn learn(&mut self, node: &Node<'_>, m: Move, tried: &Tried) {
        let turn = node.position.turn();
        let lesson = pruning::history_bonus(node.depth);
        if is_noisy(m) {
            self.histories.learn_capture(turn, m, lesson);
        } else {
            let killers = &mut self.frame(node.ply).killers;
            if killers[0] != Some(m) {
                *killers = [Some(m), killers[0]];
            }
            self.histories.learn_quiet(turn, m, &node.before, lesson);
            for &worse in &tried.quiet {
                self.histories.learn_quiet(turn, worse, &node.before, -lesson);
            }
        }
        for &worse in &tried.noisy {
            self.histories.learn_capture(turn, worse, -lesson);
        }
    }
}

/// What follows from leaving out the table's move.
enum Extension {
    /// Search it this much deeper.
    By(i32),
    /// The node has this value already.
    Refuted(i32),
}

/// Whether the moved piece itself attacks the king; checks it discovers are not seen.
fn checks_directly(position: &Chess, m: Move) -> bool {
    let (Some(from), Some(king)) = (m.from(), position.board().king_of(!position.turn())) else {
        return false;
    };
    let piece = m.promotion().unwrap_or(m.role()).of(position.turn());
    !m.is_castle()
        && attacks::attacks(m.to(), piece, position.board().occupied().without(from)).contains(king)
}
