//! "You played like N": a rating from the moves alone.
//!
//! The human network says how likely people of each rating are to play a move. The product over the moves of a player,
//! as a function of the rating, is the likelihood of the rating; with a prior it becomes a posterior. Three corrections make
//! it honest:
//!
//! - a network that was told few or no pools knows one scale of ratings: a straight line maps the ratings of a pool to
//!   those told;
//! - moves of one game are not independent, and the network is not quite right: log-likelihoods are multiplied by a
//!   *tempering* below 1;
//! - a player's style looks stronger or weaker than the rating, however many games are seen: the posterior is widened by
//!   a *spread* that does not shrink with more moves.
//!
//! All are fitted by `tabia eval rating --fit`.

use serde::{Deserialize, Serialize};
use shakmaty::Move;
use tabia_encoding::{Elo, RatingPool, Situation};
use tabia_model::Evaluation;

/// The ratings told to the network. It is trained on an input that is piecewise linear between them.
pub const TOLD_RATINGS: [u16; RATINGS] =
    [600, 800, 1000, 1200, 1400, 1600, 1800, 2000, 2200, 2400, 2600, 2800];

/// The number of ratings told.
pub const RATINGS: usize = 12;

/// The ratings of the posterior: from, to and step.
pub const ESTIMATED: (u16, u16, u16) = (400, 3000, STEP);
const STEP: u16 = 25;

/// Lower bound of a move's probability: one slip of a finger does not decide the estimate.
const MIN_PROBABILITY: f32 = 1e-4;

/// The situation as each of the [`TOLD_RATINGS`] sees it: both players have that rating. The network has seen few games
/// between players of very different ratings, and who the opponent was says nothing about the moves that it does not say
/// about the rating.
pub fn at_ratings<'a>(situation: &Situation<'a>) -> [Situation<'a>; RATINGS] {
    TOLD_RATINGS.map(|rating| with_rating(situation, Elo(rating)))
}

/// The situation between two players of this rating.
pub fn with_rating<'a>(situation: &Situation<'a>, rating: Elo) -> Situation<'a> {
    let mut told = *situation;
    told.mover.rating = Some(rating);
    told.opponent.rating = Some(rating);
    told
}

/// Log-likelihoods of moves by rating, summed over moves. Evidence of several games merges; evidence of several rating
/// pools does not, because the same number means a different strength in each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RatingEvidence {
    /// Number of moves.
    pub moves: u32,
    /// For each of [`TOLD_RATINGS`].
    pub log_likelihoods: [f64; RATINGS],
}

impl RatingEvidence {
    /// Adds a move, by the network's predictions at the situations of [`at_ratings`]. Predictions without a policy, or of
    /// another number, are ignored.
    pub fn add(&mut self, predictions: &[Evaluation], played: Move) {
        let probability = |said: &Evaluation| Some(said.policy.as_ref()?.probability(played));
        let said: Option<Vec<f32>> = predictions.iter().map(probability).collect();
        let Some(said) = said.and_then(|said| <[f32; RATINGS]>::try_from(said).ok()) else { return };
        self.moves += 1;
        for (sum, probability) in self.log_likelihoods.iter_mut().zip(said) {
            *sum += f64::from(probability.max(MIN_PROBABILITY)).ln();
        }
    }

    /// Adds the moves of other evidence.
    pub fn merge(&mut self, other: &RatingEvidence) {
        self.moves += other.moves;
        for (sum, more) in self.log_likelihoods.iter_mut().zip(other.log_likelihoods) {
            *sum += more;
        }
    }

    /// The estimate; `None` without moves.
    pub fn estimate(&self, model: &RatingModel) -> Option<RatingEstimate> {
        (self.moves > 0).then(|| model.estimate(self))
    }
}

/// What turns evidence into an estimate, for one rating pool.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RatingModel {
    /// The rating told for a rating of 0 in the pool, on the straight line of ratings told.
    pub offset: f64,
    /// The slope of that line.
    pub slope: f64,
    /// Weight of the log-likelihoods.
    pub tempering: f64,
    /// Standard deviation that no number of moves removes.
    pub spread: f64,
    /// Mean of the prior.
    pub mean: f64,
    /// Standard deviation of the prior.
    pub deviation: f64,
}

impl RatingModel {
    /// The model of a pool, fitted to the bundled network.
    pub fn of(pool: RatingPool) -> RatingModel {
        match pool {
            RatingPool::OverTheBoard => RatingModel {
                offset: 50.0,
                slope: 1.0,
                tempering: 0.75,
                spread: 100.0,
                mean: 2150.0,
                deviation: 390.0,
            },
            RatingPool::ChessCom => RatingModel {
                offset: 650.0,
                slope: 0.7,
                tempering: 0.75,
                spread: 200.0,
                mean: 1300.0,
                deviation: 530.0,
            },
            RatingPool::Lichess | RatingPool::Online | RatingPool::Puzzle | RatingPool::Unknown => {
                RatingModel {
                    offset: 450.0,
                    slope: 0.7,
                    tempering: 0.9,
                    spread: 100.0,
                    mean: 1650.0,
                    deviation: 350.0,
                }
            }
        }
    }

    /// The log-likelihood of a rating in the pool.
    pub fn log_likelihood(&self, evidence: &RatingEvidence, rating: f64) -> f64 {
        Spline::new(&evidence.log_likelihoods).at(self.told(rating))
    }

    /// The rating told to the network for a rating in the pool.
    fn told(&self, rating: f64) -> f64 {
        self.offset + self.slope * rating
    }

    fn estimate(&self, evidence: &RatingEvidence) -> RatingEstimate {
        let ratings: Vec<f64> = grid().map(f64::from).collect();
        let spline = Spline::new(&evidence.log_likelihoods);
        let log_posterior = ratings.iter().map(|&rating| {
            let from_mean = (rating - self.mean) / self.deviation;
            self.tempering * spline.at(self.told(rating)) - from_mean * from_mean / 2.0
        });
        let log_posterior: Vec<f64> = log_posterior.collect();
        let highest = log_posterior.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sharp: Vec<f64> = log_posterior.iter().map(|value| (value - highest).exp()).collect();
        let posterior = normalised(&self.widened(&sharp));
        let rating = ratings.iter().zip(&posterior).map(|(rating, share)| rating * share).sum();
        RatingEstimate {
            rating,
            low: quantile(&posterior, 0.025),
            high: quantile(&posterior, 0.975),
            moves: evidence.moves,
            curve: posterior,
        }
    }

    /// Convolution with a normal distribution. What would leave the grid stays at its ends.
    fn widened(&self, shares: &[f64]) -> Vec<f64> {
        if self.spread <= 0.0 {
            return shares.to_vec();
        }
        let step = f64::from(STEP) / self.spread;
        let normal: Vec<f64> =
            (0..shares.len()).map(|steps| (-(steps as f64 * step).powi(2) / 2.0).exp()).collect();
        let mut wide = vec![0.0; shares.len()];
        for (from, share) in shares.iter().enumerate() {
            for (to, sum) in wide.iter_mut().enumerate() {
                *sum += share * normal[from.abs_diff(to)];
            }
        }
        wide
    }
}

/// A rating estimated from moves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct RatingEstimate {
    /// The mean of the posterior.
    pub rating: f64,
    /// Lower bound of the 95% interval.
    pub low: f64,
    /// Upper bound of the 95% interval.
    pub high: f64,
    /// Number of moves.
    pub moves: u32,
    /// The posterior: the shares of the ratings of [`ESTIMATED`].
    pub curve: Vec<f64>,
}

/// The ratings of the posterior.
fn grid() -> impl Iterator<Item = u16> {
    (ESTIMATED.0..=ESTIMATED.1).step_by(usize::from(STEP))
}

fn normalised(shares: &[f64]) -> Vec<f64> {
    let total: f64 = shares.iter().sum();
    shares.iter().map(|share| share / total).collect()
}

/// The rating below which this share of the posterior lies; each point of the grid stands for the step around it.
fn quantile(posterior: &[f64], share: f64) -> f64 {
    let mut below = 0.0;
    for (&part, rating) in posterior.iter().zip(grid()) {
        if below + part >= share {
            let within = if part > 0.0 { (share - below) / part } else { 0.5 };
            return f64::from(rating) + (within - 0.5) * f64::from(STEP);
        }
        below += part;
    }
    f64::from(ESTIMATED.1)
}

/// A natural cubic spline through values at [`TOLD_RATINGS`].
struct Spline {
    values: [f64; RATINGS],
    /// Second derivatives times the squared distance of knots.
    bends: [f64; RATINGS],
}

/// The distance of knots.
const KNOT_STEP: f64 = 200.0;

impl Spline {
    fn new(values: &[f64; RATINGS]) -> Spline {
        // The tridiagonal system (1, 4, 1), solved by elimination from the left and substitution from the right.
        let (mut bends, mut pivots) = ([0.0; RATINGS], [0.0; RATINGS]);
        for knot in 1..RATINGS - 1 {
            let bend = 6.0 * (values[knot - 1] - 2.0 * values[knot] + values[knot + 1]);
            let pivot = 1.0 / (4.0 - pivots[knot - 1]);
            (bends[knot], pivots[knot]) = ((bend - bends[knot - 1]) * pivot, pivot);
        }
        for knot in (1..RATINGS - 1).rev() {
            bends[knot] -= pivots[knot] * bends[knot + 1];
        }
        Spline { values: *values, bends }
    }

    fn at(&self, rating: f64) -> f64 {
        let place = ((rating - f64::from(TOLD_RATINGS[0])) / KNOT_STEP).clamp(0.0, (RATINGS - 1) as f64);
        let knot = (place as usize).min(RATINGS - 2);
        let (right, left) = (place - knot as f64, knot as f64 + 1.0 - place);
        let bend = |part: f64, bend: f64| (part * part * part - part) * bend / 6.0;
        left * self.values[knot]
            + right * self.values[knot + 1]
            + bend(left, self.bends[knot])
            + bend(right, self.bends[knot + 1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: RatingModel =
        RatingModel { offset: 0.0, slope: 1.0, tempering: 1.0, spread: 0.0, mean: 1700.0, deviation: 1e6 };

    /// The evidence of moves whose log-likelihood is a parabola: a normal distribution of the rating.
    fn normal(mean: f64, deviation: f64, moves: u32) -> RatingEvidence {
        let log_likelihoods = TOLD_RATINGS.map(|rating| {
            let from_mean = (f64::from(rating) - mean) / deviation;
            -from_mean * from_mean / 2.0
        });
        RatingEvidence { moves, log_likelihoods }
    }

    #[test]
    fn a_normal_likelihood_gives_its_mean_and_interval() {
        let estimate = normal(1640.0, 80.0, 30).estimate(&PLAIN).unwrap();
        assert!((estimate.rating - 1640.0).abs() < 3.0, "{}", estimate.rating);
        assert!((estimate.low - (1640.0 - 1.96 * 80.0)).abs() < 8.0, "{}", estimate.low);
        assert!((estimate.high - (1640.0 + 1.96 * 80.0)).abs() < 8.0, "{}", estimate.high);
        assert!((estimate.curve.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn more_games_narrow_the_interval_down_to_the_spread() {
        let model = RatingModel { spread: 50.0, ..PLAIN };
        let width = |games: usize| {
            let mut evidence = RatingEvidence::default();
            (0..games).for_each(|_| evidence.merge(&normal(1500.0, 200.0, 30)));
            let estimate = evidence.estimate(&model).unwrap();
            assert_eq!(estimate.moves, 30 * games as u32);
            estimate.high - estimate.low
        };
        let widths = [1, 4, 16, 10_000].map(width);
        assert!(widths.is_sorted_by(|wide, narrow| wide > narrow), "{widths:?}");
        assert!((widths[3] - 2.0 * 1.96 * 50.0).abs() < 10.0, "{widths:?}");
    }

    #[test]
    fn tempering_widens_and_the_prior_pulls() {
        let evidence = normal(2000.0, 150.0, 20);
        let of = |model: RatingModel| evidence.estimate(&model).unwrap();
        let (plain, tempered) = (of(PLAIN), of(RatingModel { tempering: 0.25, ..PLAIN }));
        assert!((tempered.high - tempered.low) > 1.9 * (plain.high - plain.low));
        let pulled = of(RatingModel { mean: 1500.0, deviation: 150.0, ..PLAIN });
        assert!((pulled.rating - 1750.0).abs() < 5.0, "{}", pulled.rating);
    }

    #[test]
    fn the_line_maps_the_scale_of_a_pool_to_the_ratings_told() {
        let model = RatingModel { offset: 700.0, slope: 0.7, ..PLAIN };
        let estimate = normal(1400.0, 70.0, 30).estimate(&model).unwrap();
        assert!((estimate.rating - 1000.0).abs() < 5.0, "{}", estimate.rating);
        assert!((estimate.high - estimate.low - 2.0 * 1.96 * 100.0).abs() < 16.0, "{estimate:?}");
    }

    #[test]
    fn evidence_beyond_the_range_stays_in_it() {
        for mean in [-3000.0, 6000.0] {
            let estimate = normal(mean, 200.0, 40).estimate(&RatingModel::of(RatingPool::Lichess)).unwrap();
            assert!((350.0..=3050.0).contains(&estimate.low) && (350.0..=3050.0).contains(&estimate.high));
            assert!(estimate.low <= estimate.rating && estimate.rating <= estimate.high, "{estimate:?}");
        }
        assert_eq!(RatingEvidence::default().estimate(&PLAIN), None);
    }

    #[test]
    fn the_spline_passes_through_its_knots_and_follows_a_parabola() {
        let values = TOLD_RATINGS.map(|rating| (f64::from(rating) / 1000.0).powi(2));
        let spline = Spline::new(&values);
        for (rating, value) in TOLD_RATINGS.into_iter().zip(values) {
            assert!((spline.at(f64::from(rating)) - value).abs() < 1e-9);
        }
        assert!((spline.at(1700.0) - 2.89).abs() < 1e-3);
    }
}
