//! Rooks on open files and on the seventh rank.

use shakmaty::{Bitboard, Board, Color, Piece, Rank, Role};

use super::{material::count, tapered::Tapered};

const OPEN_FILE: Tapered = Tapered::new(20, 25);
const HALF_OPEN_FILE: Tapered = Tapered::new(10, 15);
const SEVENTH_RANK: Tapered = Tapered::new(20, 40);

/// Rooks on files without any pawn, or without one of their own side.
pub(super) fn on_files(board: &Board, color: Color) -> Tapered {
    let own = board.by_color(color);
    let mut score = Tapered::default();
    for rook in board.by_piece(Piece { color, role: Role::Rook }) {
        let pawns = board.pawns() & Bitboard::from_file(rook.file());
        if pawns.is_empty() {
            score += OPEN_FILE;
        } else if (pawns & own).is_empty() {
            score += HALF_OPEN_FILE;
        }
    }
    score
}

/// Rooks on the rank where the enemy's pawns start.
pub(super) fn on_the_seventh(board: &Board, color: Color) -> Tapered {
    let seventh = Bitboard::from_rank(color.fold_wb(Rank::Seventh, Rank::Second));
    SEVENTH_RANK * count(board.by_piece(Piece { color, role: Role::Rook }) & seventh)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rooks_like_files_without_pawns() {
        let board: Board = "1r2k3/8/3p4/8/8/2P5/1P6/R1RRK3".parse().unwrap();
        assert_eq!(
            on_files(&board, Color::White),
            Tapered::new(20 + 10, 25 + 15),
            "a open, c closed, d half"
        );
        assert_eq!(on_files(&board, Color::Black), Tapered::new(10, 15));
    }

    #[test]
    fn each_rook_on_its_seventh_counts() {
        let board: Board = "4k3/R1R5/8/8/8/8/6r1/4K3".parse().unwrap();
        assert_eq!(on_the_seventh(&board, Color::White), Tapered::new(40, 80));
        assert_eq!(on_the_seventh(&board, Color::Black), Tapered::new(20, 40));
    }
}
