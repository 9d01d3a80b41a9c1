//! Piece-square tables of the public "Simplified Evaluation Function", which differ between middlegame and endgame for
//! pawns, rooks and kings.

use shakmaty::{Board, Color, Piece, Role, Square};

use super::tapered::Tapered;

/// One value per square from White's point of view: a8 first, h1 last.
type Table = [i16; 64];

#[rustfmt::skip]
const PAWN: Table = [
     0,   0,   0,   0,   0,   0,   0,   0,
    50,  50,  50,  50,  50,  50,  50,  50,
    10,  10,  20,  30,  30,  20,  10,  10,
     5,   5,  10,  25,  25,  10,   5,   5,
     0,   0,   0,  20,  20,   0,   0,   0,
     5,  -5, -10,   0,   0, -10,  -5,   5,
     5,  10,  10, -20, -20,  10,  10,   5,
     0,   0,   0,   0,   0,   0,   0,   0,
];

#[rustfmt::skip]
const PAWN_ENDGAME: Table = [
     0,   0,   0,   0,   0,   0,   0,   0,
    80,  80,  80,  80,  80,  80,  80,  80,
    50,  50,  50,  50,  50,  50,  50,  50,
    30,  30,  30,  30,  30,  30,  30,  30,
    20,  20,  20,  20,  20,  20,  20,  20,
    10,  10,  10,  10,  10,  10,  10,  10,
    10,  10,  10,  10,  10,  10,  10,  10,
     0,   0,   0,   0,   0,   0,   0,   0,
];

#[rustfmt::skip]
const KNIGHT: Table = [
   -50, -40, -30, -30, -30, -30, -40, -50,
   -40, -20,   0,   0,   0,   0, -20, -40,
   -30,   0,  10,  15,  15,  10,   0, -30,
   -30,   5,  15,  20,  20,  15,   5, -30,
   -30,   0,  15,  20,  20,  15,   0, -30,
   -30,   5,  10,  15,  15,  10,   5, -30,
   -40, -20,   0,   5,   5,   0, -20, -40,
   -50, -40, -30, -30, -30, -30, -40, -50,
];

#[rustfmt::skip]
const BISHOP: Table = [
   -20, -10, -10, -10, -10, -10, -10, -20,
   -10,   0,   0,   0,   0,   0,   0, -10,
   -10,   0,   5,  10,  10,   5,   0, -10,
   -10,   5,   5,  10,  10,   5,   5, -10,
   -10,   0,  10,  10,  10,  10,   0, -10,
   -10,  10,  10,  10,  10,  10,  10, -10,
   -10,   5,   0,   0,   0,   0,   5, -10,
   -20, -10, -10, -10, -10, -10, -10, -20,
];

#[rustfmt::skip]
const ROOK: Table = [
     0,   0,   0,   0,   0,   0,   0,   0,
     5,  10,  10,  10,  10,  10,  10,   5,
    -5,   0,   0,   0,   0,   0,   0,  -5,
    -5,   0,   0,   0,   0,   0,   0,  -5,
    -5,   0,   0,   0,   0,   0,   0,  -5,
    -5,   0,   0,   0,   0,   0,   0,  -5,
    -5,   0,   0,   0,   0,   0,   0,  -5,
     0,   0,   0,   5,   5,   0,   0,   0,
];

#[rustfmt::skip]
const ROOK_ENDGAME: Table = [
     0,   0,   0,   0,   0,   0,   0,   0,
    10,  15,  15,  15,  15,  15,  15,  10,
    -5,   0,   0,   0,   0,   0,   0,  -5,
    -5,   0,   0,   0,   0,   0,   0,  -5,
    -5,   0,   0,   0,   0,   0,   0,  -5,
    -5,   0,   0,   0,   0,   0,   0,  -5,
    -5,   0,   0,   0,   0,   0,   0,  -5,
     0,   0,   0,   5,   5,   0,   0,   0,
];

#[rustfmt::skip]
const QUEEN: Table = [
   -20, -10, -10,  -5,  -5, -10, -10, -20,
   -10,   0,   0,   0,   0,   0,   0, -10,
   -10,   0,   5,   5,   5,   5,   0, -10,
    -5,   0,   5,   5,   5,   5,   0,  -5,
     0,   0,   5,   5,   5,   5,   0,  -5,
   -10,   5,   5,   5,   5,   5,   0, -10,
   -10,   0,   5,   0,   0,   0,   0, -10,
   -20, -10, -10,  -5,  -5, -10, -10, -20,
];

#[rustfmt::skip]
const KING: Table = [
   -30, -40, -40, -50, -50, -40, -40, -30,
   -30, -40, -40, -50, -50, -40, -40, -30,
   -30, -40, -40, -50, -50, -40, -40, -30,
   -30, -40, -40, -50, -50, -40, -40, -30,
   -20, -30, -30, -40, -40, -30, -30, -20,
   -10, -20, -20, -20, -20, -20, -20, -10,
    20,  20,   0,   0,   0,   0,  20,  20,
    20,  30,  10,   0,   0,  10,  30,  20,
];

#[rustfmt::skip]
const KING_ENDGAME: Table = [
   -50, -40, -30, -20, -20, -30, -40, -50,
   -30, -20, -10,   0,   0, -10, -20, -30,
   -30, -10,  20,  30,  30,  20, -10, -30,
   -30, -10,  30,  40,  40,  30, -10, -30,
   -30, -10,  30,  40,  40,  30, -10, -30,
   -30, -10,  20,  30,  30,  20, -10, -30,
   -30, -30,   0,   0,   0,   0, -30, -30,
   -50, -30, -30, -30, -30, -30, -30, -50,
];

/// The piece-square value of one side.
pub(super) fn placement(board: &Board, color: Color) -> Tapered {
    let mut score = Tapered::default();
    for role in Role::ALL {
        for square in board.by_piece(Piece { color, role }) {
            score += of_piece(role, square, color);
        }
    }
    score
}

/// The piece-square value of one piece.
fn of_piece(role: Role, square: Square, color: Color) -> Tapered {
    let (middlegame, endgame) = match role {
        Role::Pawn => (&PAWN, &PAWN_ENDGAME),
        Role::Knight => (&KNIGHT, &KNIGHT),
        Role::Bishop => (&BISHOP, &BISHOP),
        Role::Rook => (&ROOK, &ROOK_ENDGAME),
        Role::Queen => (&QUEEN, &QUEEN),
        Role::King => (&KING, &KING_ENDGAME),
    };
    let at = if color.is_white() { square.flip_vertical() } else { square }.to_usize();
    Tapered::new(middlegame[at].into(), endgame[at].into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_are_read_from_each_sides_own_end() {
        use Square as S;
        let cases = [
            (Role::Pawn, S::E2, -20, 10),
            (Role::Pawn, S::E4, 20, 20),
            (Role::Pawn, S::D6, 30, 50),
            (Role::Pawn, S::A7, 50, 80),
            (Role::Knight, S::A1, -50, -50),
            (Role::Knight, S::E5, 20, 20),
            (Role::Bishop, S::B3, 10, 10),
            (Role::Rook, S::D1, 5, 5),
            (Role::Rook, S::A7, 5, 10),
            (Role::Rook, S::E7, 10, 15),
            (Role::Queen, S::B3, 5, 5),
            (Role::Queen, S::A4, 0, 0),
            (Role::King, S::G1, 30, -30),
            (Role::King, S::E4, -40, 40),
        ];
        for (role, square, middlegame, endgame) in cases {
            let expected = Tapered::new(middlegame, endgame);
            assert_eq!(of_piece(role, square, Color::White), expected, "{role:?} {square}");
            assert_eq!(of_piece(role, square.flip_vertical(), Color::Black), expected, "{role:?} {square}");
        }
    }

    #[test]
    fn every_piece_of_one_side_counts() {
        let board: Board = "4k3/8/8/4N3/8/8/8/4K3".parse().unwrap();
        assert_eq!(placement(&board, Color::White), Tapered::new(20, 20 - 30));
        assert_eq!(placement(&board, Color::Black), Tapered::new(0, -30));
    }
}
