//! Elo differences, ratings and sequential tests.
//!
//! All intervals are 95% confidence intervals. Values are finite: a bound that the results leave open, for example if all
//! games were won, is `None`. The formulas are explained in `docs/guides/matches.md`.

mod elo;
mod matrix;
mod pool;
mod rating;
mod sample;
mod scales;
mod sprt;
mod tally;

pub use elo::{EloEstimate, NormalisedElo, elo_of_score, expected_score};
pub use matrix::Matrix;
pub use pool::{HeadToHead, PoolError, PoolRating, rate_pool};
pub use rating::{Against, RatingEstimate, rate_against};
pub use scales::{RatingScale, rate_on_scales};
pub use sprt::{EloScale, Sprt, SprtError, Verdict};
pub use tally::{Pairs, Points, Tally};

/// 97.5% quantile of the normal distribution.
const Z95: f64 = 1.959_963_984_540_054;

/// Error probability of intervals.
const ALPHA: f64 = 0.05;

/// Cumulative distribution function of the normal distribution.
fn normal_cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x / std::f64::consts::SQRT_2)
}
