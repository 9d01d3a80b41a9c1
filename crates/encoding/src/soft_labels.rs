use shakmaty::Color;

use crate::{ForWhite, Score};

/// The temperature of Learning a Chess Policy, in centipawns.
pub const TEMPERATURE_CP: f64 = 50.0;

/// One engine line: its first move, depth and score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Analysis<M> {
    /// The move, in any representation.
    pub mv: M,
    /// The search depth in plies.
    pub depth: u32,
    /// The score after the move.
    pub score: ForWhite<Score>,
}

/// Move probabilities of a position with `turn` to move, from engine lines.
///
/// Only the deepest lines count. A move has the score of its best line for the side to move; the probabilities are a softmax
/// of `score / temperature_cp`. Moves are in order of their first occurrence.
pub fn soft_labels<M: Copy + PartialEq>(
    analyses: &[Analysis<M>],
    turn: Color,
    temperature_cp: f64,
) -> Vec<(M, f32)> {
    let deepest = analyses.iter().map(|a| a.depth).max().unwrap_or(0);
    let mut scores: Vec<(M, f64)> = Vec::new();
    for analysis in analyses.iter().filter(|a| a.depth == deepest) {
        let score = centipawns(analysis.score.for_mover(turn).0);
        match scores.iter_mut().find(|(mv, _)| *mv == analysis.mv) {
            Some((_, best)) => *best = best.max(score),
            None => scores.push((analysis.mv, score)),
        }
    }
    let best = scores.iter().map(|&(_, score)| score).fold(f64::NEG_INFINITY, f64::max);
    let weight = |score: f64| ((score - best) / temperature_cp).exp();
    let total: f64 = scores.iter().map(|&(_, score)| weight(score)).sum();
    scores.into_iter().map(|(mv, score)| (mv, (weight(score) / total) as f32)).collect()
}

/// A score in centipawns: mate in 1 is 10,000, falling linearly to 1,000 for mate in 20 or more.
fn centipawns(score: Score) -> f64 {
    match score {
        Score::Centipawns(cp) => f64::from(cp),
        Score::Mate(moves) => {
            let n = f64::from(moves.get().unsigned_abs().min(20));
            (10_000.0 - 9_000.0 * (n - 1.0) / 19.0) * f64::from(moves.get().signum())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroI32;

    use super::*;

    fn line(mv: &'static str, depth: u32, cp: i32) -> Analysis<&'static str> {
        Analysis { mv, depth, score: ForWhite(Score::Centipawns(cp)) }
    }

    fn mate(n: i32) -> Score {
        Score::Mate(NonZeroI32::new(n).unwrap())
    }

    #[test]
    fn only_the_deepest_lines_count_and_the_best_per_move() {
        let lines = [line("e2e4", 20, 900), line("d2d4", 30, 50), line("c2c4", 30, -40), line("c2c4", 30, 0)];
        let labels = soft_labels(&lines, Color::White, TEMPERATURE_CP);
        let e = 1.0 / std::f32::consts::E;
        assert_eq!(labels.iter().map(|label| label.0).collect::<Vec<_>>(), ["d2d4", "c2c4"]);
        assert!((labels[0].1 - 1.0 / (1.0 + e)).abs() < 1e-6);
        assert!((labels[1].1 - e / (1.0 + e)).abs() < 1e-6);
    }

    #[test]
    fn scores_are_for_the_side_to_move() {
        let lines = [line("e7e5", 30, 100), line("c7c5", 30, -100)];
        let labels = soft_labels(&lines, Color::Black, TEMPERATURE_CP);
        assert!(labels[1].1 > 0.98);
    }

    #[test]
    fn mate_scores_are_mapped_linearly() {
        let scale = [mate(1), mate(2), mate(19), mate(20), mate(99), mate(-1), mate(-20)].map(centipawns);
        let step = 9_000.0 / 19.0;
        let expected = [10_000.0, 10_000.0 - step, 1_000.0 + step, 1_000.0, 1_000.0, -10_000.0, -1_000.0];
        for (have, want) in scale.into_iter().zip(expected) {
            assert!((have - want).abs() < 1e-9, "{have} {want}");
        }
    }

    #[test]
    fn no_lines_give_no_labels() {
        assert!(soft_labels::<u16>(&[], Color::White, TEMPERATURE_CP).is_empty());
    }
}
