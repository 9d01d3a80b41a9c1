use std::num::NonZeroI32;

use serde::{Deserialize, Serialize};
use tabia_encoding::{ForMover, Score};

/// Maps evaluations of decided games to value targets, so that a one-ply search still tells a good way to win from a bad one.
///
/// Up to `knee_cp` an evaluation counts as it is, beyond it grows like a logarithm, with slope 1 at the knee. Before that
/// evaluations are cut off at `mate_cp`, and forced mates lie between it and twice of it, nearer ones higher. Odd: what is
/// good for one side is as bad for the other. Always finite; strictly increasing up to `mate_cp` and over mates.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ValueCurve {
    /// Where the logarithm begins, in centipawns.
    pub knee_cp: f32,
    /// What every forced mate is worth more than, in centipawns before the logarithm.
    pub mate_cp: f32,
}

/// A mate in this many moves is halfway between one on the move and none.
const HALFWAY_MOVES: f32 = 10.0;

impl Default for ValueCurve {
    fn default() -> Self {
        ValueCurve { knee_cp: 400.0, mate_cp: 5000.0 }
    }
}

impl ValueCurve {
    /// The target of a score, in centipawns.
    pub fn centipawns(&self, score: ForMover<Score>) -> f32 {
        let straight = match score.0 {
            Score::Centipawns(cp) => (cp as f32).clamp(-self.mate_cp, self.mate_cp),
            Score::Mate(moves) => self.mate_worth(moves),
        };
        let size = straight.abs();
        if size <= self.knee_cp {
            return straight;
        }
        straight.signum() * self.knee_cp * (1.0 + (size / self.knee_cp).ln())
    }

    fn mate_worth(&self, moves: NonZeroI32) -> f32 {
        let nearness = HALFWAY_MOVES / (HALFWAY_MOVES + moves.get().unsigned_abs() as f32);
        moves.get().signum() as f32 * self.mate_cp * (1.0 + nearness)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CURVE: ValueCurve = ValueCurve { knee_cp: 1000.0, mate_cp: 8000.0 };

    fn cp(cp: i32) -> f32 {
        CURVE.centipawns(ForMover(Score::Centipawns(cp)))
    }

    fn mate(moves: i32) -> f32 {
        CURVE.centipawns(ForMover(Score::Mate(NonZeroI32::new(moves).unwrap())))
    }

    #[test]
    fn curve_is_linear_up_to_the_knee_with_continuous_slope() {
        assert_eq!([cp(0), cp(-37), cp(999)], [0.0, -37.0, 999.0]);
        assert!((cp(1001) - 1001.0).abs() < 0.01);
        assert!((cp(2000) - (1000.0 + 1000.0 * 2_f32.ln())).abs() < 0.01);
    }

    #[test]
    fn curve_is_increasing() {
        let mut from_worst: Vec<f32> = (1..=100).map(|moves| mate(-moves)).collect();
        from_worst.extend((-8000..=8000).map(cp));
        from_worst.extend((1..=100).rev().map(mate));
        assert!(from_worst.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn curve_is_odd_and_finite() {
        for score in [1, 700, 1000, 1234, 8000, 20_000, i32::MAX] {
            assert_eq!(cp(-score), -cp(score));
            assert_eq!(mate(-score), -mate(score));
            assert!(cp(score).is_finite() && mate(score).is_finite());
            assert!(mate(score) >= cp(i32::MAX), "{score}");
        }
    }
}
