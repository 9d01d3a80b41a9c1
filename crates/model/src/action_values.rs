//! Networks that value one move of a position at a time, as DeepMind's searchless chess does.

use shakmaty::{Chess, Move, Position};
use tabia_encoding::{ForMover, Situation};

use crate::evaluation::{Candidate, Evaluation, Policy, softmax};

/// Bins of winning probability, of equal width.
const BINS: usize = 128;

/// Tokens of a row; some files give the bins of each.
const TOKENS: usize = 79;

/// The numbers that a file may have per row.
pub(crate) const ROW_LENGTHS: [usize; 2] = [BINS, TOKENS * BINS];

/// Differences in winning probability by this much change the odds of a move by a factor of e.
const TEMPERATURE: f32 = 0.005;

/// The logistic slope of winning probability over centipawns.
const SLOPE: f32 = 0.003_682_08;

/// Whether rows of this length are bins.
pub(crate) fn has_bins(len: usize) -> bool {
    ROW_LENGTHS.contains(&len)
}

/// The expected winning probability of the mover, from the log-probabilities of the last token's bins.
pub(crate) fn win_probability(row: &[f32]) -> f32 {
    let bins = softmax(&row[row.len() - BINS..]);
    let middle = |bin: usize| (bin as f32 + 0.5) / BINS as f32;
    bins.iter().enumerate().map(|(bin, chance)| chance * middle(bin)).sum()
}

/// The evaluation of a position by the winning probabilities `values` of its legal moves. A move after which the opponent may
/// claim a draw by repetition is worth a half.
pub(crate) fn evaluation(situation: &Situation<'_>, legal: &[Move], mut values: Vec<f32>) -> Evaluation {
    let repeated = repeated(situation);
    if !repeated.is_empty() {
        for (&m, value) in legal.iter().zip(&mut values) {
            if allows_claim(situation.position, m, &repeated) {
                *value = 0.5;
            }
        }
    }
    let odds: Vec<f32> = values.iter().map(|value| value / TEMPERATURE).collect();
    let candidates = legal.iter().zip(softmax(&odds));
    let candidates = candidates.map(|(&mv, probability)| Candidate { mv, probability }).collect();
    let best = values.iter().copied().reduce(f32::max);
    Evaluation {
        policy: Some(Policy::of(candidates)),
        score: best.map(|p| ForMover((p / (1.0 - p)).ln() / SLOPE)),
        ..Evaluation::default()
    }
}

/// The positions that occurred at least twice.
fn repeated<'a>(situation: &Situation<'a>) -> Vec<&'a Chess> {
    let seen: Vec<&Chess> = std::iter::once(situation.position).chain(situation.earlier).collect();
    seen.iter().enumerate().filter(|(at, position)| seen[..*at].contains(position)).map(|(_, p)| *p).collect()
}

/// Whether the position after `m`, or one after a reply, would occur for the third time.
fn allows_claim(position: &Chess, m: Move, repeated: &[&Chess]) -> bool {
    let after = |position: &Chess, m: Move| {
        let mut after = position.clone();
        after.play_unchecked(m);
        after
    };
    let next = after(position, m);
    repeated.contains(&&next)
        || next.legal_moves().into_iter().any(|reply| repeated.contains(&&after(&next, reply)))
}
