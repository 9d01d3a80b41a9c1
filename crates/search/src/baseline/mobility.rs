//! Mobility.

use shakmaty::{Board, Color, Piece, Role};

use super::{material::count, tapered::Tapered};

/// Attacked squares not occupied by own pieces, relative to the average of the piece type.
pub(super) fn mobility(board: &Board, color: Color) -> Tapered {
    let own = board.by_color(color);
    let mut score = Tapered::default();
    for (role, usual, each) in [
        (Role::Knight, 4, Tapered::new(4, 4)),
        (Role::Bishop, 6, Tapered::new(5, 5)),
        (Role::Rook, 7, Tapered::new(3, 7)),
        (Role::Queen, 14, Tapered::new(1, 2)),
    ] {
        for square in board.by_piece(Piece { color, role }) {
            score += each * (count(board.attacks_from(square) & !own) - usual);
        }
    }
    score
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_measured_against_its_own_usual() {
        let cases = [
            ("4k3/8/8/4N3/8/8/8/4K3", Tapered::new((8 - 4) * 4, (8 - 4) * 4)),
            ("4k3/8/8/8/8/8/8/N3K3", Tapered::new((2 - 4) * 4, (2 - 4) * 4)),
            ("4k3/8/8/3B4/8/8/8/4K3", Tapered::new((13 - 6) * 5, (13 - 6) * 5)),
            ("4k3/8/8/3R4/8/8/8/4K3", Tapered::new((14 - 7) * 3, (14 - 7) * 7)),
            ("4k3/8/8/3Q4/8/8/8/4K3", Tapered::new(27 - 14, (27 - 14) * 2)),
        ];
        for (placement, expected) in cases {
            let board: Board = placement.parse().unwrap();
            assert_eq!(mobility(&board, Color::White), expected, "{placement}");
            assert_eq!(mobility(&board, Color::Black), Tapered::default(), "{placement}");
        }
    }

    #[test]
    fn own_pieces_are_in_the_way_and_enemy_ones_can_be_taken() {
        // The rook on a1: b1-d1 and, of the a-file, a2 only, where a black pawn stands.
        let board: Board = "4k3/8/8/8/8/8/p7/R3K3".parse().unwrap();
        assert_eq!(mobility(&board, Color::White), Tapered::new((4 - 7) * 3, (4 - 7) * 7));
    }
}
