//! Alpha-beta to a fixed depth with the usual techniques: the upper levels of the Chess Challenge. Over
//! [classic](super::classic) it has a transposition table, principal variation search, null moves, killer moves, history
//! and delta pruning. All tables are cleared before each search, so the choice depends on the game alone.

use std::cmp::Reverse;

use shakmaty::{Chess, Color, EnPassantMode, Move, Position, Setup, zobrist::Zobrist64};
use tabia_game::{History, Repetitions};
use tabia_search::{baseline, material_gain};

use super::classic::Found;
use crate::{
    ending::{MATE, ending, ending_of_board, is_mate, repetitions},
    move_order,
};

/// Null move reduction in plies.
const NULL_REDUCTION: u32 = 2;
/// Least depth for a null move.
const NULL_DEPTH: u32 = 3;
/// Delta pruning of a whole node: more than any capture gains.
const NODE_DELTA: i32 = 1100;
/// Delta pruning of a capture: margin beyond the captured piece.
const CAPTURE_DELTA: i32 = 200;
/// Entries in the transposition table.
const TABLE: usize = 1 << 16;

/// The first of the best `candidates` at this depth; `None` without candidates.
pub(crate) fn search(game: &History, candidates: &[Move], depth: u32) -> Option<Found> {
    let mut search = Enhanced {
        repetitions: repetitions(game),
        table: vec![None; TABLE],
        killers: vec![[None; 2]; depth as usize + 1],
        history: vec![0; 2 * 64 * 64],
        nodes: 0,
    };
    let position = game.current();
    let mut best: Option<(Move, i32)> = None;
    for &mv in candidates {
        let score = match best {
            None => search.child(position, mv, depth, 0, Window::FULL),
            Some((_, most)) => search.scout(position, mv, depth, 0, Window { alpha: most, beta: MATE }),
        };
        if best.is_none_or(|(_, most)| score > most) {
            best = Some((mv, score));
        }
    }
    best.map(|(mv, score)| Found { mv, score, nodes: search.nodes })
}

/// The search window.
#[derive(Clone, Copy)]
struct Window {
    alpha: i32,
    beta: i32,
}

impl Window {
    const FULL: Window = Window { alpha: -MATE, beta: MATE };

    /// The window of the other side.
    fn flipped(self) -> Window {
        Window { alpha: -self.beta, beta: -self.alpha }
    }
}

#[derive(Clone, Copy)]
struct Entry {
    key: Zobrist64,
    depth: u32,
    /// Mates are counted from this position, not from the root.
    score: i32,
    bound: Bound,
    best: Option<Move>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Bound {
    Exact,
    AtLeast,
    AtMost,
}

struct Enhanced {
    /// The game and the current line.
    repetitions: Repetitions,
    table: Vec<Option<Entry>>,
    /// By ply: the latest quiet moves that caused a cutoff there.
    killers: Vec<[Option<Move>; 2]>,
    /// By colour, from and to: the depth squared of cutoffs by quiet moves.
    history: Vec<u32>,
    nodes: u64,
}

impl Enhanced {
    /// The score of a move, for the side that makes it; exact inside the window, otherwise a bound.
    fn child(&mut self, position: &Chess, m: Move, depth: u32, ply: usize, window: Window) -> i32 {
        let mut after = position.clone();
        after.play_unchecked(m);
        self.repetitions.push(&after);
        let score = -self.node(&after, depth - 1, ply + 1, window.flipped(), NullMove::Allowed);
        self.repetitions.pop();
        score
    }

    /// [`child`](Self::child) with a null window first.
    fn scout(&mut self, position: &Chess, m: Move, depth: u32, ply: usize, window: Window) -> i32 {
        let Window { alpha, beta } = window;
        let score = self.child(position, m, depth, ply, Window { alpha, beta: alpha + 1 });
        if score > alpha && score < beta && beta - alpha > 1 {
            return self.child(position, m, depth, ply, window);
        }
        score
    }

    fn node(&mut self, position: &Chess, depth: u32, ply: usize, window: Window, null_move: NullMove) -> i32 {
        let distance = i32::try_from(ply).expect("lines are short");
        self.nodes += 1;
        let mut legal = move_order::legal_moves(position);
        if let Some(end) = ending(position, &legal, &self.repetitions) {
            return end.score(distance);
        }
        if depth == 0 {
            return self.quiescence(position, &legal, distance, window);
        }
        let Window { mut alpha, beta } = window;
        let key = position.zobrist_hash(EnPassantMode::Legal);
        let known = self.table[slot(key)].filter(|entry| entry.key == key);
        if let Some(entry) = known.filter(|entry| entry.depth >= depth) {
            let score = from_here(entry.score, distance);
            match entry.bound {
                Bound::Exact => return score,
                Bound::AtLeast if score >= beta => return score,
                Bound::AtMost if score <= alpha => return score,
                Bound::AtLeast | Bound::AtMost => {}
            }
        }
        if null_move == NullMove::Allowed && self.null_move_refutes(position, depth, ply, beta) {
            return beta;
        }

        let first = known.and_then(|entry| entry.best);
        // Already in the fixed order, which a stable sort keeps among equals.
        legal.sort_by_cached_key(|&m| self.place(m, first, ply, position.turn()));
        let mut best: Option<(Move, i32)> = None;
        for &m in &legal {
            let window = Window { alpha, beta };
            let score = match best {
                None => self.child(position, m, depth, ply, window),
                Some(_) => self.scout(position, m, depth, ply, window),
            };
            if best.is_none_or(|(_, most)| score > most) {
                best = Some((m, score));
            }
            alpha = alpha.max(score);
            if alpha >= beta {
                self.record_cutoff(m, depth, ply, position.turn());
                break;
            }
        }
        let (best, score) = best.expect("a position that goes on has a move");
        let bound = match score {
            _ if score >= beta => Bound::AtLeast,
            _ if score <= window.alpha => Bound::AtMost,
            _ => Bound::Exact,
        };
        let entry = Entry { key, depth, score: to_here(score, distance), bound, best: Some(best) };
        self.table[slot(key)] = Some(entry);
        score
    }

    /// Whether a null move fails high.
    fn null_move_refutes(&mut self, position: &Chess, depth: u32, ply: usize, beta: i32) -> bool {
        let board = position.board();
        let only_pawns = (board.by_color(position.turn()) & !board.pawns() & !board.kings()).is_empty();
        if depth < NULL_DEPTH || only_pawns || position.is_check() || is_mate(beta) {
            return false;
        }
        let Some(after) = after_null_move(position) else { return false };
        self.repetitions.push(&after);
        let window = Window { alpha: beta - 1, beta }.flipped();
        let score = -self.node(&after, depth - 1 - NULL_REDUCTION, ply + 1, window, NullMove::Forbidden);
        self.repetitions.pop();
        score >= beta
    }

    /// Move ordering: the table move, captures and promotions, killers, then by history.
    fn place(&self, m: Move, first: Option<Move>, ply: usize, turn: Color) -> (u8, Reverse<u32>) {
        let killer = self.killers[ply].iter().position(|killer| *killer == Some(m));
        let class = match (killer, move_order::is_tactical(m)) {
            _ if first == Some(m) => 0,
            (_, true) => 1,
            (Some(0), false) => 2,
            (Some(_), false) => 3,
            (None, false) => 4,
        };
        let tried = if class == 4 { self.history[history_slot(m, turn)] } else { 0 };
        (class, Reverse(tried))
    }

    fn record_cutoff(&mut self, m: Move, depth: u32, ply: usize, turn: Color) {
        if move_order::is_tactical(m) {
            return;
        }
        let killers = &mut self.killers[ply];
        if killers[0] != Some(m) {
            *killers = [Some(m), killers[0]];
        }
        self.history[history_slot(m, turn)] += depth * depth;
    }

    /// A node after a capture or promotion, beyond the depth.
    fn quiesce(&mut self, position: &Chess, ply: i32, window: Window) -> i32 {
        self.nodes += 1;
        let legal = move_order::legal_moves(position);
        match ending_of_board(position, &legal) {
            Some(end) => end.score(ply),
            None => self.quiescence(position, &legal, ply, window),
        }
    }

    /// Quiescence search of captures and promotions, with stand pat and delta pruning.
    fn quiescence(&mut self, position: &Chess, legal: &[Move], ply: i32, window: Window) -> i32 {
        let Window { mut alpha, beta } = window;
        let standing = baseline::evaluate(position).0;
        if standing + NODE_DELTA < alpha {
            return alpha;
        }
        let mut best = standing;
        alpha = alpha.max(best);
        for &m in legal.iter().filter(|&&m| move_order::is_tactical(m)) {
            if alpha >= beta {
                break;
            }
            let hope = standing + material_gain(m) + CAPTURE_DELTA;
            if hope < alpha {
                // A pruned capture may still score this much: the value goes into the table and is used in other windows.
                best = best.max(hope);
                continue;
            }
            let mut after = position.clone();
            after.play_unchecked(m);
            best = best.max(-self.quiesce(&after, ply + 1, Window { alpha, beta }.flipped()));
            alpha = alpha.max(best);
        }
        best
    }
}

/// Whether a null move may be tried: not twice in a row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NullMove {
    Allowed,
    Forbidden,
}

/// The position after a null move. Its halfmove clock is zero: no earlier position can repeat.
fn after_null_move(position: &Chess) -> Option<Chess> {
    let mut setup: Setup = position.to_setup(EnPassantMode::Legal);
    setup.swap_turn();
    setup.ep_square = None;
    setup.halfmoves = 0;
    setup.position(shakmaty::CastlingMode::Standard).ok()
}

fn slot(key: Zobrist64) -> usize {
    usize::try_from(key.0 % TABLE as u64).expect("less than the size of the table")
}

fn history_slot(m: Move, turn: Color) -> usize {
    let from = m.from().expect("no move drops a piece");
    (usize::from(turn.is_white()) * 64 + from.to_usize()) * 64 + m.to().to_usize()
}

/// A mate counted from the root as one counted from a position `ply` moves on.
fn to_here(score: i32, ply: i32) -> i32 {
    if is_mate(score) { score + ply * score.signum() } else { score }
}

/// The reverse of [`to_here`].
fn from_here(score: i32, ply: i32) -> i32 {
    if is_mate(score) { score - ply * score.signum() } else { score }
}
