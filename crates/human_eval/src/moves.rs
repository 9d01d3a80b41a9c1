//! Which moves people play, and which of them a network foretells.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use serde::Serialize;
use shakmaty::Move;
use tabia_data::{Filter, GameBytes, GameSample, RecordError};
use tabia_encoding::{OwnedSituation, Situation};
use tabia_model::Policy;

use crate::band::{Band, Place};
use crate::calibration::CalibrationTally;
use crate::estimate::Clustered;
use crate::{Calibration, Estimate, Grouping, JudgeError, SelectedGame, Speed, Subject, Work};

/// What a move that the network rules out counts as in the log-loss.
const LEAST_PROBABILITY: f32 = 1e-9;

/// A move that the network gives less is an unlikely one.
pub const UNLIKELY: f32 = 0.01;

/// Which positions of a game count.
#[derive(Clone, Debug)]
pub struct MoveTerms {
    /// Those before this ply do not: openings are played from memory.
    pub first_ply: u32,
    /// Those in which the side to move has less time left, or an unknown time, do not.
    pub min_clock: Option<Duration>,
    /// Those in which it has more, or an unknown time, do not either.
    pub max_clock: Option<Duration>,
    /// Games of other speeds do not; empty takes all.
    pub speeds: HashSet<Speed>,
}

impl MoveTerms {
    /// How many positions of a game count.
    ///
    /// # Errors
    /// If the game makes no sense.
    pub fn count(&self, game: &GameBytes<'_>) -> Result<u64, RecordError> {
        let mut count = 0;
        self.each(game, |_, _| count += 1)?;
        Ok(count)
    }

    /// Gives the positions of a game that count, in order.
    pub(crate) fn each(
        &self,
        game: &GameBytes<'_>,
        mut take: impl FnMut(&Situation<'_>, &GameSample<'_>),
    ) -> Result<(), RecordError> {
        if !self.speeds.is_empty() && !self.speeds.contains(&Speed::of(&game.head)) {
            return Ok(());
        }
        let filter = Filter { min_ply: self.first_ply, ..Filter::default() };
        game.replay(&filter, |situation, sample| {
            let left = situation.mover.time_left;
            let enough = self.min_clock.is_none_or(|least| left.is_some_and(|left| left >= least));
            let little = self.max_clock.is_none_or(|most| left.is_some_and(|left| left <= most));
            if enough && little {
                take(situation, sample);
            }
        })
    }
}

/// How well some networks foretell moves, on the same positions.
#[derive(Clone, Debug, Serialize)]
pub struct MoveReport {
    /// The networks, in the order they were given.
    pub models: Vec<String>,
    /// All positions first, then the bands of each grouping that was asked for.
    pub groups: Vec<MoveGroup>,
}

/// One band of positions.
#[derive(Clone, Debug, Serialize)]
pub struct MoveGroup {
    /// How positions were divided.
    pub by: Grouping,
    /// Which band this is.
    pub band: String,
    /// Games with such positions.
    pub games: u64,
    /// Such positions.
    pub positions: u64,
    /// The figures of each network, in the report's order.
    pub figures: Vec<Figures>,
    /// The first network against the best of the others.
    pub comparison: Option<Comparison>,
}

/// How well one network foretells moves. Shares are from 0 to 1.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// How often the likeliest move was played.
    pub top1: Estimate,
    /// How often one of the five likeliest was.
    pub top5: Estimate,
    /// Mean of minus the natural logarithm of the probability of the move that was played.
    pub log_loss: Estimate,
    /// How much likelier the likeliest move was said to be than it was.
    pub overconfidence: Estimate,
    /// How often the move that was played was [`UNLIKELY`].
    pub unlikely: Estimate,
    /// The same, bin by bin.
    pub calibration: Calibration,
}

/// The first network against the best of some others in the same band.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The other network with the highest top-1.
    pub best: String,
    /// How much higher the first network's top-1 is, paired by position.
    pub top1: Estimate,
    /// How much higher the first network's log-loss is: below zero is better.
    pub log_loss: Estimate,
}

/// What a network said of the move that was played.
#[derive(Clone, Copy, Debug)]
struct Foretold {
    /// How many moves were said to be likelier.
    rank: u16,
    probability: f32,
    /// The probability of the likeliest move.
    top: f32,
}

/// A position and what each network said of it.
struct Judged {
    place: Place,
    foretold: Vec<Foretold>,
}

impl MoveReport {
    /// Asks every network about every position of the games. `rivals` says which of the networks, by number, the first is
    /// compared with.
    ///
    /// # Errors
    /// If a network fails.
    pub fn new(
        games: &[SelectedGame],
        subjects: &[Subject],
        terms: &MoveTerms,
        by: &[Grouping],
        rivals: &[usize],
        work: &Work<'_>,
    ) -> Result<MoveReport, JudgeError> {
        let judged = work.map(games, |game| judge(game, subjects, terms, work.done))?;
        let groups = [Grouping::All].into_iter().chain(by.iter().copied());
        let groups = groups.flat_map(|grouping| {
            let mut bands: BTreeMap<Band, Tally> = BTreeMap::new();
            for game in &judged {
                let mut of_game: BTreeMap<Band, GameTally> = BTreeMap::new();
                for position in game {
                    let band = position.place.band(grouping);
                    of_game.entry(band).or_insert_with(|| GameTally::new(subjects.len())).add(position);
                    bands.entry(band).or_insert_with(|| Tally::new(subjects.len())).calibrate(position);
                }
                for (band, tally) in of_game {
                    bands.entry(band).or_insert_with(|| Tally::new(subjects.len())).add_game(&tally);
                }
            }
            let group = |(band, tally): (Band, Tally)| tally.group(grouping, band, subjects, rivals);
            bands.into_iter().map(group).collect::<Vec<_>>()
        });
        let models = subjects.iter().map(|subject| subject.name().to_owned()).collect();
        Ok(MoveReport { models, groups: groups.collect() })
    }
}

fn judge(
    game: &SelectedGame,
    subjects: &[Subject],
    terms: &MoveTerms,
    done: &dyn Fn(u64),
) -> Result<Vec<Judged>, JudgeError> {
    let fault = |error| JudgeError::Game { key: game.key, error };
    let bytes = GameBytes::parse(&game.bytes).map_err(fault)?;
    let (mut kept, mut played, mut judged) = (Vec::new(), Vec::new(), Vec::new());
    let taken = terms.each(&bytes, |situation, sample| {
        kept.push(OwnedSituation::of(situation));
        played.push(sample.played);
        judged.push(Judged { place: Place::of(situation, sample.head), foretold: Vec::new() });
    });
    taken.map_err(fault)?;
    for subject in subjects {
        for ((said, &played), judged) in subject.ask(&kept)?.iter().zip(&played).zip(&mut judged) {
            let policy = said.policy.as_ref().expect("a network without a move head is no subject");
            judged.foretold.push(Foretold::of(policy, played));
        }
    }
    done(judged.len() as u64);
    Ok(judged)
}

impl Foretold {
    fn of(policy: &Policy, played: Move) -> Foretold {
        let candidates = policy.candidates();
        let rank = candidates.iter().position(|candidate| candidate.mv == played).unwrap_or(candidates.len());
        Foretold {
            rank: u16::try_from(rank).unwrap_or(u16::MAX),
            probability: candidates.get(rank).map_or(0.0, |candidate| candidate.probability),
            top: policy.best().map_or(0.0, |best| best.probability),
        }
    }

    fn scores(&self) -> Scores {
        let hit = |within: u16| f64::from(u8::from(self.rank < within));
        let loss = -f64::from(self.probability.max(LEAST_PROBABILITY)).ln();
        let unlikely = f64::from(u8::from(self.probability < UNLIKELY));
        Scores([hit(1), hit(5), loss, f64::from(self.top) - hit(1), unlikely])
    }
}

/// Top-1, top-5, log-loss, overconfidence and unlikely moves, of one position or added up.
#[derive(Clone, Copy, Debug, Default)]
struct Scores([f64; SCORES]);

const SCORES: usize = 5;
const TOP1: usize = 0;
const LOG_LOSS: usize = 2;

/// What the positions of one game and band add up to.
struct GameTally {
    count: u64,
    scores: Vec<Scores>,
}

impl GameTally {
    fn new(subjects: usize) -> GameTally {
        GameTally { count: 0, scores: vec![Scores::default(); subjects] }
    }

    fn add(&mut self, position: &Judged) {
        self.count += 1;
        for (sums, foretold) in self.scores.iter_mut().zip(&position.foretold) {
            for (sum, score) in sums.0.iter_mut().zip(foretold.scores().0) {
                *sum += score;
            }
        }
    }
}

/// One band, over all games.
struct Tally {
    games: u64,
    positions: u64,
    scores: Vec<[Clustered; SCORES]>,
    /// The first network less each.
    ahead: Vec<[Clustered; SCORES]>,
    calibration: Vec<CalibrationTally>,
}

impl Tally {
    fn new(subjects: usize) -> Tally {
        Tally {
            games: 0,
            positions: 0,
            scores: vec![Default::default(); subjects],
            ahead: vec![Default::default(); subjects],
            calibration: vec![CalibrationTally::default(); subjects],
        }
    }

    fn calibrate(&mut self, position: &Judged) {
        for (tally, foretold) in self.calibration.iter_mut().zip(&position.foretold) {
            tally.add(foretold.top, foretold.rank == 0);
        }
    }

    fn add_game(&mut self, game: &GameTally) {
        self.games += 1;
        self.positions += game.count;
        let first = game.scores.first().copied().unwrap_or_default();
        for ((sums, ahead), own) in game.scores.iter().zip(&mut self.ahead).zip(&mut self.scores) {
            for ((sum, first), (ahead, own)) in sums.0.iter().zip(first.0).zip(ahead.iter_mut().zip(own)) {
                own.add_game(game.count, *sum);
                ahead.add_game(game.count, first - sum);
            }
        }
    }

    fn group(&self, by: Grouping, band: Band, subjects: &[Subject], rivals: &[usize]) -> MoveGroup {
        let figures = self.scores.iter().zip(&self.calibration).map(|(scores, calibration)| {
            let [top1, top5, log_loss, overconfidence, unlikely] = scores;
            Figures {
                top1: top1.share(),
                top5: top5.share(),
                log_loss: log_loss.mean(),
                overconfidence: overconfidence.mean(),
                unlikely: unlikely.share(),
                calibration: calibration.calibration(),
            }
        });
        let figures: Vec<_> = figures.collect();
        let top1 = |number: &usize| figures.get(*number).map_or(f64::NEG_INFINITY, |of| of.top1.value);
        // The first of equals.
        let best = rivals.iter().rev().max_by(|a, b| top1(a).total_cmp(&top1(b)));
        let comparison = best.and_then(|&best| {
            let ahead = self.ahead.get(best)?;
            Some(Comparison {
                best: subjects.get(best)?.name().to_owned(),
                top1: ahead[TOP1].mean(),
                log_loss: ahead[LOG_LOSS].mean(),
            })
        });
        let (games, positions) = (self.games, self.positions);
        MoveGroup { by, band: band.to_string(), games, positions, figures, comparison }
    }
}
