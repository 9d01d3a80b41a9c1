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

impl ForWhite<Score> {
    /// The score of a line, as it reads after the line's first move by `mover`, where the game goes on.
    ///
    /// A mate is counted in moves of the side that gives it. So a mate by `mover` is one move nearer after the move, and one
    /// against `mover` is as far as before: all of its moves are still to come.
    #[must_use]
    pub fn after_move(self, mover: Color) -> ForWhite<Score> {
        let ours = mover.fold_wb(1, -1);
        ForWhite(match self.0 {
            Score::Mate(moves) if moves.get().signum() == ours => {
                // A mate in one ends the game; whoever claims one where it goes on meant the next move.
                Score::Mate(NonZeroI32::new(moves.get() - ours).unwrap_or(moves))
            }
            other => other,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mate(moves: i32) -> ForWhite<Score> {
        ForWhite(Score::Mate(NonZeroI32::new(moves).unwrap()))
    }

    #[test]
    fn a_mate_by_the_mover_is_one_move_nearer() {
        assert_eq!(mate(3).after_move(Color::White), mate(2));
        assert_eq!(mate(-3).after_move(Color::Black), mate(-2));
        assert_eq!(mate(1).after_move(Color::White), mate(1));
    }

    #[test]
    fn a_mate_against_the_mover_is_as_far_as_before() {
        assert_eq!(mate(-3).after_move(Color::White), mate(-3));
        assert_eq!(mate(3).after_move(Color::Black), mate(3));
    }

    #[test]
    fn centipawns_stay() {
        let score = ForWhite(Score::Centipawns(-31));
        assert_eq!(score.after_move(Color::White), score);
    }
}
