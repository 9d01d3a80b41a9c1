use shakmaty::{CastlingSide, Color, File, Move, Square};

/// The from and to squares of a castling move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CastlingSpelling {
    /// The king's own squares: e1g1, e1c1. In Chess960 these may be those of an ordinary king move, or one square.
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

/// The squares by which a vocabulary of king's moves numbers `m`. Castling from the squares of standard chess is the king's
/// move; any other castling of Chess960 is king takes rook, which no other move of the position is.
pub(super) fn distinct_squares(m: Move) -> (Square, Square) {
    let spelling = match m {
        Move::Castle { king, rook }
            if king.file() != File::E || !matches!(rook.file(), File::A | File::H) =>
        {
            CastlingSpelling::KingTakesRook
        }
        _ => CastlingSpelling::KingTwoSquares,
    };
    spelling.squares(m)
}

#[cfg(test)]
mod tests {
    use shakmaty::Position;

    use super::*;
    use crate::{PolicyIndex, test_positions::position, vocabularies, vocabulary};

    fn castling(fen: &str) -> Vec<Move> {
        position(fen).legal_moves().into_iter().filter(|m| m.is_castle()).collect()
    }

    #[test]
    fn castling_of_chess960_is_king_takes_rook_in_every_vocabulary() {
        // Kg1 is also an ordinary move, and Kc1 is not a move of a king at all.
        for (fen, index) in
            [("5k1r/8/8/8/8/8/8/5K1R w H - 0 1", 5 * 64 + 7), ("r5k1/8/8/8/8/8/8/R5K1 w A - 0 1", 6 * 64)]
        {
            let moves = castling(fen);
            let [m] = moves[..] else { panic!("{fen}: {moves:?}") };
            let plain = vocabulary("from-to-4096").unwrap().slot(Color::White, m);
            assert_eq!(plain.index, PolicyIndex(index), "{fen}");
            let start = position(fen);
            for vocabulary in vocabularies() {
                let same = |other: &&Move| {
                    vocabulary.slot(Color::White, **other) == vocabulary.slot(Color::White, m)
                };
                assert_eq!(
                    start.legal_moves().iter().filter(same).count(),
                    1,
                    "{fen} in {}",
                    vocabulary.id()
                );
            }
        }
    }

    #[test]
    fn standard_castling_is_the_kings_move() {
        let [long, short] = castling("4k3/8/8/8/8/8/8/R3K2R w KQ - 0 1")[..] else { panic!("two castlings") };
        let [long, short] = [long, short].map(distinct_squares);
        let mut both = [long, short];
        both.sort_unstable();
        assert_eq!(both, [(Square::E1, Square::C1), (Square::E1, Square::G1)]);
    }
}
