//! The order in which moves are tried: likeliest refutations first.

use arrayvec::ArrayVec;
use shakmaty::{Chess, Color, Move, Position, Role};

use super::{
    histories::{Before, Histories, LIMIT},
    packed_move::PackedMove,
    see,
};
use crate::material_gain;

/// Killer moves: the two latest quiet moves that caused a cutoff at a ply.
pub(super) type Killers = [Option<Move>; 2];

/// A move picker: the moves of a position, best first.
pub(super) struct Ordered<'m> {
    moves: &'m mut [Move],
    ranks: ArrayVec<i32, 256>,
    next: usize,
}

// Bands of rank, each wider than what orders the moves inside it.
const FROM_TABLE: i32 = 1 << 30;
const GOOD_CAPTURE: i32 = 1 << 24;
const KILLER: i32 = 1 << 22;
const LAST_KILLER: i32 = KILLER - 1;
const BAD_CAPTURE: i32 = -(1 << 24);

/// What moves are ranked by.
pub(super) struct OrderingContext<'a> {
    pub(super) histories: &'a Histories,
    pub(super) from_table: Option<PackedMove>,
    pub(super) killers: Killers,
    pub(super) before: Before,
}

/// Captures and queen promotions; other moves are quiet.
pub(super) fn is_tactical(m: Move) -> bool {
    m.is_capture() || m.promotion() == Some(Role::Queen)
}

impl<'m> Ordered<'m> {
    /// All moves of a node.
    pub(super) fn all(position: &Chess, moves: &'m mut [Move], context: &OrderingContext<'_>) -> Ordered<'m> {
        let turn = position.turn();
        let ranks = moves.iter().map(|&m| rank_of(position, turn, m, context)).collect();
        Ordered { moves, ranks, next: 0 }
    }

    /// Captures and promotions only, whether or not they lose material.
    pub(super) fn tactical(
        position: &Chess,
        moves: &'m mut [Move],
        context: &OrderingContext<'_>,
    ) -> Ordered<'m> {
        let turn = position.turn();
        let rank = |&m: &Move| {
            let known = context.from_table == Some(PackedMove::of(m));
            if known { FROM_TABLE } else { capture_score(turn, m, context.histories) }
        };
        let ranks = moves.iter().map(rank).collect();
        Ordered { moves, ranks, next: 0 }
    }
}

/// A move and its class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ranked {
    pub(super) m: Move,
    pub(super) sort: MoveClass,
}

/// The class of a move, by rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MoveClass {
    /// A capture or promotion with SEE >= 0.
    GoodCapture,
    /// A capture or promotion with SEE < 0.
    BadCapture,
    /// A killer move.
    Killer,
    /// Any other quiet move.
    Quiet,
}

impl Iterator for Ordered<'_> {
    type Item = Ranked;

    fn next(&mut self) -> Option<Ranked> {
        let left = self.ranks.get(self.next..)?;
        // The first of the best, so that equals keep the order of generation.
        let mut best = 0;
        let mut highest = *left.first()?;
        for (place, &rank) in left.iter().enumerate().skip(1) {
            if rank > highest {
                (best, highest) = (place, rank);
            }
        }
        self.ranks.swap(self.next, self.next + best);
        self.moves.swap(self.next, self.next + best);
        let m = self.moves[self.next];
        self.next += 1;
        let sort = match (is_tactical(m), highest) {
            (true, ..0) => MoveClass::BadCapture,
            (true, _) => MoveClass::GoodCapture,
            (false, LAST_KILLER..=KILLER) => MoveClass::Killer,
            (false, _) => MoveClass::Quiet,
        };
        Some(Ranked { m, sort })
    }
}

fn rank_of(position: &Chess, turn: Color, m: Move, context: &OrderingContext<'_>) -> i32 {
    if context.from_table == Some(PackedMove::of(m)) {
        return FROM_TABLE;
    }
    if is_tactical(m) {
        let capture_score = capture_score(turn, m, context.histories);
        // A good capture history makes up for a small loss.
        let band = if see::gains(position, m, -capture_score / 64) { GOOD_CAPTURE } else { BAD_CAPTURE };
        return band + capture_score;
    }
    match context.killers.iter().position(|&killer| killer == Some(m)) {
        Some(place) => KILLER - place as i32,
        None => context.histories.of_quiet(turn, m, &context.before),
    }
}

/// MVV, then capture history.
fn capture_score(turn: Color, m: Move, histories: &Histories) -> i32 {
    7 * material_gain(m) + histories.of_capture(turn, m) * 2_000 / LIMIT
}

#[cfg(test)]
mod tests {
    use shakmaty::uci::UciMove;
    use tabia_game::position_from_fen;

    use super::*;

    #[test]
    fn order_is_table_move_captures_killers() {
        let position = position_from_fen("4k3/2p5/3p4/4q3/3P4/8/3R4/3R2K1 w - - 0 1").unwrap();
        let find = |uci: &str| uci.parse::<UciMove>().unwrap().to_move(&position).unwrap();
        let histories = Histories::new();
        let context = OrderingContext {
            histories: &histories,
            from_table: Some(PackedMove::of(find("g1f1"))),
            killers: [Some(find("d2a2")), None],
            before: [None; 3],
        };
        let mut moves = position.legal_moves();
        let count = moves.len();
        let mut ordered = Ordered::all(&position, &mut moves, &context);
        let first: Vec<Ranked> = ordered.by_ref().take(3).collect();
        let ranked = |uci, sort| Ranked { m: find(uci), sort };
        let expected = [
            ranked("g1f1", MoveClass::Quiet),
            ranked("d4e5", MoveClass::GoodCapture),
            ranked("d2a2", MoveClass::Killer),
        ];
        assert_eq!(first, expected);
        assert_eq!(first.len() + ordered.count(), count);
    }

    #[test]
    fn losing_captures_come_last() {
        let position = position_from_fen("4k3/8/4p3/3p4/8/3R4/8/4K3 w - - 0 1").unwrap();
        let histories = Histories::new();
        let context = OrderingContext {
            histories: &histories,
            from_table: None,
            killers: [None; 2],
            before: [None; 3],
        };
        let ordered: Vec<Ranked> = Ordered::all(&position, &mut position.legal_moves(), &context).collect();
        let (last, rest) = ordered.split_last().unwrap();
        assert!(last.m.is_capture() && last.sort == MoveClass::BadCapture);
        assert!(rest.iter().all(|ranked| ranked.sort == MoveClass::Quiet));
    }
}
