//! What a network says of a position, with the point of view in the type.

use shakmaty::{Color, Move};
use tabia_encoding::{ForMover, MoveVocabulary, PolicyIndex, TIME_BINS};

/// Chances of the side to move; they add up to one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wdl {
    /// The side to move wins.
    pub win: f32,
    /// Nobody wins.
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

/// Probabilities of all legal moves, likeliest first; they add up to one. Empty when the game is over.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Policy(Vec<Candidate>);

impl Policy {
    /// A softmax of `logits` over the legal moves alone, times a softmax of `promotion_logits` over the
    /// promotion pieces where the vocabulary keeps those apart. There the logits are one for each piece, or eight times
    /// as many: one for each file a pawn promotes on, as the mover sees the board, and piece. Every legal move keeps
    /// a finite logit, so none of the arguments may hold NaN.
    ///
    /// # Panics
    /// If `logits` or `promotion_logits` are shorter than the vocabulary says.
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

        // The four promotions of one pawn move share an index of the move head: count it once.
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

    /// All legal moves, likeliest first.
    pub fn candidates(&self) -> &[Candidate] {
        &self.0
    }

    /// The likeliest move.
    pub fn best(&self) -> Option<Candidate> {
        self.0.first().copied()
    }

    /// The probability of `mv`; zero if it is not legal.
    pub fn probability(&self, mv: Move) -> f32 {
        self.0.iter().find(|c| c.mv == mv).map_or(0.0, |c| c.probability)
    }
}

/// Everything a network says of one position. Which parts are there depends on its heads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evaluation {
    /// Which moves are likely, from the move head.
    pub policy: Option<Policy>,
    /// Who is better, in centipawns, from the value head.
    pub score: Option<ForMover<f32>>,
    /// How the game may end, from the WDL head.
    pub wdl: Option<Wdl>,
    /// How long a person would think about the move: the chance of each [bin](tabia_encoding::time_bin).
    pub think_time: Option<[f32; TIME_BINS]>,
}

pub(crate) fn softmax(logits: &[f32]) -> Vec<f32> {
    let top = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let weights: Vec<f32> = logits.iter().map(|l| (l - top).exp()).collect();
    let total: f32 = weights.iter().sum();
    weights.into_iter().map(|w| w / total).collect()
}
