//! What a set holds, in numbers: counted record by record, in parts that add up to the whole.

mod categories;
mod evaluations;
mod games;
mod tally;

use serde::Serialize;

pub use categories::{GameResult, Phase, Pool, RatingBand, TimeClass};
pub use evaluations::{EvaluationStats, Turn};
pub use games::{GameStats, Share};
pub use tally::{Category, Grid, Histogram, Tally};

use crate::{AnyRecord, LabelStrategy, RecordKind};

/// What a set of either kind is like.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SetStats {
    /// Games.
    Games(Box<GameStats>),
    /// Analysed positions.
    Evaluations(Box<EvaluationStats>),
}

impl SetStats {
    /// Nothing counted yet.
    pub fn new(kind: RecordKind) -> SetStats {
        match kind {
            RecordKind::Games => SetStats::Games(Box::default()),
            RecordKind::Evaluations => SetStats::Evaluations(Box::default()),
        }
    }

    /// Counts a record; one of the other kind does not count. Analysed positions are labelled by `strategy`.
    pub fn add(&mut self, record: &AnyRecord, strategy: LabelStrategy) {
        match (self, record) {
            (SetStats::Games(stats), AnyRecord::Game(game)) => stats.add(game),
            (SetStats::Evaluations(stats), AnyRecord::Evaluation(record)) => {
                stats.add(record, strategy.labels(record).into_iter().map(|(_, probability)| probability));
            }
            _ => {}
        }
    }

    /// Adds what another part of the set holds; a part of the other kind does not count.
    pub fn merge(&mut self, other: &SetStats) {
        match (self, other) {
            (SetStats::Games(stats), SetStats::Games(more)) => stats.merge(more),
            (SetStats::Evaluations(stats), SetStats::Evaluations(more)) => stats.merge(more),
            _ => {}
        }
    }
}
