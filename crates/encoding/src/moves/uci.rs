#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use shakmaty::{Chess, Move, uci::UciMove};
use thiserror::Error;

/// Why text is not a move in a position.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MoveTextError {
    /// The text is not in UCI notation.
    #[error("{0:?} is not a UCI move")]
    NotUci(String),
    /// The move is not legal in the position.
    #[error("illegal move {0}")]
    Illegal(String),
}

/// Parses a legal UCI move of `position`. Castling may be e1g1 or e1h1.
///
/// # Errors
/// If the text is not UCI notation, or the move is not legal in `position`.
pub fn parse_uci(position: &Chess, text: &str) -> Result<Move, MoveTextError> {
    let uci: UciMove = text.parse().map_err(|_| MoveTextError::NotUci(text.to_owned()))?;
    uci.to_move(position).map_err(|_| MoveTextError::Illegal(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use shakmaty::Square;

    use super::*;
    use crate::test_positions::position;

    #[test]
    fn both_castling_notations_are_parsed() {
        let white = position("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1");
        let short = Move::Castle { king: Square::E1, rook: Square::H1 };
        let long = Move::Castle { king: Square::E1, rook: Square::A1 };
        assert_eq!(["e1g1", "e1h1"].map(|uci| parse_uci(&white, uci)), [Ok(short), Ok(short)]);
        assert_eq!(["e1c1", "e1a1"].map(|uci| parse_uci(&white, uci)), [Ok(long), Ok(long)]);
    }

    #[test]
    fn king_moves_without_rights_are_not_castling() {
        let no_rights = position("4k3/8/8/8/8/8/8/4K2R w - - 0 1");
        assert_eq!(parse_uci(&no_rights, "e1g1"), Err(MoveTextError::Illegal("e1g1".into())));
        assert_eq!(parse_uci(&no_rights, "e1h1"), Err(MoveTextError::Illegal("e1h1".into())));
        let rook = position("7k/8/8/8/8/8/8/K3R3 w - - 0 1");
        assert!(matches!(parse_uci(&rook, "e1g1"), Ok(Move::Normal { .. })));
    }

    #[test]
    fn other_text_is_rejected() {
        let start = Chess::default();
        for text in ["", "e2", "e2e9", "Nf3", "e2e4x"] {
            assert_eq!(parse_uci(&start, text), Err(MoveTextError::NotUci(text.into())));
        }
        for text in ["e2e5", "e7e5", "e2e4q", "P@e4", "0000"] {
            assert_eq!(parse_uci(&start, text), Err(MoveTextError::Illegal(text.into())));
        }
    }
}
