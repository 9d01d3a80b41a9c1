//! The end of every line: captures, promotions and answers to checks until the position is quiet.

use std::ops::ControlFlow;

use shakmaty::{Bitboard, Chess, Move, MoveList, Position, Rank, Role};

use super::{
    node_pruning::{refine_by_tt, tt_cutoff},
    ordering::{Ordered, OrderingContext, Ranked},
    packed_move::PackedMove,
    search::{Best, Search},
    see,
    transposition_table::{Bound, Entry},
    value::{DRAW, INFINITE, MAX_EVAL, is_decisive, mated_at},
    window::Window,
};
use crate::material_gain;

impl Search<'_> {
    /// Quiescence search.
    pub(super) fn quiesce(&mut self, position: &Chess, ply: usize, window: Window) -> i32 {
        let window = match self.enter_node(position, ply, window) {
            ControlFlow::Continue(window) => window,
            ControlFlow::Break(value) => return value,
        };
        let entry = self.tt_probe();
        if window.is_null()
            && let Some(entry) = entry
            && let Some(value) = tt_cutoff(entry, ply, window, position)
        {
            return value;
        }
        if position.is_check() {
            let mut moves = position.legal_moves();
            if moves.is_empty() {
                return mated_at(ply);
            }
            return self.quiesce_moves(position, ply, window, entry, &mut moves, None);
        }
        let known = entry.and_then(|entry| entry.evaluation);
        let raw = known.unwrap_or_else(|| self.evaluate(position));
        let mut evaluation = self.corrected(raw, self.correction_slots(position, ply));
        if self.shared.parameters.stand_pat_on_table > 0 {
            evaluation = refine_by_tt(evaluation, entry, ply).clamp(-MAX_EVAL, MAX_EVAL);
        }
        if evaluation >= window.beta {
            if entry.is_none() && self.selective() {
                let (value, evaluation) = (evaluation, Some(raw));
                self.tt_store(ply, Entry { best: None, value, evaluation, depth: 0, bound: Bound::Lower });
            }
            return evaluation;
        }
        let standing = Standing { raw, evaluation };
        self.quiesce_moves(position, ply, window, entry, &mut tactical_moves(position), Some(standing))
    }

    /// The best of `moves` and of standing pat, which is `None` in check.
    fn quiesce_moves(
        &mut self,
        position: &Chess,
        ply: usize,
        mut window: Window,
        entry: Option<Entry>,
        moves: &mut [Move],
        standing: Option<Standing>,
    ) -> i32 {
        let evaluation = standing.map(|standing| standing.evaluation);
        let mut best = Best { value: evaluation.unwrap_or(-INFINITE), m: None };
        window.alpha = window.alpha.max(best.value);
        let from_table = entry.and_then(|entry| entry.best);
        let before = self.before(ply);
        let context =
            OrderingContext { histories: self.learnt.histories, from_table, killers: [None; 2], before };
        let ordered = match evaluation {
            Some(_) => Ordered::tactical(position, moves, &context),
            None => Ordered::all(position, moves, &context),
        };
        for Ranked { m, .. } in ordered {
            if self.selective() && best.value > -MAX_EVAL {
                let hoped =
                    evaluation.map(|evaluation| evaluation + material_gain(m) + self.shared.parameters.delta);
                if let Some(hoped) = hoped
                    && hoped <= window.alpha
                    && !is_decisive(window.alpha)
                {
                    best.value = best.value.max(hoped);
                    continue;
                }
                if !see::gains(position, m, 0) {
                    continue;
                }
            }
            let mut after = position.clone();
            after.play_unchecked(m);
            self.enter(position, m, &after, ply);
            let value = -self.quiesce(&after, ply + 1, window.flipped());
            self.leave();
            if self.poller.stopped() {
                return DRAW;
            }
            if value > best.value {
                best.value = value;
                if value > window.alpha {
                    best.m = Some(m);
                    window.alpha = value;
                    self.pv.extend(ply, m);
                }
                if value >= window.beta {
                    break;
                }
            }
        }
        if self.selective() {
            // Only captures were searched, so an exact value is stored as an upper bound.
            let bound = if best.value >= window.beta { Bound::Lower } else { Bound::Upper };
            let m = best.m.map(PackedMove::of);
            let evaluation = standing.map(|standing| standing.raw);
            self.tt_store(ply, Entry { best: m, value: best.value, evaluation, depth: 0, bound });
        }
        best.value
    }
}

/// What standing pat is worth.
#[derive(Clone, Copy)]
struct Standing {
    /// The static evaluation.
    raw: i32,
    /// The same, corrected and refined by the table.
    evaluation: i32,
}

/// Captures, and promotions to a queen.
pub(super) fn tactical_moves(position: &Chess) -> MoveList {
    let mut moves = position.capture_moves();
    let seventh = Bitboard::from_rank(position.turn().relative_rank(Rank::Seventh));
    if (position.our(Role::Pawn) & seventh).any() {
        let quiet = |m: &Move| !m.is_capture() && m.promotion() == Some(Role::Queen);
        moves.extend(position.promotion_moves().into_iter().filter(quiet));
    }
    moves
}
