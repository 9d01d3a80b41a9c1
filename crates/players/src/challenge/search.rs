//! The search of the levels: every legal move of the root with its exact score.
//!
//! Scores are fail-hard and mates are not counted in plies: a mate now is as good as one later.

use std::cmp::Reverse;

use shakmaty::{Chess, Move, MoveList, Position, Role, Square};
use tabia_search::{baseline, piece_value};

use super::{
    ChallengeRules,
    board::{self, Coordinates, Ending, ending, sort_as_generated, victim},
};

/// The score of a mate, near or far.
pub(super) const MATE: i32 = 100_000;
const DRAW: i32 = 0;
/// Delta pruning of a whole node: more than any capture gains.
const NODE_DELTA: i32 = 1100;
/// Delta pruning of a capture: margin beyond the captured piece.
const CAPTURE_DELTA: i32 = 200;
/// Least depth of a null move, and what it takes off.
const NULL_DEPTH: u32 = 3;

// The order of more than 20 moves that compare equal is the standard library's, which has one path for small types.
const _: () = assert!(size_of::<Move>() <= 8);

/// The moves that quiescence searches, best victim first, then least valuable attacker.
pub(super) fn quiescence_moves(rules: ChallengeRules, position: &Chess, legal: MoveList) -> MoveList {
    let promotions = rules.searches_promotions();
    let mut moves: MoveList =
        legal.into_iter().filter(|&m| victim(m).is_some() || (promotions && m.is_promotion())).collect();
    sort_as_generated(position, &mut moves);
    let place = |m: Move| {
        let promotion = match m.promotion() {
            Some(Role::Queen) if promotions => 9,
            Some(_) if promotions => 3,
            _ => 0,
        };
        (promotion + victim(m).map_or(0, worth), Reverse(worth(m.role())))
    };
    moves.sort_unstable_by_key(|&m| Reverse(place(m)));
    moves
}

/// For the order of captures.
fn worth(role: Role) -> i32 {
    match role {
        Role::Pawn => 1,
        Role::Knight | Role::Bishop => 3,
        Role::Rook => 5,
        Role::Queen => 9,
        Role::King => 100,
    }
}

/// Plain alpha-beta and quiescence.
pub(super) struct Classic {
    pub(super) rules: ChallengeRules,
    pub(super) nodes: u64,
}

impl Classic {
    pub(super) fn root(&mut self, position: &Chess, depth: u32) -> Vec<(Move, i32)> {
        let mut score = |m| -self.node(&after(position, m), depth - 1, -MATE, MATE);
        captures_first(position, position.legal_moves()).into_iter().map(|m| (m, score(m))).collect()
    }

    fn node(&mut self, position: &Chess, depth: u32, mut alpha: i32, beta: i32) -> i32 {
        if depth == 0 {
            return self.quiescence(position, alpha, beta);
        }
        self.nodes += 1;
        let legal = position.legal_moves();
        if let Some(end) = ending(position, &legal) {
            return score_of(end);
        }
        for m in captures_first(position, legal) {
            let score = -self.node(&after(position, m), depth - 1, -beta, -alpha);
            if score >= beta {
                return beta;
            }
            alpha = alpha.max(score);
        }
        alpha
    }

    fn quiescence(&mut self, position: &Chess, mut alpha: i32, beta: i32) -> i32 {
        self.nodes += 1;
        let legal = position.legal_moves();
        if let Some(end) = ending(position, &legal) {
            return score_of(end);
        }
        let standing = baseline::challenge::evaluate(position).0;
        if standing >= beta {
            return beta;
        }
        alpha = alpha.max(standing);
        for m in quiescence_moves(self.rules, position, legal) {
            let score = -self.quiescence(&after(position, m), -beta, -alpha);
            if score >= beta {
                return beta;
            }
            alpha = alpha.max(score);
        }
        alpha
    }
}

/// Captures, then all others, each as generated.
fn captures_first(position: &Chess, mut legal: MoveList) -> MoveList {
    sort_as_generated(position, &mut legal);
    let (captures, quiets): (MoveList, MoveList) = legal.into_iter().partition(|&m| victim(m).is_some());
    captures.into_iter().chain(quiets).collect()
}

fn after(position: &Chess, m: Move) -> Chess {
    let mut after = position.clone();
    after.play_unchecked(m);
    after
}

fn score_of(end: Ending) -> i32 {
    match end {
        Ending::Mated => -MATE,
        Ending::Drawn => DRAW,
    }
}

/// Alpha-beta with a transposition table, principal variation search, null moves, killers and history, and with delta
/// pruning where the rules have it. All tables stay through a game.
pub(super) struct Enhanced {
    classic: Classic,
    table: Table,
    /// By ply: the latest quiet moves that caused a cutoff there.
    killers: [[Option<Coordinates>; 2]; PLIES],
    /// By from and to, both colours together: the depth squared of cutoffs by quiet moves.
    history: Vec<i32>,
}

/// More plies than any level searches.
const PLIES: usize = 8;

impl Enhanced {
    pub(super) fn new(rules: ChallengeRules) -> Enhanced {
        Enhanced {
            classic: Classic { rules, nodes: 0 },
            table: Table::new(),
            killers: [[None; 2]; PLIES],
            history: vec![0; 64 * 64],
        }
    }

    pub(super) fn nodes(&self) -> u64 {
        self.classic.nodes
    }

    pub(super) fn root(&mut self, position: &Chess, depth: u32) -> Vec<(Move, i32)> {
        let first = self.table.probe(board::key(position)).map(|entry| entry.best);
        let moves = self.sorted(position, position.legal_moves(), first, [None; 2]);
        let full = Window { alpha: -MATE, beta: MATE };
        moves
            .into_iter()
            .map(|m| (m, -self.node(&after(position, m), depth - 1, 1, full, NullMove::Allowed)))
            .collect()
    }

    fn node(&mut self, position: &Chess, depth: u32, ply: usize, window: Window, null_move: NullMove) -> i32 {
        let legal = position.legal_moves();
        if let Some(end) = ending(position, &legal) {
            self.classic.nodes += 1;
            return score_of(end);
        }
        let Window { mut alpha, beta } = window;
        let key = board::key(position);
        let known = self.table.probe(key);
        if let Some(entry) = known.filter(|entry| entry.depth >= depth) {
            match entry.bound {
                Bound::Exact => return entry.score,
                Bound::AtLeast if entry.score >= beta => return entry.score,
                Bound::AtMost if entry.score <= alpha => return entry.score,
                Bound::AtLeast | Bound::AtMost => {}
            }
        }
        if depth == 0 {
            return if self.classic.rules.prunes_by_delta() {
                self.quiescence(position, alpha, beta)
            } else {
                self.classic.quiescence(position, alpha, beta)
            };
        }
        self.classic.nodes += 1;
        if null_move == NullMove::Allowed && self.null_move_refutes(position, depth, ply, beta) {
            return beta;
        }

        let moves = self.sorted(position, legal, known.map(|entry| entry.best), self.killers[ply]);
        let mut best: Option<(Move, i32)> = None;
        for m in moves {
            let child = after(position, m);
            let mut search = |alpha: i32, beta: i32| {
                let window = Window { alpha: -beta, beta: -alpha };
                -self.node(&child, depth - 1, ply + 1, window, NullMove::Allowed)
            };
            let score = if best.is_none() {
                search(alpha, beta)
            } else {
                let scout = search(alpha, alpha + 1);
                if scout > alpha && scout < beta { search(alpha, beta) } else { scout }
            };
            if best.is_none_or(|(_, most)| score > most) {
                best = Some((m, score));
            }
            alpha = alpha.max(score);
            if alpha >= beta {
                if victim(m).is_none() {
                    self.record_cutoff(m.into(), depth, ply);
                }
                break;
            }
        }
        let (best, score) = best.expect("a position that goes on has a move");
        let bound = match score {
            _ if score >= beta => Bound::AtLeast,
            _ if score <= window.alpha => Bound::AtMost,
            _ => Bound::Exact,
        };
        self.table.store(key, Entry { depth, score, bound, best: best.into() });
        score
    }

    /// Whether a null move fails high.
    fn null_move_refutes(&mut self, position: &Chess, depth: u32, ply: usize, beta: i32) -> bool {
        let board = position.board();
        let only_pawns = (board.by_color(position.turn()) & !board.pawns() & !board.kings()).is_empty();
        if depth < NULL_DEPTH || only_pawns {
            return false;
        }
        let Some(after) = board::after_null_move(position) else { return false };
        let window = Window { alpha: -beta, beta: -beta + 1 };
        -self.node(&after, depth - NULL_DEPTH, ply + 1, window, NullMove::Forbidden) >= beta
    }

    /// The table move, captures by victim and attacker, killers, then by history.
    fn sorted(
        &self,
        position: &Chess,
        mut moves: MoveList,
        first: Option<Coordinates>,
        killers: [Option<Coordinates>; 2],
    ) -> MoveList {
        sort_as_generated(position, &mut moves);
        let place = |m: Move| {
            let at = Coordinates::from(m);
            match victim(m) {
                _ if first == Some(at) => 1_000_000,
                Some(victim) => 100_000 + 100 * worth(victim) - worth(m.role()),
                None if killers[0] == Some(at) => 90_000,
                None if killers[1] == Some(at) => 80_000,
                None => self.history[history_slot(at)],
            }
        };
        moves.sort_unstable_by_key(|&m| Reverse(place(m)));
        moves
    }

    fn record_cutoff(&mut self, m: Coordinates, depth: u32, ply: usize) {
        let killers = &mut self.killers[ply];
        if killers[0] != Some(m) {
            *killers = [Some(m), killers[0]];
        }
        self.history[history_slot(m)] += i32::try_from(depth * depth).expect("depths are small");
    }

    /// Quiescence with delta pruning.
    fn quiescence(&mut self, position: &Chess, mut alpha: i32, beta: i32) -> i32 {
        self.classic.nodes += 1;
        let legal = position.legal_moves();
        if let Some(end) = ending(position, &legal) {
            return score_of(end);
        }
        let standing = baseline::challenge::evaluate(position).0;
        if standing >= beta {
            return beta;
        }
        if standing + NODE_DELTA < alpha {
            return alpha;
        }
        alpha = alpha.max(standing);
        for m in quiescence_moves(self.classic.rules, position, legal) {
            let gain = victim(m).map_or(0, piece_value);
            if standing + gain + CAPTURE_DELTA < alpha {
                continue;
            }
            let score = -self.quiescence(&after(position, m), -beta, -alpha);
            if score >= beta {
                return beta;
            }
            alpha = alpha.max(score);
        }
        alpha
    }
}

fn history_slot(m: Coordinates) -> usize {
    m.from.to_usize() * 64 + m.to.to_usize()
}

#[derive(Clone, Copy)]
struct Window {
    alpha: i32,
    beta: i32,
}

/// Whether a null move may be tried: not twice in a row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NullMove {
    Allowed,
    Forbidden,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    depth: u32,
    score: i32,
    bound: Bound,
    best: Coordinates,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    Exact,
    AtLeast,
    AtMost,
}

/// A transposition table in which the latest entry always replaces the one before. An entry is two words, the second not
/// zero: a new table is zeroed memory, which costs nothing until it is used.
struct Table(Vec<[u64; 2]>);

impl Table {
    const ENTRIES: usize = 1 << 20;

    fn new() -> Table {
        Table(vec![[0; 2]; Table::ENTRIES])
    }

    fn slot(key: u64) -> usize {
        key as usize & (Table::ENTRIES - 1)
    }

    fn probe(&self, key: u64) -> Option<Entry> {
        let [of, word] = self.0[Table::slot(key)];
        (of == key).then(|| Entry::unpacked(word)).flatten()
    }

    fn store(&mut self, key: u64, entry: Entry) {
        self.0[Table::slot(key)] = [key, entry.packed()];
    }
}

impl Entry {
    /// Score in the upper half; then from, to, promotion, depth, and a bound that is never zero.
    fn packed(self) -> u64 {
        let Coordinates { from, to, promotion } = self.best;
        let bound = match self.bound {
            Bound::Exact => 1,
            Bound::AtLeast => 2,
            Bound::AtMost => 3,
        };
        u64::from(self.score.cast_unsigned()) << 32
            | u64::from(u8::from(from)) << 24
            | u64::from(u8::from(to)) << 16
            | promotion.map_or(0, u64::from) << 8
            | u64::from(self.depth) << 2
            | bound
    }

    fn unpacked(word: u64) -> Option<Entry> {
        let byte = |shift: u32| (word >> shift & 0xff) as u8;
        let bound = match word & 3 {
            1 => Bound::Exact,
            2 => Bound::AtLeast,
            3 => Bound::AtMost,
            _ => return None,
        };
        let best = Coordinates {
            from: Square::try_from(byte(24)).ok()?,
            to: Square::try_from(byte(16)).ok()?,
            promotion: Role::try_from(byte(8)).ok(),
        };
        Some(Entry {
            depth: u32::from(byte(0) >> 2),
            score: ((word >> 32) as u32).cast_signed(),
            bound,
            best,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_entries_survive_packing() {
        let best = Coordinates { from: Square::A7, to: Square::B8, promotion: Some(Role::Queen) };
        for (depth, score, bound) in
            [(3, -MATE, Bound::Exact), (0, 0, Bound::AtLeast), (2, 417, Bound::AtMost)]
        {
            let entry = Entry { depth, score, bound, best };
            assert_eq!(Entry::unpacked(entry.packed()), Some(entry));
        }
        let quiet = Coordinates { promotion: None, ..best };
        let entry = Entry { depth: 1, score: 5, bound: Bound::Exact, best: quiet };
        assert_eq!(Entry::unpacked(entry.packed()), Some(entry));
        assert_eq!(Entry::unpacked(0), None);
    }

    #[test]
    fn the_latest_entry_replaces_another_of_the_same_slot() {
        let mut table = Table::new();
        let best = Coordinates { from: Square::E2, to: Square::E4, promotion: None };
        let entry = Entry { depth: 1, score: 5, bound: Bound::Exact, best };
        table.store(7, entry);
        assert_eq!(table.probe(7), Some(entry));
        assert_eq!(table.probe(7 + Table::ENTRIES as u64), None);
        table.store(7 + Table::ENTRIES as u64, Entry { depth: 0, ..entry });
        assert_eq!(table.probe(7), None);
    }
}
