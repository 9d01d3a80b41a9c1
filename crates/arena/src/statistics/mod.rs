//! Numbers from results: how much stronger, how sure, when to stop.
//!
//! Every interval is a 95% interval, every answer is finite: where the results leave one side open (all games won, for
//! example), that bound is `None`. The formulas are explained in `docs/guides/matches.md`.

mod anchored;
mod elo;
mod pool;
mod rating;
mod sample;
mod sprt;
mod square;
mod tally;

pub use anchored::rate_with_anchors;
pub use elo::{EloEstimate, NormalisedElo, elo_of_score, expected_score};
pub use pool::{Anchor, Encounter, PoolError, PoolRating, RatingDifference, RatingPool, rate_pool};
pub use rating::{Against, RatingEstimate, rate_against};
pub use sprt::{BadSprt, EloScale, Sprt, Verdict};
pub use square::Square;
pub use tally::{Pairs, Points, Tally};

/// The 97.5% point of the normal distribution: 95% of it lies within this many standard deviations.
const Z95: f64 = 1.959_963_984_540_054;

/// The chance that an interval misses the truth.
const MISS: f64 = 0.05;

/// The share of the normal distribution below `x`.
fn normal_share_below(x: f64) -> f64 {
    0.5 * libm::erfc(-x / std::f64::consts::SQRT_2)
}
