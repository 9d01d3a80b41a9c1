use shakmaty::{Bitboard, CastlingSide, Chess, Color, Piece, Position, Rank, Role, Square, attacks};

use crate::moves::CastlingSpelling;

/// The destinations of `color`'s moves, as if it were to move.
///
/// For the side to move: of its legal moves. For the other side: of its moves with the turn swapped and no en passant square,
/// including the capture of a king in check. Castling ends on the king's destination.
pub(crate) fn destinations(position: &Chess, color: Color) -> Bitboard {
    if position.turn() == color {
        let end = |m| CastlingSpelling::KingTwoSquares.squares(m).1;
        position.legal_moves().into_iter().map(end).collect()
    } else {
        OffTurn { position, color }.destinations()
    }
}

/// The side not to move. Its king is not in check in a legal position, so a move is legal if it does not expose the king.
/// shakmaty generates no moves for this side when the other king is in check.
struct OffTurn<'a> {
    position: &'a Chess,
    color: Color,
}

impl OffTurn<'_> {
    fn destinations(&self) -> Bitboard {
        let board = self.position.board();
        let king = board.king_of(self.color).expect("both sides have a king in a legal position");
        let mut reached = self.castling(king);
        for from in board.by_color(self.color) {
            let role = board.role_at(from).expect("the square is occupied");
            let safe = |&to: &Square| self.keeps_king_safe(king, from, to);
            reached |=
                (self.pseudo_legal(from, role) & !reached).into_iter().filter(safe).collect::<Bitboard>();
        }
        reached
    }

    fn pseudo_legal(&self, from: Square, role: Role) -> Bitboard {
        let board = self.position.board();
        if role != Role::Pawn {
            let piece = Piece { color: self.color, role };
            return attacks::attacks(from, piece, board.occupied()) & !board.by_color(self.color);
        }
        let captures = attacks::pawn_attacks(self.color, from) & board.by_color(!self.color);
        let forward = self.color.fold_wb(8, -8);
        let free = |square: Square| square.offset(forward).filter(|&to| !board.occupied().contains(to));
        let one = free(from);
        let two = one.filter(|_| from.rank() == self.color.relative_rank(Rank::Second)).and_then(free);
        captures | one.into_iter().chain(two).collect::<Bitboard>()
    }

    fn keeps_king_safe(&self, king: Square, from: Square, to: Square) -> bool {
        let board = self.position.board();
        let occupied = board.occupied().without(from).with(to);
        let king = if from == king { to } else { king };
        (board.attacks_to(king, !self.color, occupied).without(to)).is_empty()
    }

    fn castling(&self, king: Square) -> Bitboard {
        let (board, castles) = (self.position.board(), self.position.castles());
        let attacked =
            |square: Square| board.attacks_to(square, !self.color, board.occupied().without(king)).any();
        [CastlingSide::KingSide, CastlingSide::QueenSide]
            .into_iter()
            .filter(|&side| {
                let to = side.king_to(self.color);
                let Some(rook) = castles.rook(self.color, side) else { return false };
                // In Chess960 the rook may have stood between the king's new square and a rook or queen.
                let after = board.occupied() ^ king ^ rook ^ side.rook_to(self.color);
                board.attacks_to(to, !self.color, after).is_empty()
                    && (castles.path(self.color, side) & board.occupied()).is_empty()
                    && !attacks::between(king, to).with(to).into_iter().any(attacked)
            })
            .map(|side| side.king_to(self.color))
            .collect()
    }
}
