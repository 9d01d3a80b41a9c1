//! Statistics of sets, which can be computed in parts and merged.

mod categories;
mod evaluations;
mod games;
mod tally;

use serde::Serialize;

pub use categories::{GameResult, Pool, RatingBand};
pub use evaluations::{EvaluationStats, Turn};
pub use games::{GameStats, Share};
pub use tabia_game::{Phase, TimeClass};
pub use tally::{Category, Grid, Histogram, Tally};

use crate::{AnyRecord, LabelStrategy, RecordKind};

/// Statistics of a set of either kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SetStats {
    /// Games.
    Games(Box<GameStats>),
    /// Analysed positions.
    Evaluations(Box<EvaluationStats>),
}

impl SetStats {
    /// Empty statistics.
    pub fn new(kind: RecordKind) -> SetStats {
        match kind {
            RecordKind::Games => SetStats::Games(Box::default()),
            RecordKind::Evaluations => SetStats::Evaluations(Box::default()),
        }
    }

    /// Counts a record; records of the other kind are ignored. Analysed positions are labelled by `strategy`.
    pub fn add(&mut self, record: &AnyRecord, strategy: LabelStrategy) {
        match (self, record) {
            (SetStats::Games(stats), AnyRecord::Game(game)) => stats.add(game),
            (SetStats::Evaluations(stats), AnyRecord::Evaluation(record)) => {
                stats.add(record, strategy.labels(record).into_iter().map(|(_, probability)| probability));
            }
            _ => {}
        }
    }

    /// Adds the counts of another part of the set; those of the other kind are ignored.
    pub fn merge(&mut self, other: &SetStats) {
        match (self, other) {
            (SetStats::Games(stats), SetStats::Games(more)) => stats.merge(more),
            (SetStats::Evaluations(stats), SetStats::Evaluations(more)) => stats.merge(more),
            _ => {}
        }
    }
}
