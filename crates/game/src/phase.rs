use serde::{Deserialize, Serialize};
use shakmaty::{Board, Role};

/// Game phase by the number of pieces left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// More than ten pieces other than kings and pawns.
    #[default]
    Opening,
    /// Seven to ten of them.
    Middlegame,
    /// Six or fewer.
    Endgame,
}

impl Phase {
    /// The phase of a position.
    pub fn of(board: &Board) -> Phase {
        let rest = board.occupied() ^ board.by_role(Role::Pawn) ^ board.by_role(Role::King);
        match rest.count() {
            0..=6 => Phase::Endgame,
            7..=10 => Phase::Middlegame,
            _ => Phase::Opening,
        }
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Phase::Opening => "opening",
            Phase::Middlegame => "middlegame",
            Phase::Endgame => "endgame",
        }
    }
}
