use arrayvec::ArrayVec;
use shakmaty::{Board, CastlingSide, Chess, Color, Move, Piece, Position, Role, Square};

/// The index most encodings give a piece type: P N B R Q K = 0..5.
pub(crate) fn role_index(role: Role) -> usize {
    role as usize - 1
}

/// The four castling rights in the order WK, WQ, BK, BQ.
pub(crate) fn castling_rights(position: &Chess) -> [bool; 4] {
    let [king_side, queen_side] = rights_of(position, Color::White);
    let [their_king_side, their_queen_side] = rights_of(position, Color::Black);
    [king_side, queen_side, their_king_side, their_queen_side]
}

/// The castling rights of one colour: king side, queen side.
pub(crate) fn rights_of(position: &Chess, color: Color) -> [bool; 2] {
    [CastlingSide::KingSide, CastlingSide::QueenSide].map(|side| position.castles().has(color, side))
}

/// A piece on a square.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placement {
    pub(crate) square: Square,
    pub(crate) piece: Piece,
}

/// Every piece of the board, by type: much faster than square by square.
#[inline]
pub(crate) fn placements(board: &Board) -> impl Iterator<Item = Placement> {
    Color::ALL.into_iter().flat_map(move |color| {
        Role::ALL.into_iter().flat_map(move |role| {
            let piece = Piece { color, role };
            board.by_piece(piece).into_iter().map(move |square| Placement { square, piece })
        })
    })
}

/// The pieces a move removes (amount -1) and adds (amount +1): at most four, for castling.
pub(crate) fn moved(turn: Color, m: Move) -> ArrayVec<(Placement, i8), 4> {
    let mut changes = ArrayVec::new();
    let mut change = |square, color, role, amount| {
        changes.push((Placement { square, piece: Piece { color, role } }, amount));
    };
    match m {
        Move::Normal { role, from, capture, to, promotion } => {
            change(from, turn, role, -1);
            if let Some(captured) = capture {
                change(to, !turn, captured, -1);
            }
            change(to, turn, promotion.unwrap_or(role), 1);
        }
        Move::EnPassant { from, to } => {
            change(from, turn, Role::Pawn, -1);
            change(Square::from_coords(to.file(), from.rank()), !turn, Role::Pawn, -1);
            change(to, turn, Role::Pawn, 1);
        }
        Move::Castle { king, rook } => {
            let side = CastlingSide::from_king_side(king < rook);
            change(king, turn, Role::King, -1);
            change(rook, turn, Role::Rook, -1);
            change(side.king_to(turn), turn, Role::King, 1);
            change(side.rook_to(turn), turn, Role::Rook, 1);
        }
        Move::Put { role, to } => change(to, turn, role, 1),
    }
    changes
}
