//! Adapters: what distinguishes one person from others of the same rating, on top of a network that is told a rating.
//!
//! An adapter never changes the network. Its parts, each optional:
//!
//! - a *shift* of the rating told to the network;
//! - *weights* of [features](Feature) of moves: probabilities are multiplied by `exp(weights · features)`. Moves below
//!   [`LEAST_PROBABILITY`] keep theirs;
//! - an opening *memory*: how often the person played each move in positions of their games, mixed with the rest as
//!   `(n_m + α p(m)) / (n + α)`;
//! - a *pace*: whether they think for longer or shorter than others.
//!
//! `tabia_practice` learns them. `docs/formats/adapter.md` describes the file.

mod features;
mod file;
mod memory;

use tabia_encoding::{Elo, RatingPool, Situation, TIME_BINS, time_bin_range};
use tabia_model::Candidate;

use features::Scene;
pub use features::{FEATURES, Feature};
pub use file::AdapterError;
pub use memory::{MemoryMove, OpeningMemory, memory_key};

/// Moves that the network gives less keep their probability.
pub const LEAST_PROBABILITY: f32 = 1e-3;

/// What was learned from the games of one person.
#[derive(Clone, Debug, PartialEq)]
pub struct Adapter {
    /// The person's name.
    pub name: String,
    /// The network it was learned for.
    pub network: AdapterNetwork,
    /// Number of games it was learned from.
    pub games: u32,
    /// Number of the person's moves in them.
    pub moves: u32,
    /// The person's rating in the newest of the games; `None` if they have none.
    pub rating: Option<Elo>,
    /// The pool of the rating.
    pub pool: RatingPool,
    /// Added to the person's rating when it is told to the network.
    pub shift: i16,
    /// The weights that are not zero.
    pub weights: Vec<(Feature, f32)>,
    /// The opening memory.
    pub memory: Option<OpeningMemory>,
    /// Exponent of `1 + seconds` in the odds of thinking times: positive for a person who takes longer than others.
    pub pace: f32,
    /// What the adapter gains, by cross-validation over the games it was learned from.
    pub gain: AdapterGain,
}

/// The network of an adapter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdapterNetwork {
    /// Its name.
    pub name: String,
    /// SHA-256 of its file, in hexadecimal.
    pub sha256: String,
}

/// Figures of the network told the rating, and of the adapter, on moves that the adapter was not learned from.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AdapterGain {
    /// Number of moves.
    pub moves: u32,
    /// Mean log-loss of the network and of the adapter.
    pub log_loss: [f64; 2],
    /// Share of moves that are the likeliest one.
    pub top_1: [f64; 2],
}

impl Adapter {
    /// The rating to tell the network: that of the game, or the person's, with the shift.
    pub fn told(&self, rating: Option<Elo>) -> Option<Elo> {
        let rating = rating.or(self.rating)?;
        Some(Elo(rating.0.saturating_add_signed(self.shift).max(1)))
    }

    /// Turns the network's probabilities of all legal moves into the person's. The candidates are, and stay, sorted by
    /// probability.
    pub fn adapt(&self, situation: &Situation<'_>, candidates: &mut [Candidate]) {
        if !self.weights.is_empty() {
            self.weigh(situation, candidates);
        }
        if let Some(memory) = &self.memory {
            memory.mix(situation.position, candidates);
        }
        candidates.sort_by(|a, b| b.probability.total_cmp(&a.probability));
    }

    fn weigh(&self, situation: &Situation<'_>, candidates: &mut [Candidate]) {
        let mut weights = [0.0; FEATURES];
        for (feature, weight) in &self.weights {
            weights[feature.index()] = *weight;
        }
        reweigh(situation, candidates, &weights);
    }

    /// Whether the person often had the position.
    pub fn knows(&self, position: &shakmaty::Chess) -> bool {
        const OFTEN: u32 = 2;
        self.memory.as_ref().is_some_and(|memory| memory.seen(position) >= OFTEN)
    }

    /// The person's thinking times.
    pub fn pace_think_time(&self, chances: &mut [f32; TIME_BINS]) {
        if self.pace == 0.0 {
            return;
        }
        for (bin, chance) in chances.iter_mut().enumerate() {
            *chance *= (self.pace * log_time(bin)).exp();
        }
        let total: f32 = chances.iter().sum();
        if total > 0.0 {
            chances.iter_mut().for_each(|chance| *chance /= total);
        }
    }
}

/// The logarithm of 1 + seconds of a bin of thinking times, which [`Adapter::pace`] multiplies.
pub fn log_time(bin: usize) -> f32 {
    let range = time_bin_range(bin);
    let seconds = if bin == 0 { 0.0 } else { (range.start + range.end) / 2.0 };
    (1.0 + seconds).ln()
}

/// The features of the candidates from [`LEAST_PROBABILITY`] up, which come first: `visit` gets the index of the
/// candidate, the feature and its value. Returns the number of these candidates.
pub fn each_feature(
    situation: &Situation<'_>,
    candidates: &[Candidate],
    mut visit: impl FnMut(usize, Feature, f32),
) -> usize {
    let kept = candidates.iter().take_while(|candidate| candidate.probability >= LEAST_PROBABILITY).count();
    let scene = Scene::of(situation);
    for (rank, candidate) in candidates.iter().take(kept).enumerate() {
        scene.features(candidate, rank, &mut |feature, value| visit(rank, feature, value));
    }
    kept
}

fn reweigh(situation: &Situation<'_>, candidates: &mut [Candidate], weights: &[f32; FEATURES]) {
    let mut scores = vec![0.0_f32; candidates.len()];
    let kept = each_feature(situation, candidates, |rank, feature, value| {
        scores[rank] += weights[feature.index()] * value;
    });
    let (candidates, scores) = (&mut candidates[..kept], &scores[..kept]);
    let before: f32 = candidates.iter().map(|candidate| candidate.probability).sum();
    let top = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    for (candidate, score) in candidates.iter_mut().zip(scores) {
        candidate.probability *= (score - top).exp();
    }
    let after: f32 = candidates.iter().map(|candidate| candidate.probability).sum();
    if after > 0.0 {
        candidates.iter_mut().for_each(|candidate| candidate.probability *= before / after);
    }
}

#[cfg(test)]
mod tests;
