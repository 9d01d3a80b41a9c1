//! A move in sixteen bits, for tables that hold many.

use std::num::NonZeroU16;

use shakmaty::{Move, Role, Square};

/// From, to (the rook for castling) and promotion in 16 bits: identifies a legal move of its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PackedMove(NonZeroU16);

impl PackedMove {
    pub(super) fn of(m: Move) -> PackedMove {
        let from = m.from().map_or(0, u16::from);
        let promotion = m.promotion().map_or(0, |role| role as u16 - Role::Pawn as u16);
        let bits = from | u16::from(m.to()) << 6 | promotion << 12;
        // From and to differ, so the bits are never zero.
        PackedMove(NonZeroU16::new(bits).expect("a move goes somewhere"))
    }

    pub(super) fn bits(this: Option<PackedMove>) -> u16 {
        this.map_or(0, |packed_move| packed_move.0.get())
    }

    /// Where it goes; for castling, the rook's square.
    pub(super) fn to(self) -> Square {
        Square::new(u32::from(self.0.get()) >> 6 & 63)
    }

    /// The inverse of [`bits`](Self::bits).
    pub(super) fn from_bits(bits: u16) -> Option<PackedMove> {
        NonZeroU16::new(bits).map(PackedMove)
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::Position;
    use tabia_game::position_from_fen;

    use super::*;

    #[test]
    fn the_legal_moves_of_a_position_differ() {
        let fen = "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1";
        let moves = position_from_fen(fen).unwrap().legal_moves();
        let mut packed_move: Vec<u16> =
            moves.iter().map(|&m| PackedMove::bits(Some(PackedMove::of(m)))).collect();
        assert!(packed_move.iter().all(|&bits| PackedMove::from_bits(bits).is_some()));
        packed_move.sort_unstable();
        packed_move.dedup();
        assert_eq!(packed_move.len(), moves.len());
    }
}
