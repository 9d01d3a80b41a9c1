//! Moves and scores for display.

use serde::Serialize;
use shakmaty::{Chess, Move, Position, Square, san::SanPlus, uci::UciMove};
use tabia_encoding::{ForWhite, Score};
use tsify::Tsify;

/// A move in UCI notation; castling is the king's move, or the king takes its rook in Chess960.
pub(crate) fn uci(position: &Chess, m: Move) -> String {
    m.to_uci(position.castles().mode()).to_string()
}

/// A move in algebraic notation, with its check or mate.
pub(crate) fn san(position: &Chess, m: Move) -> String {
    SanPlus::from_move(position.clone(), m).to_string()
}

/// The squares of a move.
pub(crate) fn squares(position: &Chess, m: Move) -> (Square, Square) {
    match m.to_uci(position.castles().mode()) {
        UciMove::Normal { from, to, .. } => (from, to),
        UciMove::Put { to, .. } => (to, to),
        UciMove::Null => (m.to(), m.to()),
    }
}

/// An evaluation from White's point of view: one of the two, or unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Tsify)]
pub struct Opinion {
    /// Centipawns, positive if White is better.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cp: Option<i32>,
    /// Mate in this many moves; negative when Black mates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mate: Option<i32>,
}

impl From<ForWhite<Score>> for Opinion {
    fn from(ForWhite(score): ForWhite<Score>) -> Opinion {
        match score {
            Score::Centipawns(cp) => Opinion { cp: Some(cp), mate: None },
            Score::Mate(moves) => Opinion { cp: None, mate: Some(moves.get()) },
        }
    }
}
