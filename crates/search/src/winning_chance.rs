use tabia_encoding::{ForMover, Score};

/// Slope of the logistic curve, per centipawn.
const STEEPNESS: f64 = 0.003_682_08;

/// The expected score of the side to move, from 0 to 1: a logistic curve fitted to results of games on Lichess. A mate is
/// certain.
pub fn winning_chance(ForMover(score): ForMover<Score>) -> f64 {
    match score {
        Score::Centipawns(cp) => 1.0 / (1.0 + (-STEEPNESS * f64::from(cp)).exp()),
        Score::Mate(moves) => f64::from(u8::from(moves.get() > 0)),
    }
}

/// The inverse of [`winning_chance`] in centipawns; infinite at 0 and 1.
pub(crate) fn score_of_chance(chance: f64) -> f64 {
    (chance.max(0.0) / (1.0 - chance).max(0.0)).ln() / STEEPNESS
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroI32;

    use super::*;

    #[test]
    fn winning_chance_grows_with_the_score() {
        let chance = |cp| winning_chance(ForMover(Score::Centipawns(cp)));
        assert_eq!(chance(0), 0.5);
        assert!((chance(300) + chance(-300) - 1.0).abs() < 1e-12);
        assert!((0.74..0.76).contains(&chance(300)));
        assert!(chance(i32::MAX) <= 1.0 && chance(i32::MIN) >= 0.0);
        for cp in [-700, 0, 35] {
            assert!((score_of_chance(chance(cp)) - f64::from(cp)).abs() < 1e-6);
        }
        assert_eq!((score_of_chance(-0.1), score_of_chance(1.0)), (f64::NEG_INFINITY, f64::INFINITY));
        let mate = |moves| winning_chance(ForMover(Score::Mate(NonZeroI32::new(moves).unwrap())));
        assert_eq!((mate(3), mate(-3)), (1.0, 0.0));
    }
}
