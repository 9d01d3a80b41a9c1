use std::{num::NonZeroI32, ops::Neg};

use shakmaty::Color;

/// A number from White's point of view: positive is good for White.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ForWhite<T>(pub T);

/// A number from the point of view of the side to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ForMover<T>(pub T);

impl<T: Neg<Output = T>> ForWhite<T> {
    /// From the point of view of the side to move.
    pub fn for_mover(self, turn: Color) -> ForMover<T> {
        ForMover(if turn.is_white() { self.0 } else { -self.0 })
    }
}

impl<T: Neg<Output = T>> ForMover<T> {
    /// From White's point of view.
    pub fn for_white(self, turn: Color) -> ForWhite<T> {
        ForWhite(if turn.is_white() { self.0 } else { -self.0 })
    }
}

/// An engine's score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Score {
    /// Centipawns.
    Centipawns(i32),
    /// Mate in this many moves; negative when being mated.
    Mate(NonZeroI32),
}

impl Neg for Score {
    type Output = Score;

    fn neg(self) -> Score {
        match self {
            Score::Centipawns(cp) => Score::Centipawns(-cp),
            Score::Mate(moves) => Score::Mate(-moves),
        }
    }
}
