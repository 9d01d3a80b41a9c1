use std::num::NonZeroI32;

use shakmaty::Color;
use tabia_encoding::{ForWhite, Score};

/// The score of a line, as it reads after the line's first move by `mover`, where the game goes on.
///
/// A mate is counted in moves of the side that gives it. So a mate by `mover` is one move nearer after the move, and one
/// against `mover` is as far as before: all of its moves are still to come.
pub(crate) fn after_move(score: ForWhite<Score>, mover: Color) -> ForWhite<Score> {
    let ours = mover.fold_wb(1, -1);
    ForWhite(match score.0 {
        Score::Mate(moves) if moves.get().signum() == ours => {
            // A mate in one ends the game; whoever claims one where it goes on meant the next move.
            Score::Mate(NonZeroI32::new(moves.get() - ours).unwrap_or(moves))
        }
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mate(moves: i32) -> ForWhite<Score> {
        ForWhite(Score::Mate(NonZeroI32::new(moves).unwrap()))
    }

    #[test]
    fn a_mate_by_the_mover_is_one_move_nearer() {
        assert_eq!(after_move(mate(3), Color::White), mate(2));
        assert_eq!(after_move(mate(-3), Color::Black), mate(-2));
        assert_eq!(after_move(mate(1), Color::White), mate(1));
    }

    #[test]
    fn a_mate_against_the_mover_is_as_far_as_before() {
        assert_eq!(after_move(mate(-3), Color::White), mate(-3));
        assert_eq!(after_move(mate(3), Color::Black), mate(3));
    }

    #[test]
    fn centipawns_stay() {
        let score = ForWhite(Score::Centipawns(-31));
        assert_eq!(after_move(score, Color::White), score);
    }
}
