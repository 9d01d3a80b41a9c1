use shakmaty::{Chess, Color, KnownOutcome, Position};

/// How a game ended, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// One side won.
    Win {
        /// The side that won.
        winner: Color,
        /// What decided the game.
        by: WinReason,
    },
    /// A draw.
    Draw(DrawReason),
    /// The game was abandoned without a result.
    Abandoned,
}

/// How a game was won.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WinReason {
    /// The loser's king is mated.
    Checkmate,
    /// The loser's time ran out.
    Timeout,
    /// The loser resigned.
    Resignation,
    /// An arbiter or an adjudication rule decided.
    Adjudication,
    /// The loser left the game.
    Abandonment,
    /// The loser broke the rules: an illegal move, a crashed engine.
    RulesInfraction,
}

/// Why a game was drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DrawReason {
    /// The side to move has no legal move and is not in check.
    Stalemate,
    /// The position occurred three times and a player claimed the draw.
    ThreefoldRepetition,
    /// The position occurred five times: a draw without a claim.
    FivefoldRepetition,
    /// Fifty moves by each side without a capture or a pawn move, and a player claimed the draw.
    FiftyMoves,
    /// Seventy-five such moves: a draw without a claim.
    SeventyFiveMoves,
    /// Neither side has the material to mate.
    InsufficientMaterial,
    /// A player's flag fell, but the opponent has insufficient material to mate.
    TimeoutVsInsufficientMaterial,
    /// The players agreed.
    Agreement,
    /// An arbiter or an adjudication rule decided.
    Adjudication,
    /// The game reached the maximum length.
    PlyLimit,
}

impl Outcome {
    /// The outcome if `flagged` runs out of time: a loss, or a draw if the opponent cannot possibly mate.
    pub fn on_time(position: &Chess, flagged: Color) -> Outcome {
        if position.has_insufficient_material(!flagged) {
            Outcome::Draw(DrawReason::TimeoutVsInsufficientMaterial)
        } else {
            Outcome::Win { winner: !flagged, by: WinReason::Timeout }
        }
    }

    /// The PGN result token.
    pub fn result(self) -> shakmaty::Outcome {
        match self {
            Outcome::Win { winner, .. } => shakmaty::Outcome::Known(KnownOutcome::Decisive { winner }),
            Outcome::Draw(_) => shakmaty::Outcome::Known(KnownOutcome::Draw),
            Outcome::Abandoned => shakmaty::Outcome::Unknown,
        }
    }

    /// Why the game ended, in a few words.
    pub fn reason(self) -> &'static str {
        match self {
            Outcome::Win { by: WinReason::Checkmate, .. } => "checkmate",
            Outcome::Win { by: WinReason::Timeout, .. } => "time forfeit",
            Outcome::Win { by: WinReason::Resignation, .. } => "resignation",
            Outcome::Win { by: WinReason::Adjudication, .. } | Outcome::Draw(DrawReason::Adjudication) => {
                "adjudication"
            }
            Outcome::Win { by: WinReason::Abandonment, .. } | Outcome::Abandoned => "abandonment",
            Outcome::Win { by: WinReason::RulesInfraction, .. } => "rules infraction",
            Outcome::Draw(DrawReason::Stalemate) => "stalemate",
            Outcome::Draw(DrawReason::ThreefoldRepetition) => "threefold repetition",
            Outcome::Draw(DrawReason::FivefoldRepetition) => "fivefold repetition",
            Outcome::Draw(DrawReason::FiftyMoves) => "fifty moves",
            Outcome::Draw(DrawReason::SeventyFiveMoves) => "seventy-five moves",
            Outcome::Draw(DrawReason::InsufficientMaterial) => "insufficient material",
            Outcome::Draw(DrawReason::TimeoutVsInsufficientMaterial) => {
                "time forfeit against insufficient material"
            }
            Outcome::Draw(DrawReason::Agreement) => "agreement",
            Outcome::Draw(DrawReason::PlyLimit) => "ply limit",
        }
    }

    /// The value of the PGN tag `Termination`.
    pub fn termination(self) -> &'static str {
        match self {
            Outcome::Win { by: WinReason::Timeout, .. }
            | Outcome::Draw(DrawReason::TimeoutVsInsufficientMaterial) => "time forfeit",
            Outcome::Win { by: WinReason::Adjudication, .. }
            | Outcome::Draw(DrawReason::Adjudication | DrawReason::PlyLimit) => "adjudication",
            Outcome::Win { by: WinReason::RulesInfraction, .. } => "rules infraction",
            Outcome::Win { by: WinReason::Abandonment, .. } | Outcome::Abandoned => "abandoned",
            Outcome::Win { .. } | Outcome::Draw(_) => "normal",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::position_from_fen;

    #[test]
    fn a_timeout_against_a_bare_king_is_a_draw() {
        let position = position_from_fen("8/8/4k3/8/8/3QK3/8/8 b - - 0 1").unwrap();
        let lost = Outcome::Win { winner: Color::White, by: WinReason::Timeout };
        assert_eq!(Outcome::on_time(&position, Color::Black), lost);
        let drawn = Outcome::Draw(DrawReason::TimeoutVsInsufficientMaterial);
        assert_eq!(Outcome::on_time(&position, Color::White), drawn);
    }

    #[test]
    fn timeout_against_a_lone_knight() {
        let queen = position_from_fen("8/8/4k1n1/8/8/3QK3/8/8 w - - 0 1").unwrap();
        assert_eq!(
            Outcome::on_time(&queen, Color::White),
            Outcome::Draw(DrawReason::TimeoutVsInsufficientMaterial)
        );
        let pawn = position_from_fen("8/8/4k1n1/8/8/3PK3/8/8 w - - 0 1").unwrap();
        let lost = Outcome::Win { winner: Color::Black, by: WinReason::Timeout };
        assert_eq!(Outcome::on_time(&pawn, Color::White), lost);
    }

    #[test]
    fn results_and_terminations_match_pgn() {
        let mate = Outcome::Win { winner: Color::Black, by: WinReason::Checkmate };
        assert_eq!((mate.result().to_string().as_str(), mate.termination()), ("0-1", "normal"));
        let long = Outcome::Draw(DrawReason::PlyLimit);
        assert_eq!((long.result().to_string().as_str(), long.termination()), ("1/2-1/2", "adjudication"));
        assert_eq!(
            (Outcome::Abandoned.result().to_string().as_str(), Outcome::Abandoned.termination()),
            ("*", "abandoned")
        );
    }
}
