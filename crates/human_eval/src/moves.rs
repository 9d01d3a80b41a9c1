//! Move prediction.

use std::collections::{BTreeMap, HashSet};
use std::num::NonZeroU16;
use std::ops::RangeInclusive;
use std::time::Duration;

use serde::Serialize;
use shakmaty::Move;
use tabia_data::{Filter, GameBytes, GameHead, GameSample, RecordError};
use tabia_encoding::{Elo, OwnedSituation, RatingPool, Situation};
use tabia_model::Policy;

use crate::ClusteredMean;
use crate::band::{Band, Categories};
use crate::calibration::CalibrationTally;
use crate::{
    Calibration, Estimate, EvalError, EvalModel, Grouping, MIN_PROBABILITY, SelectedGame, Speed, Workers,
};

/// Probability below which a move counts as unlikely.
pub const UNLIKELY: f32 = 0.01;

/// Selects positions of a game. The default selects all.
#[derive(Clone, Debug, Default)]
pub struct MoveFilter {
    /// First ply used, to skip memorised openings.
    pub first_ply: u32,
    /// Last ply used.
    pub last_ply: Option<u32>,
    /// Minimum clock of the side to move; excludes positions without clocks.
    pub min_clock: Option<Duration>,
    /// Maximum clock of the side to move; excludes positions without clocks.
    pub max_clock: Option<Duration>,
    /// Accepted game speeds; empty accepts all.
    pub speeds: HashSet<Speed>,
    /// Accepted rating pools of the games; empty accepts all.
    pub pools: Vec<RatingPool>,
    /// Range of both players' ratings; excludes games without them.
    pub ratings: Option<RangeInclusive<u16>>,
    /// Width of the rating band both players must be in; excludes games without both ratings.
    pub same_band: Option<NonZeroU16>,
}

impl MoveFilter {
    /// Number of positions selected in a game.
    ///
    /// # Errors
    /// If the game is invalid.
    pub fn count(&self, game: &GameBytes<'_>) -> Result<u64, RecordError> {
        let mut count = 0;
        self.each(game, |_, _| count += 1)?;
        Ok(count)
    }

    /// Whether positions of a game may be selected.
    fn accepts(&self, head: &GameHead) -> bool {
        let ratings = [head.ratings.white, head.ratings.black];
        let both = |accept: &dyn Fn(u16) -> bool| {
            ratings.iter().all(|rating| rating.is_some_and(|Elo(rating)| accept(rating)))
        };
        (self.speeds.is_empty() || self.speeds.contains(&Speed::of(head)))
            && (self.pools.is_empty() || self.pools.iter().any(|pool| pool.includes(head.pool)))
            && self.ratings.as_ref().is_none_or(|range| both(&|rating| range.contains(&rating)))
            && self.same_band.is_none_or(|width| {
                let band = ratings[0].map_or(0, |rating| rating.0 / width);
                both(&|rating| rating / width == band)
            })
    }

    /// Calls `visit` for the selected positions of a game, in order.
    pub(crate) fn each(
        &self,
        game: &GameBytes<'_>,
        mut visit: impl FnMut(&Situation<'_>, &GameSample<'_>),
    ) -> Result<(), RecordError> {
        if !self.accepts(&game.head) {
            return Ok(());
        }
        let max_ply = self.last_ply.map(|last| last.saturating_add(1));
        let filter = Filter { min_ply: self.first_ply, max_ply, ..Filter::default() };
        game.replay(&filter, |situation, sample| {
            let clock = situation.mover.time_left;
            let above = self.min_clock.is_none_or(|min| clock.is_some_and(|clock| clock >= min));
            let below = self.max_clock.is_none_or(|max| clock.is_some_and(|clock| clock <= max));
            if above && below {
                visit(situation, sample);
            }
        })
    }
}

/// Move prediction of several networks on the same positions.
#[derive(Clone, Debug, Serialize)]
pub struct MoveReport {
    /// Names of the networks.
    pub models: Vec<String>,
    /// All positions, followed by the bands of each grouping.
    pub groups: Vec<MoveGroup>,
}

/// Results of one band of positions.
#[derive(Clone, Debug, Serialize)]
pub struct MoveGroup {
    /// Grouping.
    pub by: Grouping,
    /// Label of the band.
    pub band: String,
    /// Number of games with positions in the band.
    pub games: u64,
    /// Number of positions.
    pub positions: u64,
    /// Metrics of each network, in the report's order.
    pub figures: Vec<MoveMetrics>,
    /// The first network compared with the best of the others.
    pub comparison: Option<Comparison>,
}

/// Move prediction of one network. Proportions are between 0 and 1.
#[derive(Clone, Debug, Serialize)]
pub struct MoveMetrics {
    /// Top-1 accuracy.
    pub top1: Estimate,
    /// Top-5 accuracy.
    pub top5: Estimate,
    /// Log loss in nats.
    pub log_loss: Estimate,
    /// Mean probability of the predicted move minus top-1 accuracy.
    pub overconfidence: Estimate,
    /// Proportion of played moves that were [`UNLIKELY`].
    pub unlikely: Estimate,
    /// Calibration of the predicted move's probability.
    pub calibration: Calibration,
}

/// The first network compared with another one, paired by position.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The other network with the highest top-1 accuracy.
    pub best: String,
    /// Difference in top-1 accuracy; positive is better.
    pub top1: Estimate,
    /// Difference in log loss; negative is better.
    pub log_loss: Estimate,
}

/// A network's prediction of the played move.
#[derive(Clone, Copy, Debug)]
struct Prediction {
    /// Number of moves with a higher probability.
    rank: u16,
    probability: f32,
    /// Highest probability of any move.
    top: f32,
}

/// A position with the prediction of each network.
struct ScoredPosition {
    categories: Categories,
    predictions: Vec<Prediction>,
}

impl MoveReport {
    /// Evaluates every network on the selected positions of the games. `rivals` are the indices of the networks that
    /// the first one is compared with.
    ///
    /// # Errors
    /// If a game is invalid or inference fails.
    pub fn new(
        games: &[SelectedGame],
        models: &[EvalModel],
        filter: &MoveFilter,
        by: &[Grouping],
        rivals: &[usize],
        workers: &Workers<'_>,
    ) -> Result<MoveReport, EvalError> {
        let scored = workers.map(games, |game| score(game, models, filter, workers.on_progress))?;
        let groups = [Grouping::All].into_iter().chain(by.iter().copied());
        let groups = groups.flat_map(|grouping| {
            let mut bands: BTreeMap<Band, Tally> = BTreeMap::new();
            for game in &scored {
                let mut game_bands: BTreeMap<Band, GameTally> = BTreeMap::new();
                for position in game {
                    let band = position.categories.band(grouping);
                    game_bands.entry(band).or_insert_with(|| GameTally::new(models.len())).add(position);
                    bands.entry(band).or_insert_with(|| Tally::new(models.len())).calibrate(position);
                }
                for (band, tally) in game_bands {
                    bands.entry(band).or_insert_with(|| Tally::new(models.len())).add_game(&tally);
                }
            }
            let group = |(band, tally): (Band, Tally)| tally.group(grouping, band, models, rivals);
            bands.into_iter().map(group).collect::<Vec<_>>()
        });
        let names = models.iter().map(|model| model.name().to_owned()).collect();
        Ok(MoveReport { models: names, groups: groups.collect() })
    }
}

fn score(
    game: &SelectedGame,
    models: &[EvalModel],
    filter: &MoveFilter,
    on_progress: &dyn Fn(u64),
) -> Result<Vec<ScoredPosition>, EvalError> {
    let (mut kept, mut played, mut scored) = (Vec::new(), Vec::new(), Vec::new());
    let visited = filter.each(&game.parse()?, |situation, sample| {
        kept.push(OwnedSituation::of(situation));
        played.push(sample.played);
        let categories = Categories::of(situation, sample.head);
        scored.push(ScoredPosition { categories, predictions: Vec::new() });
    });
    visited.map_err(|error| game.invalid(error))?;
    for model in models {
        for ((output, &played), scored) in model.evaluate(&kept)?.iter().zip(&played).zip(&mut scored) {
            let policy = output.policy.as_ref().expect("EvalModel::new checks the policy head");
            scored.predictions.push(Prediction::of(policy, played));
        }
    }
    on_progress(scored.len() as u64);
    Ok(scored)
}

impl Prediction {
    fn of(policy: &Policy, played: Move) -> Prediction {
        let candidates = policy.candidates();
        let rank = candidates.iter().position(|candidate| candidate.mv == played).unwrap_or(candidates.len());
        Prediction {
            rank: u16::try_from(rank).unwrap_or(u16::MAX),
            probability: candidates.get(rank).map_or(0.0, |candidate| candidate.probability),
            top: policy.best().map_or(0.0, |best| best.probability),
        }
    }

    fn scores(&self) -> Scores {
        let hit = |within: u16| f64::from(u8::from(self.rank < within));
        let loss = -f64::from(self.probability.max(MIN_PROBABILITY)).ln();
        let unlikely = f64::from(u8::from(self.probability < UNLIKELY));
        Scores([hit(1), hit(5), loss, f64::from(self.top) - hit(1), unlikely])
    }
}

/// Top-1, top-5, log loss, overconfidence and unlikely moves, of one position or summed.
#[derive(Clone, Copy, Debug, Default)]
struct Scores([f64; SCORES]);

const SCORES: usize = 5;
const TOP1: usize = 0;
const LOG_LOSS: usize = 2;

/// Sums over the positions of one game in one band.
struct GameTally {
    count: u64,
    scores: Vec<Scores>,
}

impl GameTally {
    fn new(models: usize) -> GameTally {
        GameTally { count: 0, scores: vec![Scores::default(); models] }
    }

    fn add(&mut self, position: &ScoredPosition) {
        self.count += 1;
        for (sums, prediction) in self.scores.iter_mut().zip(&position.predictions) {
            for (sum, score) in sums.0.iter_mut().zip(prediction.scores().0) {
                *sum += score;
            }
        }
    }
}

/// One band over all games.
struct Tally {
    games: u64,
    positions: u64,
    scores: Vec<[ClusteredMean; SCORES]>,
    /// Scores of the first network minus those of each network.
    differences: Vec<[ClusteredMean; SCORES]>,
    calibration: Vec<CalibrationTally>,
}

impl Tally {
    fn new(models: usize) -> Tally {
        Tally {
            games: 0,
            positions: 0,
            scores: vec![Default::default(); models],
            differences: vec![Default::default(); models],
            calibration: vec![CalibrationTally::default(); models],
        }
    }

    fn calibrate(&mut self, position: &ScoredPosition) {
        for (tally, prediction) in self.calibration.iter_mut().zip(&position.predictions) {
            tally.add(prediction.top, prediction.rank == 0);
        }
    }

    fn add_game(&mut self, game: &GameTally) {
        self.games += 1;
        self.positions += game.count;
        let first = game.scores.first().copied().unwrap_or_default();
        for ((sums, differences), own) in game.scores.iter().zip(&mut self.differences).zip(&mut self.scores)
        {
            for ((sum, first), (difference, own)) in
                sums.0.iter().zip(first.0).zip(differences.iter_mut().zip(own))
            {
                own.add_game(game.count, *sum);
                difference.add_game(game.count, first - sum);
            }
        }
    }

    fn group(&self, by: Grouping, band: Band, models: &[EvalModel], rivals: &[usize]) -> MoveGroup {
        let figures = self.scores.iter().zip(&self.calibration).map(|(scores, calibration)| {
            let [top1, top5, log_loss, overconfidence, unlikely] = scores;
            MoveMetrics {
                top1: top1.proportion(),
                top5: top5.proportion(),
                log_loss: log_loss.mean(),
                overconfidence: overconfidence.mean(),
                unlikely: unlikely.proportion(),
                calibration: calibration.calibration(),
            }
        });
        let figures: Vec<_> = figures.collect();
        let top1 = |index: &usize| figures.get(*index).map_or(f64::NEG_INFINITY, |of| of.top1.value);
        // Ties go to the first.
        let best = rivals.iter().rev().max_by(|a, b| top1(a).total_cmp(&top1(b)));
        let comparison = best.and_then(|&best| {
            let differences = self.differences.get(best)?;
            Some(Comparison {
                best: models.get(best)?.name().to_owned(),
                top1: differences[TOP1].mean(),
                log_loss: differences[LOG_LOSS].mean(),
            })
        });
        let (games, positions) = (self.games, self.positions);
        MoveGroup { by, band: band.to_string(), games, positions, figures, comparison }
    }
}
