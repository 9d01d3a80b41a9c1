use shakmaty::{CastlingSide, Color, Move, Square};

/// The from and to squares of a castling move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CastlingSpelling {
    /// The king's own squares: e1g1, e1c1.
    KingTwoSquares,
    /// The king's square and the rook's: e1h1, e1a1.
    KingTakesRook,
}

impl CastlingSpelling {
    /// The from and to squares of `m`.
    pub fn squares(self, m: Move) -> (Square, Square) {
        match m {
            Move::Normal { from, to, .. } | Move::EnPassant { from, to } => (from, to),
            Move::Castle { king, rook } => match self {
                CastlingSpelling::KingTakesRook => (king, rook),
                CastlingSpelling::KingTwoSquares => {
                    let color = Color::from_white(king.rank() == Color::White.backrank());
                    (king, CastlingSide::from_king_side(king < rook).king_to(color))
                }
            },
            Move::Put { .. } => unreachable!("standard chess has no drops"),
        }
    }
}
