#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use shakmaty::{CastlingMode, Chess, EnPassantMode, FromSetup, PositionError, fen::Fen};

/// Why a FEN is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FenError {
    /// A syntax error.
    #[error("invalid FEN: {0}")]
    Syntax(shakmaty::fen::ParseFenError),
    /// The position is illegal.
    #[error("illegal position: {0}")]
    Position(String),
}

/// Reads a position. The move counters may be missing; castling rights and en passant squares that the board rules
/// out are dropped, as most programs do. Chess960 set-ups are recognised by their castling rights.
///
/// # Errors
/// When the text is not a FEN or the position is not legal.
pub fn position_from_fen(text: &str) -> Result<Chess, FenError> {
    let setup = Fen::from_ascii(text.trim().as_bytes()).map_err(FenError::Syntax)?.into_setup();
    let mode = CastlingMode::detect(&setup);
    Chess::from_setup(setup, mode)
        .or_else(PositionError::ignore_invalid_castling_rights)
        .or_else(PositionError::ignore_invalid_ep_square)
        .map_err(|error| FenError::Position(error.to_string()))
}

/// Writes a position with all six fields; an en passant square is named only when a capture there is legal.
pub fn fen_of(position: &Chess) -> String {
    Fen::from_position(position, EnPassantMode::Legal).to_string()
}

#[cfg(test)]
mod tests {
    use shakmaty::Position;

    use super::*;

    #[test]
    fn every_fixture_position_round_trips() {
        for fen in include_str!("../../../fixtures/positions.fen").lines().filter(|line| !line.is_empty()) {
            let position = position_from_fen(fen).unwrap();
            let again = position_from_fen(&fen_of(&position)).unwrap();
            assert_eq!(position, again, "{fen}");
            assert_eq!((position.halfmoves(), position.fullmoves()), (again.halfmoves(), again.fullmoves()));
        }
    }

    #[test]
    fn four_fields_are_enough() {
        let position = position_from_fen("8/8/4k3/8/8/3QK3/8/8 b - -").unwrap();
        assert_eq!(fen_of(&position), "8/8/4k3/8/8/3QK3/8/8 b - - 0 1");
    }

    #[test]
    fn impossible_rights_are_dropped() {
        let position = position_from_fen("4k3/8/8/8/8/8/4P3/4K2R w KQkq e6 0 1").unwrap();
        assert_eq!(fen_of(&position), "4k3/8/8/8/8/8/4P3/4K2R w K - 0 1");
    }

    #[test]
    fn errors_by_kind() {
        assert!(matches!(position_from_fen("hello"), Err(FenError::Syntax(_))));
        assert!(matches!(position_from_fen("8/8/8/8/8/8/8/8 w - - 0 1"), Err(FenError::Position(_))));
    }
}
