//! Correction history: how far the static evaluation was from what the search then found, by features of the position.

use shakmaty::{Bitboard, Chess, Color, Position};

use super::{
    histories::{Before, PieceTo, apply_bonus},
    parameters::Parameters,
};

/// Entries of each table, for each side to move.
const ENTRIES: usize = 1 << 14;
/// The largest entry.
const LIMIT: i32 = 1024;

/// One table for pawns, one for each side's pieces, and one for the last two moves.
const TABLES: usize = 4;
type Slots = [usize; TABLES];

/// What the evaluations of similar positions missed.
pub(super) struct Corrections {
    entries: Box<[i16]>,
}

/// Where the corrections of a position are.
#[derive(Clone, Copy)]
pub(super) struct CorrectionSlots(Slots);

impl CorrectionSlots {
    /// `None` where nothing is corrected.
    pub(super) fn of(position: &Chess, before: &Before, parameters: &Parameters) -> Option<CorrectionSlots> {
        let Parameters { correction_pawns, correction_pieces, correction_moves, .. } = *parameters;
        if correction_pawns + correction_pieces + correction_moves == 0 {
            return None;
        }
        let board = position.board();
        let pawns = board.pawns();
        let pawns = mix(mix(0, pawns & board.white()), pawns & board.black());
        let pieces = |color: Color| {
            let of_side = board.by_color(color);
            let roles = [board.knights(), board.bishops(), board.rooks(), board.queens(), board.kings()];
            roles.into_iter().fold(0, |hash, role| mix(hash, role & of_side))
        };
        let moves = (index_of(before[0]) * 769 + index_of(before[1])) as u64;
        let hashes = [pawns, pieces(Color::White), pieces(Color::Black), mix(moves, Bitboard::EMPTY)];
        let turn = usize::from(position.turn().is_white());
        let mut slots = [0; TABLES];
        for (table, (slot, hash)) in slots.iter_mut().zip(hashes).enumerate() {
            *slot = (table * 2 + turn) * ENTRIES + (hash >> (u64::BITS - ENTRIES.ilog2())) as usize;
        }
        Some(CorrectionSlots(slots))
    }
}

fn index_of(moved: Option<PieceTo>) -> usize {
    moved.map_or(0, |piece_to| piece_to.index() + 1)
}

fn mix(hash: u64, with: Bitboard) -> u64 {
    let mixed = (hash ^ u64::from(with)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

impl Corrections {
    pub(super) fn new() -> Corrections {
        Corrections { entries: vec![0; TABLES * 2 * ENTRIES].into_boxed_slice() }
    }

    pub(super) fn clear(&mut self) {
        self.entries.fill(0);
    }

    /// What to add to the static evaluation, in centipawns.
    pub(super) fn of(&self, slots: CorrectionSlots, parameters: &Parameters) -> i32 {
        let Parameters { correction_pawns, correction_pieces, correction_moves, .. } = *parameters;
        let weights = [correction_pawns, correction_pieces, correction_pieces, correction_moves];
        let sum: i32 =
            slots.0.iter().zip(weights).map(|(&at, weight)| weight * i32::from(self.entries[at])).sum();
        sum / 2048
    }

    /// Learns from a search to `depth` whose value was `missed` above the static evaluation.
    pub(super) fn update(&mut self, slots: CorrectionSlots, missed: i32, depth: i32) {
        let amount = (missed * depth / 8).clamp(-LIMIT / 4, LIMIT / 4);
        for at in slots.0 {
            apply_bonus(&mut self.entries[at], amount, LIMIT);
        }
    }
}

#[cfg(test)]
mod tests {
    use tabia_game::position_from_fen;

    use super::*;

    #[test]
    fn positions_with_the_same_pawns_share_what_was_learnt() {
        let parameters = Parameters {
            correction_pawns: 100,
            correction_pieces: 0,
            correction_moves: 0,
            ..Parameters::default()
        };
        let of = |fen: &str| {
            CorrectionSlots::of(&position_from_fen(fen).unwrap(), &[None; 3], &parameters).unwrap()
        };
        let seen = of("4k3/pp6/8/8/8/8/PP6/R3K3 w - - 0 1");
        let moved = of("4k3/pp6/8/8/8/8/PP6/2R1K3 w - - 0 1");
        let other = of("4k3/p1p5/8/8/8/8/PP6/1R2K3 w - - 0 1");
        let their_turn = of("4k3/pp6/8/8/8/8/PP6/R3K3 b - - 0 1");
        let mut corrections = Corrections::new();
        for _ in 0..200 {
            corrections.update(seen, 60, 8);
        }
        let correction = |slots| corrections.of(slots, &parameters);
        assert!((40..=50).contains(&correction(seen)), "{}", correction(seen));
        assert_eq!(correction(moved), correction(seen));
        assert_eq!((correction(other), correction(their_turn)), (0, 0));
        corrections.clear();
        assert_eq!(corrections.of(seen, &parameters), 0);
    }
}
