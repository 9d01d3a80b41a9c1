use shakmaty::{Board, Color, Move, Role};
use tabia_encoding::piece_value;

use super::tapered::{FULL_MIDDLEGAME, Tapered};

/// The material a move wins at once, in centipawns: the captured piece, and what a pawn gains by promoting.
pub fn material_gain(m: Move) -> i32 {
    let captured = m.capture().map_or(0, piece_value);
    let promoted = m.promotion().map_or(0, |role| piece_value(role) - piece_value(Role::Pawn));
    captured + promoted
}

/// The material of one side.
pub(super) fn material(board: &Board, color: Color) -> Tapered {
    let side = board.by_color(color);
    let total = Role::ALL.into_iter().map(|role| piece_value(role) * count(board.by_role(role) & side)).sum();
    Tapered::new(total, total)
}

/// The game phase: 1 for a knight or bishop, 2 for a rook, 4 for a queen, of both sides; at most [`FULL_MIDDLEGAME`].
pub(super) fn phase(board: &Board) -> i32 {
    let pieces = count(board.knights())
        + count(board.bishops())
        + 2 * count(board.rooks())
        + 4 * count(board.queens());
    pieces.min(FULL_MIDDLEGAME)
}

pub(super) fn count(squares: shakmaty::Bitboard) -> i32 {
    i32::try_from(squares.count()).expect("a board has 64 squares")
}

const BISHOP_PAIR: Tapered = Tapered::new(30, 50);

/// Two bishops or more.
pub(super) fn bishop_pair(board: &Board, color: Color) -> Tapered {
    let pair = count(board.bishops() & board.by_color(color)) >= 2;
    if pair { BISHOP_PAIR } else { Tapered::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn material_is_the_sum_of_the_pieces() {
        let start = Board::new();
        let army = 8 * 100 + 2 * 320 + 2 * 330 + 2 * 500 + 900;
        assert_eq!(material(&start, Color::White), Tapered::new(army, army));
        let board: Board = "4k3/8/8/8/8/8/8/QN2K3".parse().unwrap();
        assert_eq!(material(&board, Color::White), Tapered::new(1220, 1220));
        assert_eq!(material(&board, Color::Black), Tapered::default());
    }

    #[test]
    fn the_phase_counts_pieces_of_both_sides() {
        assert_eq!(phase(&Board::new()), 24);
        let of = |placement: &str| phase(&placement.parse().unwrap());
        assert_eq!(of("4k3/pppp4/8/8/8/8/PPPP4/4K3"), 0);
        assert_eq!(of("r3k3/8/8/8/8/8/8/QNB1K3"), 2 + 4 + 1 + 1);
        assert_eq!(of("qqqqk3/8/8/8/8/8/8/QQQQK3"), 24, "never more than a full middlegame");
    }

    #[test]
    fn a_pair_takes_two_bishops() {
        let of = |placement: &str| bishop_pair(&placement.parse().unwrap(), Color::White);
        assert_eq!(of("4k3/8/8/8/8/8/8/2B1KB2"), Tapered::new(30, 50));
        assert_eq!(of("2b1kb2/8/8/8/8/8/8/2B1K3"), Tapered::default());
    }
}
