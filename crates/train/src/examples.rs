use std::borrow::Cow;
use std::ops::Range;

use tabia_data::stats::Phase;
use tabia_encoding::{Batch, RatingPool};

/// In a column of small numbers: this example has no such target.
pub const ABSENT: u8 = u8::MAX;

/// One batch: the input tensors of an encoding and what there is to learn from each position.
///
/// Columns are as long as the batch has rows, or empty where no example of the batch has such a target. Padding rows at
/// the end have weight zero and targets like any other row.
#[derive(Clone)]
pub struct Examples {
    /// The inputs, one row a position.
    pub inputs: Batch,
    /// How much each example counts; 1 is normal, 0 is padding.
    pub weights: Vec<f32>,
    /// What to play.
    pub policy: Option<PolicyTargets>,
    /// The result for the side to move: 0 win, 1 draw, 2 loss, or [`ABSENT`].
    pub outcomes: Vec<u8>,
    /// The bin of the time the player took, or [`ABSENT`].
    pub think: Vec<u8>,
    /// The value to predict, in the units and from the point of view of the network; NaN where there is none.
    pub values: Vec<f32>,
    /// Of positions after moves of the same position, which stand together in groups of the configured size: 1 where the one
    /// who chooses among them wants a large number of the network, -1 where a small one, 0 for padding. Empty without groups.
    pub siblings: Vec<f32>,
    /// What evaluation groups by; no network sees it.
    pub facts: Vec<Facts>,
}

/// The move to learn, over a vocabulary of `width` moves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PolicyTargets {
    /// Length of the move head.
    pub width: usize,
    /// The index of the move played, or of the best one where the target is soft. Always legal.
    pub played: Vec<u16>,
    /// The legal moves: [`mask_stride`](PolicyTargets::mask_stride) bytes a row, bit `i` of byte `i / 8`, lowest first.
    pub legal: Vec<u8>,
    /// Probabilities to learn instead of `played`, where they are known.
    pub soft: SoftTargets,
    /// The piece promoted to, q r b n = 0..3, or [`ABSENT`]. Empty where the vocabulary has no promotion head.
    pub promotions: Vec<u8>,
}

/// A list of (move index, probability) for each row; an empty list means the row's `played` is the target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SoftTargets {
    /// Row `r` owns entries `starts[r]..starts[r + 1]`. Empty when no row has soft targets, else rows + 1 long.
    pub starts: Vec<u32>,
    /// Move indices. Always legal.
    pub indices: Vec<u16>,
    /// Probabilities; those of one row add up to one.
    pub probabilities: Vec<f32>,
}

impl SoftTargets {
    fn slice(&self, rows: Range<usize>) -> SoftTargets {
        let Some(starts) = self.starts.get(rows.start..=rows.end) else { return SoftTargets::default() };
        let (first, last) = (starts[0], starts[starts.len() - 1]);
        let entries = first as usize..last as usize;
        SoftTargets {
            starts: starts.iter().map(|start| start - first).collect(),
            indices: self.indices[entries.clone()].to_vec(),
            probabilities: self.probabilities[entries].to_vec(),
        }
    }
}

/// What is known of a position besides its input, for evaluation by groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The mover's rating, 0 if unknown.
    pub rating: u16,
    /// Half-moves before this position.
    pub ply: u16,
    /// The pool, as [`Facts::POOLS`] numbers it.
    pub pool: u8,
    /// How far the game has come.
    pub phase: Phase,
    /// The depth of the engine session the target comes from, 0 if from none.
    pub depth: u8,
}

impl Facts {
    /// The names of the pools, at their numbers.
    pub const POOLS: [&'static str; RatingPool::ALL.len()] = {
        let [unknown, over_the_board, online, puzzle, lichess, chess_com] = RatingPool::ALL;
        [
            unknown.name(),
            over_the_board.name(),
            online.name(),
            puzzle.name(),
            lichess.name(),
            chess_com.name(),
        ]
    };
}

/// Some rows of a column; none where the column is empty.
fn part<T: Clone>(column: &[T], rows: &Range<usize>) -> Vec<T> {
    column.get(rows.clone()).map_or_else(Vec::new, <[T]>::to_vec)
}

impl PolicyTargets {
    fn slice(&self, rows: Range<usize>) -> PolicyTargets {
        let stride = self.mask_stride();
        PolicyTargets {
            width: self.width,
            played: self.played[rows.clone()].to_vec(),
            legal: self.legal[rows.start * stride..rows.end * stride].to_vec(),
            soft: self.soft.slice(rows.clone()),
            promotions: part(&self.promotions, &rows),
        }
    }

    /// Bytes of one row of `legal`.
    pub fn mask_stride(&self) -> usize {
        self.width.div_ceil(8)
    }

    /// The legal move indices of a row, ascending.
    pub fn legal_of(&self, row: usize) -> impl Iterator<Item = u16> {
        let stride = self.mask_stride();
        let bytes = &self.legal[row * stride..(row + 1) * stride];
        bytes.iter().enumerate().flat_map(|(at, &byte)| {
            (0..8).filter(move |bit| byte >> bit & 1 == 1).map(move |bit| at as u16 * 8 + bit)
        })
    }

    /// The target distribution of a row: its soft target, or all of it on the move played.
    pub fn target_of(&self, row: usize) -> impl Iterator<Item = (u16, f32)> {
        let range = match self.soft.starts.get(row..row + 2) {
            Some(&[start, end]) => start as usize..end as usize,
            _ => 0..0,
        };
        let hard = range.is_empty().then_some((self.played[row], 1.0));
        let soft = range.map(|at| (self.soft.indices[at], self.soft.probabilities[at]));
        hard.into_iter().chain(soft)
    }

    /// The file (0 = a) of the square a row's move ends on, for promotion heads that read it. Only for from-to indices.
    pub fn to_file(&self, row: usize) -> u8 {
        (self.played[row] % 8) as u8
    }
}

impl Examples {
    /// No examples yet, with inputs of the given encoding.
    pub fn new(inputs: Batch) -> Self {
        Examples {
            inputs,
            weights: Vec::new(),
            policy: None,
            outcomes: Vec::new(),
            think: Vec::new(),
            values: Vec::new(),
            siblings: Vec::new(),
            facts: Vec::new(),
        }
    }

    /// How many examples there are, padding included.
    pub fn rows(&self) -> usize {
        self.inputs.rows()
    }

    /// Some of the rows, in the same order.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn slice(&self, rows: Range<usize>) -> Examples {
        Examples {
            inputs: self.inputs.slice(rows.clone()),
            weights: self.weights[rows.clone()].to_vec(),
            policy: self.policy.as_ref().map(|policy| policy.slice(rows.clone())),
            outcomes: part(&self.outcomes, &rows),
            think: part(&self.think, &rows),
            values: part(&self.values, &rows),
            siblings: part(&self.siblings, &rows),
            facts: part(&self.facts, &rows),
        }
    }

    /// All rows in slices of at most `rows`, in order; the batch itself where it is no larger.
    pub fn micro_batches(&self, rows: usize) -> impl Iterator<Item = Cow<'_, Examples>> {
        let (all, size) = (self.rows(), rows.max(1));
        (0..all).step_by(size.min(all.max(1))).map(move |start| match all {
            all if all <= size => Cow::Borrowed(self),
            all => Cow::Owned(self.slice(start..(start + size).min(all))),
        })
    }

    /// The sum of all weights: what a batch's losses are divided by.
    pub fn total_weight(&self) -> f32 {
        self.weights.iter().sum()
    }
}
