//! Evaluations, with the point of view in the type.

use shakmaty::{Color, Move};
use tabia_encoding::{ForMover, MoveVocabulary, PolicyIndex, TIME_BINS};

/// Win, draw and loss probabilities for the side to move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wdl {
    /// The side to move wins.
    pub win: f32,
    /// The game is drawn.
    pub draw: f32,
    /// The side to move loses.
    pub loss: f32,
}

impl Wdl {
    /// The expected result for the side to move: 1 a win, 0.5 a draw, 0 a loss.
    pub fn expected(self) -> f32 {
        self.win + 0.5 * self.draw
    }
}

/// A legal move and its probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The move.
    pub mv: Move,
    /// Its probability among the legal moves.
    pub probability: f32,
}

/// Probabilities of all legal moves, most likely first. Empty when the game is over.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Policy(Vec<Candidate>);

impl Policy {
    /// A softmax of `logits` over the legal moves, times a softmax of `promotion_logits` over the pieces for vocabularies with
    /// a separate promotion head: one logit per piece, or one per file (from the mover's side) and piece. No argument may hold
    /// NaN.
    ///
    /// # Panics
    /// If `logits` or `promotion_logits` are too short for the vocabulary.
    pub fn from_logits(
        vocabulary: &dyn MoveVocabulary,
        turn: Color,
        legal: &[Move],
        logits: &[f32],
        promotion_logits: &[f32],
    ) -> Policy {
        let slots: Vec<_> = legal.iter().map(|&m| vocabulary.slot(turn, m)).collect();
        let logit = |index: PolicyIndex| logits[usize::from(index.0)];
        let top = slots.iter().map(|s| logit(s.index)).fold(f32::NEG_INFINITY, f32::max);
        let weight = |index: PolicyIndex| (logit(index) - top).exp();

        // The four promotions of a pawn move share an index: count it once.
        let mut indices: Vec<_> = slots.iter().map(|s| s.index).collect();
        indices.sort_unstable();
        indices.dedup();
        let total: f32 = indices.into_iter().map(weight).sum();

        let width = vocabulary.promotion_width().max(1);
        let by_file: Vec<Vec<f32>> = promotion_logits.chunks_exact(width).map(softmax).collect();
        let pieces = |m: Move| match by_file.as_slice() {
            [same_on_all_files] => same_on_all_files,
            files => &files[usize::from(vocabulary.orientation().square(turn, m.to()).file())],
        };
        let mut candidates: Vec<_> = legal
            .iter()
            .zip(&slots)
            .map(|(&mv, slot)| {
                let piece = slot.promotion.map_or(1.0, |p| pieces(mv)[usize::from(p)]);
                Candidate { mv, probability: weight(slot.index) / total * piece }
            })
            .collect();
        candidates.sort_by(|a, b| b.probability.total_cmp(&a.probability));
        Policy(candidates)
    }

    /// From moves and their probabilities.
    pub(crate) fn of(mut candidates: Vec<Candidate>) -> Policy {
        candidates.sort_by(|a, b| b.probability.total_cmp(&a.probability));
        Policy(candidates)
    }

    /// All legal moves, most likely first.
    pub fn candidates(&self) -> &[Candidate] {
        &self.0
    }

    /// The most likely move.
    pub fn best(&self) -> Option<Candidate> {
        self.0.first().copied()
    }

    /// The probability of `mv`; zero if it is not legal.
    pub fn probability(&self, mv: Move) -> f32 {
        self.0.iter().find(|c| c.mv == mv).map_or(0.0, |c| c.probability)
    }
}

/// The evaluation of one position, as far as the network has the heads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evaluation {
    /// From the policy head.
    pub policy: Option<Policy>,
    /// From the value head, in centipawns.
    pub score: Option<ForMover<f32>>,
    /// From the WDL head.
    pub wdl: Option<Wdl>,
    /// From the think-time head: the probability of each [bin](tabia_encoding::time_bin).
    pub think_time: Option<[f32; TIME_BINS]>,
}

pub(crate) fn softmax(logits: &[f32]) -> Vec<f32> {
    let top = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let weights: Vec<f32> = logits.iter().map(|l| (l - top).exp()).collect();
    let total: f32 = weights.iter().sum();
    weights.into_iter().map(|w| w / total).collect()
}
