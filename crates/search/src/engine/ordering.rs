//! The order in which moves are tried: likeliest refutations first.

use arrayvec::ArrayVec;
use shakmaty::{Chess, Color, Move, Position, Role};

use super::{
    histories::{Before, Histories, LIMIT},
    packed::PackedMove,
    see,
};
use crate::material_gain;

/// A node's two latest quiet moves that refuted a sibling.
pub(super) type Killers = [Option<Move>; 2];

/// The moves of a position, taken best first.
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

/// What a move's rank is made of.
pub(super) struct Clues<'a> {
    pub(super) histories: &'a Histories,
    pub(super) from_table: Option<PackedMove>,
    pub(super) killers: Killers,
    pub(super) before: Before,
}

/// Whether a move changes the material: the rest are quiet.
pub(super) fn is_noisy(m: Move) -> bool {
    m.is_capture() || m.promotion() == Some(Role::Queen)
}

impl<'m> Ordered<'m> {
    /// All moves of a node.
    pub(super) fn all(position: &Chess, moves: &'m mut [Move], clues: &Clues<'_>) -> Ordered<'m> {
        let turn = position.turn();
        let ranks = moves.iter().map(|&m| rank_of(position, turn, m, clues)).collect();
        Ordered { moves, ranks, next: 0 }
    }

    /// Captures and promotions only, whether or not they lose material.
    pub(super) fn noisy(position: &Chess, moves: &'m mut [Move], clues: &Clues<'_>) -> Ordered<'m> {
        let turn = position.turn();
        let rank = |&m: &Move| {
            let known = clues.from_table == Some(PackedMove::of(m));
            if known { FROM_TABLE } else { spoils(turn, m, clues.histories) }
        };
        let ranks = moves.iter().map(rank).collect();
        Ordered { moves, ranks, next: 0 }
    }
}

/// A move and what sort of move its rank makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ranked {
    pub(super) m: Move,
    pub(super) sort: Sort,
}

/// What a move looks like before anything is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    /// It captures or promotes, and does not lose material.
    Gain,
    /// It captures or promotes, and loses material.
    Loss,
    /// It is quiet, and refuted a sibling.
    Killer,
    /// It is quiet.
    NoControl,
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
        let sort = match (is_noisy(m), highest) {
            (true, ..0) => Sort::Loss,
            (true, _) => Sort::Gain,
            (false, LAST_KILLER..=KILLER) => Sort::Killer,
            (false, _) => Sort::NoControl,
        };
        Some(Ranked { m, sort })
    }
}

fn rank_of(position: &Chess, turn: Color, m: Move, clues: &Clues<'_>) -> i32 {
    if clues.from_table == Some(PackedMove::of(m)) {
        return FROM_TABLE;
    }
    if is_noisy(m) {
        let spoils = spoils(turn, m, clues.histories);
        // Captures that lose a little are still worth a try where history likes them.
        let band = if see::gains(position, m, -spoils / 64) { GOOD_CAPTURE } else { BAD_CAPTURE };
        return band + spoils;
    }
    match clues.killers.iter().position(|&killer| killer == Some(m)) {
        Some(place) => KILLER - place as i32,
        None => clues.histories.of_quiet(turn, m, &clues.before),
    }
}

/// The most valuable victim first, then what history says.
fn spoils(turn: Color, m: Move, histories: &Histories) -> i32 {
    7 * material_gain(m) + histories.of_capture(turn, m) * 2_000 / LIMIT
}

#[cfg(test)]
mod tests {
    use shakmaty::uci::UciMove;
    use tabia_game::position_from_fen;

    use super::*;

    #[test]
    fn the_known_move_then_good_captures_then_killers() {
        let position = position_from_fen("4k3/2p5/3p4/4q3/3P4/8/3R4/3R2K1 w - - 0 1").unwrap();
        let find = |uci: &str| uci.parse::<UciMove>().unwrap().to_move(&position).unwrap();
        let histories = Histories::new();
        let clues = Clues {
            histories: &histories,
            from_table: Some(PackedMove::of(find("g1f1"))),
            killers: [Some(find("d2a2")), None],
            before: [None; 3],
        };
        let mut moves = position.legal_moves();
        let count = moves.len();
        let mut ordered = Ordered::all(&position, &mut moves, &clues);
        let first: Vec<Ranked> = ordered.by_ref().take(3).collect();
        let ranked = |uci, sort| Ranked { m: find(uci), sort };
        let expected =
            [ranked("g1f1", Sort::NoControl), ranked("d4e5", Sort::Gain), ranked("d2a2", Sort::Killer)];
        assert_eq!(first, expected);
        assert_eq!(first.len() + ordered.count(), count);
    }

    #[test]
    fn a_capture_that_loses_material_comes_last() {
        let position = position_from_fen("4k3/8/4p3/3p4/8/3R4/8/4K3 w - - 0 1").unwrap();
        let histories = Histories::new();
        let clues = Clues { histories: &histories, from_table: None, killers: [None; 2], before: [None; 3] };
        let ordered: Vec<Ranked> = Ordered::all(&position, &mut position.legal_moves(), &clues).collect();
        let (last, rest) = ordered.split_last().unwrap();
        assert!(last.m.is_capture() && last.sort == Sort::Loss);
        assert!(rest.iter().all(|ranked| ranked.sort == Sort::NoControl));
    }
}
