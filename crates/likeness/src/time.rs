//! How long people think, and how near a network comes to it.

use std::collections::BTreeMap;

use serde::Serialize;
use shakmaty::Move;
use tabia_data::{GameBytes, GameSample, RecordError};
use tabia_encoding::{KeptSituation, Situation, TIME_BINS, time_bin};
use tabia_search::{Manners, TimeLeft};

use crate::estimate::Clustered;
use crate::time_chances::{distance, log_loss, ranked_score};
use crate::{Estimate, JudgeError, MoveTerms, SelectedGame, Speed, Subject, Work};

/// How near networks come to the times people took, and two who know only the game's speed.
#[derive(Clone, Debug, Serialize)]
pub struct TimeReport {
    /// All moves first, then recaptures and others, by clock, by speed.
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
    /// How near each comes: the networks in their order, then the two who know only the speed.
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
    /// The same chances for every move of a speed: those of these moves, the best there are.
    Marginal,
}

/// How near one comes to the times people took.
#[derive(Clone, Debug, Serialize)]
pub struct TimeFigures {
    /// Who.
    pub teller: Teller,
    /// Mean of minus the natural logarithm of the chance of the bin that was right; a constant time has none.
    pub log_loss: Option<Estimate>,
    /// Mean of the continuous ranked probability score, in seconds.
    pub ranked_score: Estimate,
    /// The Wasserstein distance in seconds between the times that people took and those that would be played, bounded
    /// by the clock as a player's are.
    pub distance: f64,
    /// The mean of the seconds that would be played.
    pub mean_seconds: f64,
}

/// One move, what was taken and what each said.
struct Taken {
    seconds: f32,
    groups: [Group; 4],
    speed: Speed,
    clock: Option<TimeLeft>,
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
            Group::Speed(speed) => speed.label().to_owned(),
        }
    }

    fn of(situation: &Situation<'_>, sample: &GameSample<'_>) -> [Group; 4] {
        let left = situation.mover.time_left.unwrap_or_default().as_secs();
        let clock = match left {
            0..10 => Group::Scramble,
            10..30 => Group::Short,
            _ => Group::Ample,
        };
        let retakes = situation.last_moves.first().is_some_and(|last| recaptures(*last, sample.played));
        let recapture = if retakes { Group::Recapture } else { Group::NoRecapture };
        [Group::All, recapture, clock, Group::Speed(Speed::of(sample.head))]
    }
}

fn recaptures(last: Move, played: Move) -> bool {
    last.is_capture() && played.is_capture() && played.to() == last.to()
}

/// What is known of the times of all moves of one speed.
struct OfSpeed {
    median: f32,
    chances: [f32; TIME_BINS],
}

impl OfSpeed {
    fn new(mut seconds: Vec<f32>) -> OfSpeed {
        seconds.sort_by(f32::total_cmp);
        let mut chances = [0.0; TIME_BINS];
        for &taken in &seconds {
            chances[time_bin(taken)] += 1.0 / seconds.len() as f32;
        }
        OfSpeed { median: seconds.get(seconds.len() / 2).copied().unwrap_or(0.0), chances }
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
        add_who_know_the_speed(games, &mut taken);
        let names = subjects.iter().map(|subject| Teller::Network(subject.name().to_owned()));
        let tellers: Vec<_> = names.chain([Teller::Constant, Teller::Marginal]).collect();
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
        kept.push(KeptSituation::of(situation));
        let increment = situation.pace.map(|pace| pace.increment).unwrap_or_default();
        taken.push(Taken {
            seconds: thought.as_secs_f32(),
            groups: Group::of(situation, sample),
            speed: Speed::of(sample.head),
            clock: situation.mover.time_left.map(|remaining| TimeLeft { remaining, increment }),
            told: Vec::new(),
        });
    });
    replayed.map_err(fault)?;
    for (number, subject) in (0..).zip(subjects) {
        let mut manners = Manners::new(game.key.0 ^ number);
        for (said, taken) in subject.ask(&kept)?.iter().zip(&mut taken) {
            let chances = said.think_time.as_ref().expect("only networks that tell the time are asked");
            let told = Told::of(chances, taken, &mut manners);
            taken.told.push(told);
        }
    }
    done(taken.len() as u64);
    Ok(taken)
}

impl Told {
    fn of(chances: &[f32; TIME_BINS], taken: &Taken, manners: &mut Manners) -> Told {
        Told {
            log_loss: Some(log_loss(chances, taken.seconds)),
            ranked_score: ranked_score(chances, taken.seconds),
            played: manners.pause(chances, taken.clock).as_secs_f32(),
        }
    }
}

/// Adds what the constant time and the chances of each speed say.
fn add_who_know_the_speed(games: &[SelectedGame], taken: &mut [Vec<Taken>]) {
    let mut by_speed: BTreeMap<Speed, Vec<f32>> = BTreeMap::new();
    for one in taken.iter().flatten() {
        by_speed.entry(one.speed).or_default().push(one.seconds);
    }
    let known: BTreeMap<Speed, OfSpeed> =
        by_speed.into_iter().map(|(speed, seconds)| (speed, OfSpeed::new(seconds))).collect();
    for (game, taken) in games.iter().zip(taken) {
        let mut manners = Manners::new(!game.key.0);
        for one in taken {
            let of_speed = &known[&one.speed];
            let distance = f64::from((of_speed.median - one.seconds).abs());
            let constant = Told { log_loss: None, ranked_score: distance, played: of_speed.median };
            let marginal = Told::of(&of_speed.chances, one, &mut manners);
            one.told.extend([constant, marginal]);
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
            log_loss: (*teller != Teller::Constant).then(|| losses.estimate()),
            ranked_score: scores.estimate(),
            mean_seconds: mean(&played),
            distance: distance(played, seconds.clone()),
        }
    });
    TimeGroup {
        group: group.label(),
        moves: seconds.len() as u64,
        mean_seconds: mean(&seconds),
        figures: figures.collect(),
    }
}

fn mean(seconds: &[f32]) -> f64 {
    seconds.iter().copied().map(f64::from).sum::<f64>() / seconds.len().max(1) as f64
}
