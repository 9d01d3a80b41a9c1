use std::{num::NonZeroI32, ops::Neg};

use shakmaty::Color;

/// A number that is good for White when it is positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ForWhite<T>(pub T);

/// A number that is good for the side to move when it is positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ForMover<T>(pub T);

impl<T: Neg<Output = T>> ForWhite<T> {
    /// The same, as the side to move sees it.
    pub fn for_mover(self, turn: Color) -> ForMover<T> {
        ForMover(if turn.is_white() { self.0 } else { -self.0 })
    }
}

impl<T: Neg<Output = T>> ForMover<T> {
    /// The same, as White sees it.
    pub fn for_white(self, turn: Color) -> ForWhite<T> {
        ForWhite(if turn.is_white() { self.0 } else { -self.0 })
    }
}

/// What an engine says of a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Score {
    /// Hundredths of a pawn.
    Centipawns(i32),
    /// A forced mate in this many moves; negative when it is the mate of the one whose score it is.
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
