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

use std::fmt;

use serde::{Deserialize, Serialize};
use shakmaty::{ByColor, Move, Position as _};
use tabia_encoding::{Elo, RatingPool, Situation};
use tabia_game::{Game, History, Phase};
use tabia_model::{Evaluation, Model};
use tabia_players::PlayerError;

/// The ratings told to the network. A move's log-probability is interpolated between them: asking at all of
/// [`EVIDENCE_RATINGS`] takes twice the time and changes an estimate from one game, which is off by about 200 points, by 40.
pub const TOLD_RATINGS: [u16; TOLD] = [600, 1040, 1480, 1920, 2360, 2800];
const TOLD: usize = 6;

/// The ratings at which evidence is kept.
pub const EVIDENCE_RATINGS: [u16; RATINGS] =
    [600, 800, 1000, 1200, 1400, 1600, 1800, 2000, 2200, 2400, 2600, 2800];

/// The number of ratings at which evidence is kept.
pub const RATINGS: usize = 12;

/// The moves that an estimate of a game needs. From fewer, it is more the prior's than the player's.
pub const MIN_MOVES: u32 = 10;

/// The moves that an estimate of a phase needs.
pub const MIN_PHASE_MOVES: u32 = 5;

/// The ratings of the posterior: from, to and step.
pub const ESTIMATED: (u16, u16, u16) = (400, 3000, STEP);
const STEP: u16 = 25;

/// Lower bound of a move's probability: one slip of a finger does not decide the estimate.
const MIN_PROBABILITY: f32 = 1e-4;

/// The situation as each of the [`TOLD_RATINGS`] sees it: both players have that rating. The network has seen few games
/// between players of very different ratings, and who the opponent was says nothing about the moves that it does not say
/// about the rating.
pub fn at_ratings<'a>(situation: &Situation<'a>) -> [Situation<'a>; TOLD] {
    TOLD_RATINGS.map(|rating| with_rating(situation, Elo(rating)))
}

/// The situation between two players of this rating.
pub fn with_rating<'a>(situation: &Situation<'a>, rating: Elo) -> Situation<'a> {
    let mut told = *situation;
    told.mover.rating = Some(rating);
    told.opponent.rating = Some(rating);
    told
}

/// Whether there are several legal moves. An only move says nothing about who plays it.
pub(crate) fn has_choice(position: &shakmaty::Chess) -> bool {
    position.legal_moves().len() > 1
}

/// Log-likelihoods of moves by rating, summed over moves. Evidence of several games merges; evidence of several rating
/// pools does not, because the same number means a different strength in each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RatingEvidence {
    /// Number of moves.
    pub moves: u32,
    /// For each of [`EVIDENCE_RATINGS`].
    pub log_likelihoods: [f64; RATINGS],
}

impl RatingEvidence {
    /// Adds a move, by the network's predictions at the situations of [`at_ratings`]. Predictions without a policy, or of
    /// another number, are ignored.
    pub fn add(&mut self, predictions: &[Evaluation], played: Move) {
        let probability = |said: &Evaluation| Some(said.policy.as_ref()?.probability(played));
        let said: Option<Vec<f32>> = predictions.iter().map(probability).collect();
        if let Some(said) = said.and_then(|said| <[f32; TOLD]>::try_from(said).ok()) {
            self.add_probabilities(said);
        }
    }

    /// Adds a move by its probability at each of [`TOLD_RATINGS`].
    fn add_probabilities(&mut self, said: [f32; TOLD]) {
        self.moves += 1;
        let spline = Spline::new(&said.map(|probability| f64::from(probability.max(MIN_PROBABILITY)).ln()));
        for (sum, rating) in self.log_likelihoods.iter_mut().zip(EVIDENCE_RATINGS) {
            *sum += spline.at(f64::from(rating));
        }
    }

    /// The evidence of both sides of the main line of a game, by [phase](Phase), without a search. `goes_on` is asked before each
    /// move; `None` once it says no.
    ///
    /// # Errors
    /// If the network fails.
    pub fn of_game(
        game: &Game,
        human: &Model,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<ByColor<[RatingEvidence; 3]>>, PlayerError> {
        let mut evidence = ByColor::<[RatingEvidence; 3]>::default();
        let mut history = History::at_start_of(game);
        for node in game.mainline() {
            let Some(played) = game.move_to(node) else { break };
            if !goes_on() {
                return Ok(None);
            }
            let position = history.current();
            if human.takes_ratings() && has_choice(position) {
                let (turn, phase) = (position.turn(), Phase::of(position.board()));
                let said = human.evaluate(&at_ratings(&history.situation()))?;
                evidence[turn][phase as usize].add(&said, played);
            }
            history.push(played, game.notes(node).clock);
        }
        Ok(Some(evidence))
    }

    /// The evidence of all parts.
    pub fn sum(parts: &[RatingEvidence]) -> RatingEvidence {
        let mut all = RatingEvidence::default();
        parts.iter().for_each(|part| all.merge(part));
        all
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
                offset: 100.0,
                slope: 0.9,
                tempering: 0.9,
                spread: 100.0,
                mean: 2144.0,
                deviation: 341.0,
            },
            RatingPool::ChessCom => RatingModel {
                offset: 0.0,
                slope: 1.1,
                tempering: 0.6,
                spread: 150.0,
                mean: 1153.0,
                deviation: 493.0,
            },
            RatingPool::Lichess | RatingPool::Online | RatingPool::Puzzle | RatingPool::Unknown => {
                RatingModel {
                    offset: 150.0,
                    slope: 0.9,
                    tempering: 0.8,
                    spread: 200.0,
                    mean: 1879.0,
                    deviation: 445.0,
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

/// In tens: `1640 (95%: 1480 to 1790)`.
impl fmt::Display for RatingEstimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [rating, low, high] = [self.rating, self.low, self.high].map(in_tens);
        write!(f, "{rating} (95%: {low} to {high})")
    }
}

impl RatingEstimate {
    /// The estimate, and the lower and upper bound of the interval, rounded to tens: more digits would mean nothing.
    pub fn in_tens(&self) -> [u16; 3] {
        [self.rating, self.low, self.high].map(in_tens)
    }
}

fn in_tens(rating: f64) -> u16 {
    (rating / 10.0).round() as u16 * 10
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

/// A natural cubic spline through values at evenly spaced ratings, from the first to the last of [`EVIDENCE_RATINGS`].
struct Spline<const KNOTS: usize> {
    values: [f64; KNOTS],
    /// Second derivatives times the squared distance of knots.
    bends: [f64; KNOTS],
}

impl<const KNOTS: usize> Spline<KNOTS> {
    fn new(values: &[f64; KNOTS]) -> Spline<KNOTS> {
        // The tridiagonal system (1, 4, 1), solved by elimination from the left and substitution from the right.
        let (mut bends, mut pivots) = ([0.0; KNOTS], [0.0; KNOTS]);
        for knot in 1..KNOTS - 1 {
            let bend = 6.0 * (values[knot - 1] - 2.0 * values[knot] + values[knot + 1]);
            let pivot = 1.0 / (4.0 - pivots[knot - 1]);
            (bends[knot], pivots[knot]) = ((bend - bends[knot - 1]) * pivot, pivot);
        }
        for knot in (1..KNOTS - 1).rev() {
            bends[knot] -= pivots[knot] * bends[knot + 1];
        }
        Spline { values: *values, bends }
    }

    fn at(&self, rating: f64) -> f64 {
        let (first, last) = (f64::from(EVIDENCE_RATINGS[0]), f64::from(EVIDENCE_RATINGS[RATINGS - 1]));
        let most = (KNOTS - 1) as f64;
        let place = ((rating - first) / (last - first) * most).clamp(0.0, most);
        let knot = (place as usize).min(KNOTS - 2);
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
        let log_likelihoods = EVIDENCE_RATINGS.map(|rating| {
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
        let values = EVIDENCE_RATINGS.map(|rating| (f64::from(rating) / 1000.0).powi(2));
        let spline = Spline::new(&values);
        for (rating, value) in EVIDENCE_RATINGS.into_iter().zip(values) {
            assert!((spline.at(f64::from(rating)) - value).abs() < 1e-9);
        }
        assert!((spline.at(1700.0) - 2.89).abs() < 1e-3);
    }

    #[test]
    fn probabilities_told_are_interpolated_to_the_ratings_of_evidence() {
        // The logarithm of a probability that grows with the rating, as those of good moves do.
        let curve = |rating: u16| -2.0 / (1.0 + (f64::from(rating) / 500.0 - 3.0).exp());
        let mut evidence = RatingEvidence::default();
        evidence.add_probabilities(TOLD_RATINGS.map(|rating| curve(rating).exp() as f32));
        for (rating, found) in EVIDENCE_RATINGS.into_iter().zip(evidence.log_likelihoods) {
            assert!((found - curve(rating)).abs() < 0.02, "{rating}: {found} for {}", curve(rating));
        }
        assert_eq!(evidence.moves, 1);
    }

    #[test]
    fn estimates_are_written_in_tens() {
        let estimate =
            RatingEstimate { rating: 1637.2, low: 1484.9, high: 1795.0, moves: 30, curve: Vec::new() };
        assert_eq!(estimate.to_string(), "1640 (95%: 1480 to 1800)");
    }
}
