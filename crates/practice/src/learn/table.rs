//! The person's moves with the network's predictions and the features of the moves they chose among.

use tabia_encoding::{Situation, TIME_BINS, time_bin};
use tabia_players::{FEATURES, Feature, MemoryMove, each_feature, log_time, think_time_for};

use super::Prediction;
use super::games::OwnMove;
use super::minimise::Objective;

/// Lower bound of a probability in log-losses, as of a slip of the hand.
pub(super) const FLOOR: f64 = 1e-4;

/// A move of the person.
#[derive(Clone, Debug)]
pub(super) struct Observed {
    /// The index of its game.
    pub game: usize,
    /// The key of the position.
    pub position: u64,
    pub played: MemoryMove,
    /// Among the candidates, unless it is less likely than they are.
    choice: Option<usize>,
    /// Its probability by the network told what the adapter tells it.
    probability: f64,
    /// The probability of all candidates together.
    mass: f64,
    /// Where its candidates begin.
    first: usize,
    /// Its probability by the network told the rating of the game, and whether it is the likeliest move.
    pub plain: f64,
    pub plain_top: bool,
    /// The network's thinking times, and the bin of the person's.
    pub time: Option<([f32; TIME_BINS], usize)>,
}

/// Moves and their candidates, in flat arrays.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    pub moves: Vec<Observed>,
    /// The logarithms of the candidates' probabilities.
    logs: Vec<f32>,
    candidates: Vec<MemoryMove>,
    /// Where the features of each candidate begin.
    starts: Vec<u32>,
    features: Vec<(Feature, f32)>,
}

impl Table {
    /// The moves of several tables.
    pub(super) fn of_parts(parts: impl Iterator<Item = Table>) -> Table {
        let mut all = Table::default();
        for part in parts {
            let (candidates, features) = (all.logs.len(), all.features.len() as u32);
            let moved = part.moves.into_iter().map(|of| Observed { first: of.first + candidates, ..of });
            all.moves.extend(moved);
            all.logs.extend(part.logs);
            all.candidates.extend(part.candidates);
            all.starts.extend(part.starts.into_iter().map(|start| start + features));
            all.features.extend(part.features);
        }
        all
    }

    /// Adds a move. `plain` is what the network says when it is told the rating of the game.
    pub(super) fn push(
        &mut self,
        game: usize,
        own: &OwnMove,
        situation: &Situation<'_>,
        plain: &Prediction,
        told: &Prediction,
    ) {
        let first = self.logs.len();
        let mut last = usize::MAX;
        let kept = each_feature(situation, &told.candidates, |rank, feature, value| {
            if rank != last {
                self.starts.push(self.features.len() as u32);
                last = rank;
            }
            self.features.push((feature, value));
        });
        for candidate in told.candidates.iter().take(kept) {
            self.logs.push(candidate.probability.ln());
            self.candidates.push(candidate.mv.into());
        }
        let of = |said: &Prediction| {
            let found = said.candidates.iter().find(|candidate| candidate.mv == own.played);
            found.map_or(0.0, |found| f64::from(found.probability))
        };
        let mass = told.candidates.iter().take(kept).map(|candidate| f64::from(candidate.probability)).sum();
        let time = told.think_time.zip(own.seconds);
        self.moves.push(Observed {
            game,
            position: own.position,
            played: own.played.into(),
            choice: told.candidates.iter().take(kept).position(|candidate| candidate.mv == own.played),
            probability: of(told),
            mass,
            first,
            plain: of(plain),
            plain_top: plain.candidates.first().is_some_and(|candidate| candidate.mv == own.played),
            time: time
                .map(|(chances, seconds)| (think_time_for(&chances, of(told) as f32), time_bin(seconds))),
        });
    }

    /// The candidates of a move.
    fn span(&self, place: usize) -> std::ops::Range<usize> {
        let end = self.moves.get(place + 1).map_or(self.logs.len(), |next| next.first);
        self.moves[place].first..end
    }

    fn features_of(&self, candidate: usize) -> &[(Feature, f32)] {
        let end = self.starts.get(candidate + 1).map_or(self.features.len(), |end| *end as usize);
        &self.features[self.starts[candidate] as usize..end]
    }

    /// The weighted probabilities of the candidates of a move, which add up to one.
    fn weighed(&self, place: usize, weights: &[f64], into: &mut Vec<f64>) {
        into.clear();
        for candidate in self.span(place) {
            let weighed: f64 = self
                .features_of(candidate)
                .iter()
                .map(|(feature, value)| weights[feature.index()] * f64::from(*value))
                .sum();
            into.push(f64::from(self.logs[candidate]) + weighed);
        }
        let top = into.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        into.iter_mut().for_each(|score| *score = (*score - top).exp());
        let total: f64 = into.iter().sum();
        into.iter_mut().for_each(|share| *share /= total);
    }

    /// The probability of a move under the weights.
    pub(super) fn probability(&self, place: usize, weights: &[f64], space: &mut Vec<f64>) -> f64 {
        let of = &self.moves[place];
        let Some(choice) = of.choice else { return of.probability };
        self.weighed(place, weights, space);
        of.mass * space[choice]
    }

    /// Whether a move is the likeliest one under the weights and the counts of a memory.
    pub(super) fn is_top(
        &self,
        place: usize,
        weights: &[f64],
        alpha: f64,
        count: &dyn Fn(MemoryMove) -> u32,
        space: &mut Vec<f64>,
    ) -> bool {
        let of = &self.moves[place];
        let Some(choice) = of.choice else { return false };
        self.weighed(place, weights, space);
        let score = |index: usize, share: f64| {
            let counted = f64::from(count(self.candidates[of.first + index]));
            if alpha.is_finite() { counted + alpha * of.mass * share } else { share }
        };
        let own = score(choice, space[choice]);
        space.iter().enumerate().all(|(index, share)| index == choice || score(index, *share) < own)
    }
}

/// The penalties of weights: half of it times the square of each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Penalty {
    pub style: f64,
    /// Of features that are squares; infinite if they are not used.
    pub squares: f64,
}

/// The negative log-likelihood of moves of the table, with a penalty.
pub(super) struct Likelihood<'a> {
    pub table: &'a Table,
    pub places: &'a [usize],
    pub penalty: Penalty,
}

impl Objective for Likelihood<'_> {
    fn value(&self, weights: &[f64], gradient: &mut [f64]) -> f64 {
        gradient.fill(0.0);
        let mut value = 0.0;
        let mut shares = Vec::new();
        for &place in self.places {
            let Some(choice) = self.table.moves[place].choice else { continue };
            self.table.weighed(place, weights, &mut shares);
            value -= shares[choice].ln();
            for (index, candidate) in self.table.span(place).enumerate() {
                let excess = shares[index] - f64::from(u8::from(index == choice));
                for (feature, of) in self.table.features_of(candidate) {
                    gradient[feature.index()] += excess * f64::from(*of);
                }
            }
        }
        for feature in Feature::all() {
            let index = feature.index();
            let penalty = if feature.is_square() { self.penalty.squares } else { self.penalty.style };
            if penalty.is_finite() {
                value += penalty * weights[index] * weights[index] / 2.0;
                gradient[index] += penalty * weights[index];
            } else {
                gradient[index] = 0.0;
            }
        }
        value
    }
}

/// The exponent of `1 + seconds` that fits thinking times best, between -2 and 2, with a penalty.
pub(super) fn fit_pace(times: &[&([f32; TIME_BINS], usize)], penalty: f64) -> f64 {
    let mut pace = 0.0;
    for _ in 0..30 {
        let (mut slope, mut bend) = (-penalty * pace, penalty);
        for (chances, bin) in times {
            let [total, mean, square] = moments(chances, pace);
            let mean = mean / total;
            slope += f64::from(log_time(*bin)) - mean;
            bend += square / total - mean * mean;
        }
        let step: f64 = (slope / bend).clamp(-0.5, 0.5);
        pace = (pace + step).clamp(-2.0, 2.0);
        if step.abs() < 1e-6 {
            break;
        }
    }
    pace
}

/// The log-likelihood of a thinking time.
pub(super) fn time_likelihood((chances, bin): &([f32; TIME_BINS], usize), pace: f64) -> f64 {
    let [total, ..] = moments(chances, pace);
    let chance = f64::from(chances[*bin]) * (pace * f64::from(log_time(*bin))).exp() / total;
    chance.max(FLOOR).ln()
}

/// Sums over the bins of the odds, and of these times the logarithm of the time and its square.
fn moments(chances: &[f32; TIME_BINS], pace: f64) -> [f64; 3] {
    let mut sums = [0.0; 3];
    for (bin, chance) in chances.iter().enumerate() {
        let log = f64::from(log_time(bin));
        let odds = f64::from(*chance) * (pace * log).exp();
        for (sum, times) in sums.iter_mut().zip([1.0, log, log * log]) {
            *sum += odds * times;
        }
    }
    sums
}

/// Weights that are not zero, rounded as they are written.
pub(super) fn rounded(weights: &[f64]) -> Vec<(Feature, f32)> {
    debug_assert_eq!(weights.len(), FEATURES);
    let round = |feature: Feature| (feature, ((weights[feature.index()] * 1e4).round() / 1e4) as f32);
    Feature::all().map(round).filter(|(_, weight)| weight.abs() >= 1e-3).collect()
}
