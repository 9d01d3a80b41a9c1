//! How long people think, and how near a network comes to it.

use std::collections::BTreeMap;

use fastrand::Rng;
use serde::Serialize;
use shakmaty::{Move, Position};
use tabia_data::stats::{Category, Phase};
use tabia_data::{GameBytes, GameSample, RecordError};
use tabia_encoding::{OwnedSituation, Situation, TIME_BINS, time_bin};
use tabia_model::Policy;
use tabia_search::{HumanBehaviour, TimeLeft, think_time_for};

use crate::estimate::Clustered;
use crate::time_chances::{distance, log_loss, ranked_score};
use crate::{Estimate, JudgeError, MoveTerms, SelectedGame, Speed, Subject, Work};

/// How near networks come to the times people took, and three who know only the clock.
#[derive(Clone, Debug, Serialize)]
pub struct TimeReport {
    /// All moves first, then recaptures and others, by clock, by phase, by speed.
    pub groups: Vec<TimeGroup>,
}

/// Some of the moves.
#[derive(Clone, Debug, Serialize)]
pub struct TimeGroup {
    /// Which.
    pub group: String,
    /// How many.
    pub moves: u64,
    /// The mean of the seconds that people took.
    pub mean_seconds: f64,
    /// Their median; times of clocks without tenths count as if spread evenly around what was shown.
    pub median_seconds: f64,
    /// How near each comes: the networks in their order, then the three who know only the clock.
    pub figures: Vec<TimeFigures>,
}

/// Who says how long people think.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Teller {
    /// A network.
    Network(String),
    /// The same time for every move of a speed: the median of these moves, the best there is.
    Constant,
    /// The same share of the clock for every move of a speed: the median of these moves.
    ClockShare,
    /// The same chances for every move of a speed: those of these moves, the best there are.
    Marginal,
}

/// How near one comes to the times people took.
#[derive(Clone, Debug, Serialize)]
pub struct TimeFigures {
    /// Who.
    pub teller: Teller,
    /// Mean of minus the natural logarithm of the chance of the bin that was right; a time that is certain has none.
    pub log_loss: Option<Estimate>,
    /// Mean of the continuous ranked probability score, in natural logarithms of 1 + seconds.
    pub ranked_score: Estimate,
    /// The Wasserstein distance in natural logarithms of 1 + seconds between the times that people took and those that
    /// would be played, bounded by the clock as a player's are and read from the same kind of clock as people's.
    pub distance: f64,
    /// The same in seconds: what few long thoughts weigh.
    pub distance_seconds: f64,
    /// The mean of the seconds that would be played.
    pub mean_seconds: f64,
    /// Their median, as for people.
    pub median_seconds: f64,
}

/// One move, what was taken and what each said.
struct Taken {
    seconds: f32,
    groups: [Group; 5],
    speed: Speed,
    clock: Option<TimeLeft>,
    played: Move,
    told: Vec<Told>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Told {
    log_loss: Option<f64>,
    ranked_score: f64,
    played: f32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    All,
    Recapture,
    NoRecapture,
    /// Below 10 s.
    Scramble,
    /// Below 30 s.
    Short,
    Ample,
    Phase(Phase),
    Speed(Speed),
}

impl Group {
    fn label(self) -> String {
        match self {
            Group::All => "all".to_owned(),
            Group::Recapture => "recaptures".to_owned(),
            Group::NoRecapture => "other moves".to_owned(),
            Group::Scramble => "clock under 10 s".to_owned(),
            Group::Short => "clock 10 to 30 s".to_owned(),
            Group::Ample => "clock 30 s or more".to_owned(),
            Group::Phase(phase) => phase.label().to_owned(),
            Group::Speed(speed) => speed.label().to_owned(),
        }
    }

    fn of(situation: &Situation<'_>, sample: &GameSample<'_>) -> [Group; 5] {
        let left = situation.mover.time_left.unwrap_or_default().as_secs();
        let clock = match left {
            0..10 => Group::Scramble,
            10..30 => Group::Short,
            _ => Group::Ample,
        };
        let retakes = situation.last_moves.first().is_some_and(|last| recaptures(*last, sample.played));
        let recapture = if retakes { Group::Recapture } else { Group::NoRecapture };
        let phase = Group::Phase(Phase::of(situation.position.board()));
        [Group::All, recapture, clock, phase, Group::Speed(Speed::of(sample.head))]
    }
}

fn recaptures(last: Move, played: Move) -> bool {
    last.is_capture() && played.is_capture() && played.to() == last.to()
}

/// What is known of the times of all moves of one speed.
struct OfSpeed {
    median: f32,
    /// Of the clock.
    share: f32,
    chances: [f32; TIME_BINS],
}

impl OfSpeed {
    fn new(moves: &[(f32, Option<f32>)]) -> OfSpeed {
        let mut chances = [0.0; TIME_BINS];
        for (taken, _) in moves {
            chances[time_bin(*taken)] += 1.0 / moves.len() as f32;
        }
        let shares = moves.iter().filter_map(|(taken, clock)| clock.map(|clock| taken / clock.max(1.0)));
        let seconds = moves.iter().map(|(taken, _)| *taken);
        OfSpeed { median: middle(seconds.collect()), share: middle(shares.collect()), chances }
    }
}

impl TimeReport {
    /// How many moves of a game have a known time.
    ///
    /// # Errors
    /// If the game makes no sense.
    pub fn count(terms: &MoveTerms, game: &GameBytes<'_>) -> Result<u64, RecordError> {
        let mut count = 0;
        terms.each(game, |_, sample| count += u64::from(sample.thought.is_some()))?;
        Ok(count)
    }

    /// Asks every network about every move of the games of which the time is known.
    ///
    /// # Errors
    /// If a network fails.
    ///
    /// # Panics
    /// If a network does not [tell the time](Subject::tells_time).
    pub fn new(
        games: &[SelectedGame],
        subjects: &[Subject],
        terms: &MoveTerms,
        work: &Work<'_>,
    ) -> Result<TimeReport, JudgeError> {
        let mut taken = work.map(games, |game| take(game, subjects, terms, work.done))?;
        add_who_know_the_clock(games, &mut taken);
        let names = subjects.iter().map(|subject| Teller::Network(subject.name().to_owned()));
        let tellers: Vec<_> = names.chain([Teller::Constant, Teller::ClockShare, Teller::Marginal]).collect();
        let mut groups: Vec<Group> = taken.iter().flatten().flat_map(|moves| moves.groups).collect();
        groups.sort_unstable();
        groups.dedup();
        let groups = groups.into_iter().map(|group| summary(group, &taken, &tellers)).collect();
        Ok(TimeReport { groups })
    }
}

fn take(
    game: &SelectedGame,
    subjects: &[Subject],
    terms: &MoveTerms,
    done: &dyn Fn(u64),
) -> Result<Vec<Taken>, JudgeError> {
    let fault = |error| JudgeError::Game { key: game.key, error };
    let bytes = GameBytes::parse(&game.bytes).map_err(fault)?;
    let (mut kept, mut taken) = (Vec::new(), Vec::new());
    let replayed = terms.each(&bytes, |situation, sample| {
        let Some(thought) = sample.thought else { return };
        kept.push(OwnedSituation::of(situation));
        let increment = situation.pace.map(|pace| pace.increment).unwrap_or_default();
        taken.push(Taken {
            seconds: thought.as_secs_f32(),
            groups: Group::of(situation, sample),
            speed: Speed::of(sample.head),
            clock: situation.mover.time_left.map(|remaining| TimeLeft { remaining, increment }),
            played: sample.played,
            told: Vec::new(),
        });
    });
    replayed.map_err(fault)?;
    for (number, subject) in (0..).zip(subjects) {
        let mut clock = Clock::of(&taken, game.key.0 ^ number);
        for (said, taken) in subject.ask(&kept)?.iter().zip(&mut taken) {
            let chances = said.think_time.as_ref().expect("only networks that tell the time are asked");
            let chances = think_time_for(chances, probability(said.policy.as_ref(), taken.played));
            let told = Told::of(&chances, taken, &mut clock);
            taken.told.push(told);
        }
    }
    done(taken.len() as u64);
    Ok(taken)
}

fn probability(policy: Option<&Policy>, mv: Move) -> f32 {
    let mut candidates = policy.map(Policy::candidates).unwrap_or_default().iter();
    candidates.find(|candidate| candidate.mv == mv).map_or(0.0, |candidate| candidate.probability)
}

/// A player's patience, and the clock by which its times are read: one like that of the people it is compared with.
struct Clock {
    behaviour: HumanBehaviour,
    rng: Rng,
    has_tenths: bool,
}

impl Clock {
    fn of(moves: &[Taken], seed: u64) -> Clock {
        let has_tenths = moves.iter().any(|one| one.seconds.fract() != 0.0);
        Clock { behaviour: HumanBehaviour::new(seed), rng: Rng::with_seed(!seed), has_tenths }
    }

    /// The seconds this clock shows for a time drawn from the chances.
    fn read(&mut self, chances: &[f32; TIME_BINS], left: Option<TimeLeft>) -> f32 {
        let seconds = self.behaviour.pause(chances, left).as_secs_f32();
        // The move may begin at any part of a second.
        let begun = self.rng.f32();
        if self.has_tenths { seconds } else { (seconds + begun).floor() }
    }
}

impl Told {
    fn of(chances: &[f32; TIME_BINS], taken: &Taken, clock: &mut Clock) -> Told {
        Told {
            log_loss: Some(log_loss(chances, taken.seconds)),
            ranked_score: ranked_score(chances, taken.seconds),
            played: clock.read(chances, taken.clock),
        }
    }

    /// Somebody who would take just so long.
    fn certain(seconds: f32, taken: &Taken) -> Told {
        let ranked_score = f64::from((seconds.ln_1p() - taken.seconds.ln_1p()).abs());
        Told { log_loss: None, ranked_score, played: seconds }
    }
}

/// Adds what the constant time, the share of the clock and the chances of each speed say.
fn add_who_know_the_clock(games: &[SelectedGame], taken: &mut [Vec<Taken>]) {
    let left = |one: &Taken| one.clock.map(|clock| clock.remaining.as_secs_f32());
    let mut by_speed: BTreeMap<Speed, Vec<(f32, Option<f32>)>> = BTreeMap::new();
    for one in taken.iter().flatten() {
        by_speed.entry(one.speed).or_default().push((one.seconds, left(one)));
    }
    let known: BTreeMap<Speed, OfSpeed> =
        by_speed.into_iter().map(|(speed, moves)| (speed, OfSpeed::new(&moves))).collect();
    for (game, taken) in games.iter().zip(taken) {
        let mut clock = Clock::of(taken, !game.key.0);
        for one in taken {
            let of_speed = &known[&one.speed];
            let constant = Told::certain(of_speed.median, one);
            let share = Told::certain(left(one).unwrap_or(0.0) * of_speed.share, one);
            let marginal = Told::of(&of_speed.chances, one, &mut clock);
            one.told.extend([constant, share, marginal]);
        }
    }
}

fn summary(group: Group, taken: &[Vec<Taken>], tellers: &[Teller]) -> TimeGroup {
    let chosen: Vec<Vec<&Taken>> =
        taken.iter().map(|moves| moves.iter().filter(|one| one.groups.contains(&group)).collect()).collect();
    let seconds: Vec<f32> = chosen.iter().flatten().map(|one| one.seconds).collect();
    let figures = tellers.iter().enumerate().map(|(number, teller)| {
        let told = |one: &&Taken| one.told.get(number).copied().unwrap_or_default();
        let (mut losses, mut scores) = (Clustered::default(), Clustered::default());
        for game in &chosen {
            let sum = |of: fn(Told) -> f64| game.iter().map(|one| of(told(one))).sum::<f64>();
            losses.add_game(game.len() as u64, sum(|told| told.log_loss.unwrap_or(f64::NAN)));
            scores.add_game(game.len() as u64, sum(|told| told.ranked_score));
        }
        let played: Vec<f32> = chosen.iter().flatten().map(|one| told(one).played).collect();
        TimeFigures {
            teller: teller.clone(),
            log_loss: matches!(teller, Teller::Network(_) | Teller::Marginal).then(|| losses.mean()),
            ranked_score: scores.mean(),
            mean_seconds: mean(&played),
            median_seconds: median(&played),
            distance: distance(logarithms(&played), logarithms(&seconds)),
            distance_seconds: distance(played, seconds.clone()),
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

/// The one in the middle; 0 of none.
fn middle(mut numbers: Vec<f32>) -> f32 {
    numbers.sort_by(f32::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(0.0)
}

/// The median of seconds that a clock without tenths showed: each stands for the second around it.
fn median(seconds: &[f32]) -> f64 {
    let at = middle(seconds.to_vec());
    if seconds.is_empty() || at.fract() != 0.0 {
        return f64::from(at);
    }
    let below = seconds.iter().filter(|&&taken| taken < at).count() as f64;
    let there = seconds.iter().filter(|&&taken| taken == at).count().max(1) as f64;
    let share = (seconds.len() as f64 / 2.0 - below) / there;
    (f64::from(at) - 0.5 + share).max(0.0)
}
