//! What a set holds, in numbers: counted record by record, in parts that add up to the whole.

mod categories;
mod evaluations;
mod games;
mod tally;

pub use categories::{GameResult, Phase, Pool, RatingBand, TimeClass};
pub use evaluations::{EvaluationStats, Side};
pub use games::{GameStats, Share};
pub use tally::{Category, Grid, Histogram, Tally};
