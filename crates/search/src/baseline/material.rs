use shakmaty::{Board, Color, Role};

use super::tapered::{FULL_MIDDLEGAME, Tapered};

/// What a piece is worth, in centipawns. Kings are never taken.
pub(super) const fn value(role: Role) -> i32 {
    match role {
        Role::Pawn => 100,
        Role::Knight => 320,
        Role::Bishop => 330,
        Role::Rook => 500,
        Role::Queen => 900,
        Role::King => 0,
    }
}

/// What all of one side's pieces are worth.
pub(super) fn material(board: &Board, color: Color) -> Tapered {
    let side = board.by_color(color);
    let total = Role::ALL.into_iter().map(|role| value(role) * count(board.by_role(role) & side)).sum();
    Tapered::new(total, total)
}

/// How much of the middlegame is left: 1 for a knight or bishop, 2 for a rook, 4 for a queen, of both sides; never
/// more than [`FULL_MIDDLEGAME`], whatever pawns became.
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
