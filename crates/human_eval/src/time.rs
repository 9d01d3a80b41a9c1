//! Think-time prediction.

use std::collections::BTreeMap;

use fastrand::Rng;
use serde::Serialize;
use shakmaty::{Move, Position};
use tabia_data::stats::{Category, Phase};
use tabia_data::{GameBytes, GameSample, RecordError};
use tabia_encoding::{OwnedSituation, Situation, TIME_BINS, time_bin};
use tabia_model::Policy;
use tabia_players::{HumanBehaviour, TimeLeft, think_time_for};

use crate::ClusteredMean;
use crate::time_scores::{crps, log_loss, wasserstein};
use crate::{Estimate, EvalError, EvalModel, MoveFilter, SelectedGame, Speed, Workers};

/// Think-time prediction of networks and of three baselines that know only the clock.
#[derive(Clone, Debug, Serialize)]
pub struct TimeReport {
    /// All moves, then by recapture, clock, phase and speed.
    pub groups: Vec<TimeGroup>,
}

/// Results of one group of moves.
#[derive(Clone, Debug, Serialize)]
pub struct TimeGroup {
    /// Label of the group.
    pub group: String,
    /// Number of moves.
    pub moves: u64,
    /// Mean think time of humans in seconds.
    pub mean_seconds: f64,
    /// Median think time of humans. Whole seconds are taken as spread evenly around the value shown.
    pub median_seconds: f64,
    /// Metrics of the networks, in order, then of the baselines.
    pub figures: Vec<TimeMetrics>,
}

/// Source of think-time predictions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimePredictor {
    /// A network.
    Network(String),
    /// Baseline: the median time of these moves, per speed.
    Constant,
    /// Baseline: the median fraction of the clock, per speed.
    ClockShare,
    /// Baseline: the marginal distribution of these moves, per speed.
    Marginal,
}

/// Metrics of one predictor.
#[derive(Clone, Debug, Serialize)]
pub struct TimeMetrics {
    /// Predictor.
    #[serde(rename = "teller")]
    pub predictor: TimePredictor,
    /// Log loss of the time bin in nats; `None` for point predictions.
    pub log_loss: Option<Estimate>,
    /// Mean continuous ranked probability score of `ln(1 + seconds)`.
    pub ranked_score: Estimate,
    /// Wasserstein distance of `ln(1 + seconds)` between human times and sampled times. Samples are bounded by the
    /// clock as a player's are, and rounded as the humans' clock does.
    pub distance: f64,
    /// Wasserstein distance in seconds, dominated by long thinks.
    pub distance_seconds: f64,
    /// Mean of the sampled times in seconds.
    pub mean_seconds: f64,
    /// Median of the sampled times in seconds.
    pub median_seconds: f64,
}

/// A move with its think time and the score of each predictor.
struct TimedMove {
    seconds: f32,
    groups: [Group; 5],
    speed: Speed,
    clock: Option<TimeLeft>,
    played: Move,
    scores: Vec<TimeScore>,
}

#[derive(Clone, Copy, Debug, Default)]
struct TimeScore {
    log_loss: Option<f64>,
    crps: f64,
    /// Sampled time in seconds.
    sample: f32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    All,
    Recapture,
    NoRecapture,
    ClockBelow10,
    ClockBelow30,
    ClockFrom30,
    Phase(Phase),
    Speed(Speed),
}

impl Group {
    fn label(self) -> String {
        match self {
            Group::All => "all".to_owned(),
            Group::Recapture => "recaptures".to_owned(),
            Group::NoRecapture => "other moves".to_owned(),
            Group::ClockBelow10 => "clock under 10 s".to_owned(),
            Group::ClockBelow30 => "clock 10 to 30 s".to_owned(),
            Group::ClockFrom30 => "clock 30 s or more".to_owned(),
            Group::Phase(phase) => phase.label().to_owned(),
            Group::Speed(speed) => speed.label().to_owned(),
        }
    }

    fn of(situation: &Situation<'_>, sample: &GameSample<'_>) -> [Group; 5] {
        let left = situation.mover.time_left.unwrap_or_default().as_secs();
        let clock = match left {
            0..10 => Group::ClockBelow10,
            10..30 => Group::ClockBelow30,
            _ => Group::ClockFrom30,
        };
        let recaptures = situation.last_moves.first().is_some_and(|last| is_recapture(*last, sample.played));
        let recapture = if recaptures { Group::Recapture } else { Group::NoRecapture };
        let phase = Group::Phase(Phase::of(situation.position.board()));
        [Group::All, recapture, clock, phase, Group::Speed(Speed::of(sample.head))]
    }
}

fn is_recapture(last: Move, played: Move) -> bool {
    last.is_capture() && played.is_capture() && played.to() == last.to()
}

/// Baselines fitted to all moves of one speed.
struct Baselines {
    median: f32,
    clock_share: f32,
    marginal: [f32; TIME_BINS],
}

impl Baselines {
    /// Fits to pairs of think time and clock in seconds.
    fn fit(moves: &[(f32, Option<f32>)]) -> Baselines {
        let mut marginal = [0.0; TIME_BINS];
        for (seconds, _) in moves {
            marginal[time_bin(*seconds)] += 1.0 / moves.len() as f32;
        }
        let shares = moves.iter().filter_map(|(seconds, clock)| clock.map(|clock| seconds / clock.max(1.0)));
        let seconds = moves.iter().map(|(seconds, _)| *seconds);
        Baselines { median: middle(seconds.collect()), clock_share: middle(shares.collect()), marginal }
    }
}

impl TimeReport {
    /// Number of selected moves of a game with a known think time.
    ///
    /// # Errors
    /// If the game is invalid.
    pub fn count(filter: &MoveFilter, game: &GameBytes<'_>) -> Result<u64, RecordError> {
        let mut count = 0;
        filter.each(game, |_, sample| count += u64::from(sample.thought.is_some()))?;
        Ok(count)
    }

    /// Evaluates every network on the moves with a known think time.
    ///
    /// # Errors
    /// If a game is invalid or inference fails.
    ///
    /// # Panics
    /// If a network has no [think-time head](EvalModel::predicts_time).
    pub fn new(
        games: &[SelectedGame],
        models: &[EvalModel],
        filter: &MoveFilter,
        workers: &Workers<'_>,
    ) -> Result<TimeReport, EvalError> {
        let mut timed = workers.map(games, |game| score(game, models, filter, workers.on_progress))?;
        add_baselines(games, &mut timed);
        let networks = models.iter().map(|model| TimePredictor::Network(model.name().to_owned()));
        let baselines = [TimePredictor::Constant, TimePredictor::ClockShare, TimePredictor::Marginal];
        let predictors: Vec<_> = networks.chain(baselines).collect();
        let mut groups: Vec<Group> = timed.iter().flatten().flat_map(|moves| moves.groups).collect();
        groups.sort_unstable();
        groups.dedup();
        let groups = groups.into_iter().map(|group| summary(group, &timed, &predictors)).collect();
        Ok(TimeReport { groups })
    }
}

fn score(
    game: &SelectedGame,
    models: &[EvalModel],
    filter: &MoveFilter,
    on_progress: &dyn Fn(u64),
) -> Result<Vec<TimedMove>, EvalError> {
    let (mut kept, mut timed) = (Vec::new(), Vec::new());
    let visited = filter.each(&game.parse()?, |situation, sample| {
        let Some(thought) = sample.thought else { return };
        kept.push(OwnedSituation::of(situation));
        let increment = situation.pace.map(|pace| pace.increment).unwrap_or_default();
        timed.push(TimedMove {
            seconds: thought.as_secs_f32(),
            groups: Group::of(situation, sample),
            speed: Speed::of(sample.head),
            clock: situation.mover.time_left.map(|remaining| TimeLeft { remaining, increment }),
            played: sample.played,
            scores: Vec::new(),
        });
    });
    visited.map_err(|error| game.invalid(error))?;
    for (index, model) in (0..).zip(models) {
        let mut clock = Clock::new(&timed, game.key.0 ^ index);
        for (output, timed) in model.evaluate(&kept)?.iter().zip(&mut timed) {
            let bins = output.think_time.as_ref().expect("caller checks the think-time head");
            let bins = think_time_for(bins, probability(output.policy.as_ref(), timed.played));
            let score = TimeScore::of(&bins, timed, &mut clock);
            timed.scores.push(score);
        }
    }
    on_progress(timed.len() as u64);
    Ok(timed)
}

fn probability(policy: Option<&Policy>, mv: Move) -> f32 {
    let mut candidates = policy.map(Policy::candidates).unwrap_or_default().iter();
    candidates.find(|candidate| candidate.mv == mv).map_or(0.0, |candidate| candidate.probability)
}

/// Samples think times and rounds them as the clock of the game does.
struct Clock {
    behaviour: HumanBehaviour,
    rng: Rng,
    has_tenths: bool,
}

impl Clock {
    fn new(moves: &[TimedMove], seed: u64) -> Clock {
        let has_tenths = moves.iter().any(|one| one.seconds.fract() != 0.0);
        Clock { behaviour: HumanBehaviour::new(seed), rng: Rng::with_seed(!seed), has_tenths }
    }

    /// Samples a time from the bins, in seconds.
    fn sample(&mut self, bins: &[f32; TIME_BINS], left: Option<TimeLeft>) -> f32 {
        let seconds = self.behaviour.pause(bins, left).as_secs_f32();
        // The move may start at any fraction of a second.
        let start = self.rng.f32();
        if self.has_tenths { seconds } else { (seconds + start).floor() }
    }
}

impl TimeScore {
    fn of(bins: &[f32; TIME_BINS], timed: &TimedMove, clock: &mut Clock) -> TimeScore {
        TimeScore {
            log_loss: Some(log_loss(bins, timed.seconds)),
            crps: crps(bins, timed.seconds),
            sample: clock.sample(bins, timed.clock),
        }
    }

    /// Score of a point prediction.
    fn of_point(seconds: f32, timed: &TimedMove) -> TimeScore {
        let crps = f64::from((seconds.ln_1p() - timed.seconds.ln_1p()).abs());
        TimeScore { log_loss: None, crps, sample: seconds }
    }
}

/// Adds the scores of the baselines.
fn add_baselines(games: &[SelectedGame], timed: &mut [Vec<TimedMove>]) {
    let left = |timed: &TimedMove| timed.clock.map(|clock| clock.remaining.as_secs_f32());
    let mut by_speed: BTreeMap<Speed, Vec<(f32, Option<f32>)>> = BTreeMap::new();
    for timed in timed.iter().flatten() {
        by_speed.entry(timed.speed).or_default().push((timed.seconds, left(timed)));
    }
    let baselines: BTreeMap<Speed, Baselines> =
        by_speed.into_iter().map(|(speed, moves)| (speed, Baselines::fit(&moves))).collect();
    for (game, moves) in games.iter().zip(timed) {
        let mut clock = Clock::new(moves, !game.key.0);
        for timed in moves {
            let baselines = &baselines[&timed.speed];
            let constant = TimeScore::of_point(baselines.median, timed);
            let share = TimeScore::of_point(left(timed).unwrap_or(0.0) * baselines.clock_share, timed);
            let marginal = TimeScore::of(&baselines.marginal, timed, &mut clock);
            timed.scores.extend([constant, share, marginal]);
        }
    }
}

fn summary(group: Group, timed: &[Vec<TimedMove>], predictors: &[TimePredictor]) -> TimeGroup {
    let chosen: Vec<Vec<&TimedMove>> =
        timed.iter().map(|moves| moves.iter().filter(|one| one.groups.contains(&group)).collect()).collect();
    let seconds: Vec<f32> = chosen.iter().flatten().map(|one| one.seconds).collect();
    let figures = predictors.iter().enumerate().map(|(index, predictor)| {
        let score = |one: &&TimedMove| one.scores.get(index).copied().unwrap_or_default();
        let (mut log_losses, mut crps) = (ClusteredMean::default(), ClusteredMean::default());
        for game in &chosen {
            let sum = |of: fn(TimeScore) -> f64| game.iter().map(|one| of(score(one))).sum::<f64>();
            log_losses.add_game(game.len() as u64, sum(|score| score.log_loss.unwrap_or(f64::NAN)));
            crps.add_game(game.len() as u64, sum(|score| score.crps));
        }
        let samples: Vec<f32> = chosen.iter().flatten().map(|one| score(one).sample).collect();
        let has_bins = matches!(predictor, TimePredictor::Network(_) | TimePredictor::Marginal);
        TimeMetrics {
            predictor: predictor.clone(),
            log_loss: has_bins.then(|| log_losses.mean()),
            ranked_score: crps.mean(),
            mean_seconds: mean(&samples),
            median_seconds: median(&samples),
            distance: wasserstein(logarithms(&samples), logarithms(&seconds)),
            distance_seconds: wasserstein(samples, seconds.clone()),
        }
    });
    TimeGroup {
        group: group.label(),
        moves: seconds.len() as u64,
        mean_seconds: mean(&seconds),
        median_seconds: median(&seconds),
        figures: figures.collect(),
    }
}

fn mean(seconds: &[f32]) -> f64 {
    seconds.iter().copied().map(f64::from).sum::<f64>() / seconds.len().max(1) as f64
}

fn logarithms(seconds: &[f32]) -> Vec<f32> {
    seconds.iter().map(|seconds| seconds.ln_1p()).collect()
}

/// Upper median; 0 if empty.
fn middle(mut numbers: Vec<f32>) -> f32 {
    numbers.sort_by(f32::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(0.0)
}

/// Median of times in whole seconds, each taken as spread evenly over the second around it.
fn median(seconds: &[f32]) -> f64 {
    let at = middle(seconds.to_vec());
    if seconds.is_empty() || at.fract() != 0.0 {
        return f64::from(at);
    }
    let below = seconds.iter().filter(|&&time| time < at).count() as f64;
    let equal = seconds.iter().filter(|&&time| time == at).count().max(1) as f64;
    let fraction = (seconds.len() as f64 / 2.0 - below) / equal;
    (f64::from(at) - 0.5 + fraction).max(0.0)
}
