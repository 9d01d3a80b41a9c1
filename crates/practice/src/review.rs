//! The review of a game, one move at a time.

use std::collections::VecDeque;
use std::num::NonZeroI32;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use shakmaty::san::SanPlus;
use shakmaty::{ByColor, Chess, Color, Move, Position as _};
use tabia_encoding::{Elo, ForMover, ForWhite, RatingPool, Score, Situation};
use tabia_game::{Game, History, Outcome, Phase, Repetitions, Status, status};
use tabia_model::{Evaluation, Model, Policy};
use tabia_players::{Limits, NoPolicy, Player, PlayerError, SearchControl, winning_chance};

use crate::accuracy::move_accuracy;
use crate::difficulty::{Candidates, Peers};
use crate::rating::{RatingEvidence, TOLD_RATINGS, at_ratings, has_choice};
use crate::{Mark, Reviewed, color};

/// The longest line shown of the engine, in plies.
const LINE: usize = 8;

/// An evaluation from White's point of view: one of the two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WhiteScore {
    /// Centipawns, positive if White is better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cp: Option<i32>,
    /// Mate in this many moves; negative when Black mates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mate: Option<i32>,
}

impl From<ForWhite<Score>> for WhiteScore {
    fn from(ForWhite(score): ForWhite<Score>) -> WhiteScore {
        match score {
            Score::Centipawns(cp) => WhiteScore { cp: Some(cp), mate: None },
            Score::Mate(moves) => WhiteScore { cp: None, mate: Some(moves.get()) },
        }
    }
}

impl WhiteScore {
    /// The score as the engine gave it; `None` if it is neither.
    pub fn score(self) -> Option<ForWhite<Score>> {
        let mate = self.mate.and_then(NonZeroI32::new).map(Score::Mate);
        mate.or(self.cp.map(Score::Centipawns)).map(ForWhite)
    }
}

/// The review of a move.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReviewedMove {
    /// Plies from the start, this one included.
    pub ply: u32,
    /// Who moved.
    #[serde(with = "color")]
    pub color: Color,
    /// The move in UCI notation.
    pub uci: String,
    /// The move in algebraic notation.
    pub san: String,
    /// The evaluation before the move.
    pub before: WhiteScore,
    /// The evaluation after the move; a mate on the board is a mate in one.
    pub after: WhiteScore,
    /// The best move in UCI notation.
    pub best: String,
    /// The same in algebraic notation.
    pub best_san: String,
    /// The engine's line from the best move on, in algebraic notation.
    pub line: Vec<String>,
    /// The mover's winning chance before the move.
    pub win_before: f64,
    /// The mover's winning chance after the move.
    pub win_after: f64,
    /// Its accuracy, from 0 to 100.
    pub accuracy: f64,
    /// The probability that a person of the rating plays the move.
    pub probability: f32,
    /// The probability of the best move.
    pub best_probability: f32,
    /// Its mark.
    pub mark: Mark,
    /// The phase of the game.
    pub phase: Phase,
    /// Seconds on the mover's clock before the move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<f64>,
    /// Seconds the move took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think_time: Option<f64>,
    /// The expected score of a person of the rating in this position, from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_score: Option<f32>,
    /// What people of the rating lose here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peers: Option<Peers>,
    /// The rating from which most people find a good move here; 600 if all do, `None` if nobody does or it was not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found_from: Option<u16>,
}

impl ReviewedMove {
    /// The mover's winning chance that the move lost.
    pub fn loss(&self) -> f64 {
        (self.win_before - self.win_after).max(0.0)
    }

    /// Whether it is a bad move that most people of the rating would play, or one where most of them would err.
    pub fn is_understandable(&self) -> bool {
        self.mark.is_error() && (self.probability >= 0.5 || self.peers.is_some_and(|peers| peers.errs >= 0.5))
    }
}

/// What to look at in a game.
#[derive(Clone, Debug, Default)]
pub struct ReviewSettings {
    /// Limits of the search of each position.
    pub limits: Limits,
    /// Limits of the search after each move that people play; `None` for half of `limits`.
    pub candidate_limits: Option<Limits>,
    /// The rating that each side's moves are judged at; `None` for the rating in the game.
    pub ratings: ByColor<Option<Elo>>,
    /// The rating pool; `None` for the game's.
    pub pool: Option<RatingPool>,
    /// Whose moves are compared with those of [peers](ReviewedMove::peers).
    pub peers: ByColor<bool>,
    /// Whose rating is [estimated](crate::RatingEvidence).
    pub evidence: ByColor<bool>,
}

/// An engine and a human network that review games.
pub struct Reviewer {
    pub(crate) engine: Box<dyn Player>,
    pub(crate) human: Arc<Model>,
}

/// Starts the clock of a search.
pub type StartClock<'a> = &'a dyn Fn() -> Box<dyn SearchControl>;

/// A game under review.
pub struct ReviewInProgress {
    settings: ReviewSettings,
    /// The game up to the next move to review.
    history: History,
    repetitions: Repetitions,
    coming: VecDeque<GameMove>,
    ply: u32,
    /// The evaluation of the current position, once known.
    opinion: Option<Searched>,
    /// By colour and phase.
    evidence: ByColor<[RatingEvidence; 3]>,
}

/// A move of a game and the time it took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GameMove {
    /// The move.
    pub played: Move,
    /// The mover's clock after it.
    pub clock: Option<Duration>,
    /// How long it took, if the game says so.
    pub elapsed: Option<Duration>,
}

/// The score of being mated.
const MATED: NonZeroI32 = NonZeroI32::new(-1).expect("not zero");

/// The evaluation of a position, for the side to move.
#[derive(Clone, Debug)]
pub(crate) struct Searched {
    pub(crate) best: Option<Move>,
    pub(crate) score: ForMover<Score>,
    pub(crate) second: Option<(Move, ForMover<Score>)>,
    pub(crate) line: Vec<Move>,
}

impl Reviewer {
    /// A reviewer with this engine and this network.
    ///
    /// # Errors
    /// If the network has no policy head.
    pub fn new(engine: Box<dyn Player>, human: Arc<Model>) -> Result<Reviewer, NoPolicy> {
        if human.card().policy.is_none() { Err(NoPolicy) } else { Ok(Reviewer { engine, human }) }
    }

    /// Forgets the positions searched before, so that they do not change the next results.
    pub fn new_game(&mut self) {
        self.engine.new_game();
    }

    /// Starts the review of the main line of a game.
    pub fn start(&mut self, game: &Game, settings: ReviewSettings) -> ReviewInProgress {
        let coming = game.mainline().filter_map(|node| {
            let notes = game.notes(node);
            Some(GameMove { played: game.move_to(node)?, clock: notes.clock, elapsed: notes.elapsed })
        });
        self.start_from(History::at_start_of(game), coming.collect(), settings)
    }

    /// Starts the review of legal moves from a position. What a game was reviewed before does not change the result.
    pub fn start_from(
        &mut self,
        start: History,
        moves: VecDeque<GameMove>,
        settings: ReviewSettings,
    ) -> ReviewInProgress {
        self.new_game();
        ReviewInProgress {
            settings,
            repetitions: Repetitions::from_start(start.current()),
            history: start,
            coming: moves,
            ply: 0,
            opinion: None,
            evidence: ByColor::default(),
        }
    }

    /// Reviews the next move; `None` at the end.
    ///
    /// # Errors
    /// If the engine or the network fails.
    pub fn step(
        &mut self,
        review: &mut ReviewInProgress,
        clock: StartClock<'_>,
    ) -> Result<Option<ReviewedMove>, PlayerError> {
        if review.coming.is_empty() {
            return Ok(None);
        }
        // Before anything changes, so that the step can be repeated when a network has answered elsewhere.
        let said = review.predictions(&self.human)?;
        let Some(coming) = review.coming.pop_front() else { return Ok(None) };
        let limits = Limits { lines: 2, ..review.settings.limits.clone() };
        let before = match review.opinion.take() {
            Some(known) => known,
            None => self.look(&review.history, &review.repetitions, &limits, clock)?,
        };
        let turn = review.history.current().turn();
        let rating = review.told().mover.rating;
        let (at_rating, by_rating) = said.split_first().unwrap_or((&NOTHING, &[]));
        let nothing = Policy::default();
        let policy = at_rating.policy.as_ref().unwrap_or(&nothing);
        let phase = Phase::of(review.history.current().board());
        review.evidence[turn][phase as usize].add(by_rating, coming.played);

        let mut candidates = None;
        if review.settings.peers[turn] {
            let settings = &review.settings;
            let limits = settings.candidate_limits.clone().unwrap_or_else(|| halved(&settings.limits));
            let mut after = |m: Move| self.after(review, m, &limits, clock);
            candidates = Some(Candidates::of(policy, &before, Some(coming.played), &mut after)?);
        }
        let (situation, position) = (review.history.situation(), review.history.current().clone());
        let clock_before = situation.mover.time_left;
        let increment = situation.pace.map(|pace| pace.increment);
        let think_time = coming
            .elapsed
            .or_else(|| Some((clock_before? + increment.unwrap_or_default()).saturating_sub(coming.clock?)));
        review.history.push(coming.played, coming.clock);
        review.repetitions.push(review.history.current());
        review.ply += 1;
        let after = self.look(&review.history, &review.repetitions, &limits, clock)?;

        let best = before.best.unwrap_or(coming.played);
        let (win_before, win_after) = (winning_chance(before.score), 1.0 - winning_chance(after.score));
        let best_probability = policy.probability(best);
        let reviewed = Reviewed {
            played: coming.played,
            best,
            best_chance: win_before,
            second_chance: before.second.map(|(_, score)| winning_chance(score)),
            played_chance: win_after,
            best_probability,
        };
        let candidates = candidates.map(|candidates| candidates.with_played(coming.played, win_after));
        let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
        let reviewed = ReviewedMove {
            ply: review.ply,
            color: turn,
            uci: uci(&position, coming.played),
            san: san(&position, coming.played),
            before: before.score.for_white(turn).into(),
            after: after.score.for_white(!turn).into(),
            best: uci(&position, best),
            best_san: san(&position, best),
            line: line_san(&position, &before.line),
            win_before,
            win_after,
            accuracy: move_accuracy(win_before, win_after),
            probability: policy.probability(coming.played),
            best_probability,
            mark: reviewed.mark(),
            phase,
            clock: seconds(clock_before),
            think_time: seconds(think_time),
            expected_score: at_rating.wdl.map(tabia_model::Wdl::expected),
            peers: candidates.as_ref().map(|candidates| candidates.peers(policy, rating)),
            found_from: candidates.as_ref().and_then(|candidates| candidates.found_from(by_rating)),
        };
        review.opinion = Some(after);
        Ok(Some(reviewed))
    }

    /// The evaluation of a position, or the result where the game ends.
    pub(crate) fn look(
        &mut self,
        history: &History,
        repetitions: &Repetitions,
        limits: &Limits,
        clock: StartClock<'_>,
    ) -> Result<Searched, PlayerError> {
        if let Status::Over(outcome) = status(history.current(), repetitions) {
            let score = match outcome {
                // Only the side to move can be mated.
                Outcome::Win { .. } => Score::Mate(MATED),
                Outcome::Draw(_) | Outcome::Abandoned => Score::Centipawns(0),
            };
            return Ok(Searched { best: None, score: ForMover(score), second: None, line: Vec::new() });
        }
        let choice = self.engine.choose(history, limits, &*clock())?;
        let second = choice.lines.get(1).and_then(|line| Some((*line.moves.first()?, line.score?)));
        let first = choice.lines.into_iter().next().unwrap_or_default();
        let score = first.score.unwrap_or(ForMover(Score::Centipawns(0)));
        Ok(Searched { best: Some(choice.mv), score, second, line: first.moves })
    }

    /// The mover's winning chance after a move.
    fn after(
        &mut self,
        review: &ReviewInProgress,
        m: Move,
        limits: &Limits,
        clock: StartClock<'_>,
    ) -> Result<f64, PlayerError> {
        let (mut history, mut repetitions) = (review.history.clone(), review.repetitions.clone());
        history.push(m, None);
        repetitions.push(history.current());
        let limits = Limits { lines: 1, ..limits.clone() };
        Ok(1.0 - winning_chance(self.look(&history, &repetitions, &limits, clock)?.score))
    }
}

/// The predictions of a network that said nothing.
static NOTHING: Evaluation = Evaluation { policy: None, score: None, wdl: None, think_time: None };

impl ReviewInProgress {
    /// What is looked at.
    pub fn settings(&self) -> &ReviewSettings {
        &self.settings
    }

    /// Changes whether the next moves of a side are evidence of its rating.
    pub fn set_evidence(&mut self, color: Color, is_evidence: bool) {
        self.settings.evidence[color] = is_evidence;
    }

    /// The moves not yet reviewed.
    pub fn moves_left(&self) -> usize {
        self.coming.len()
    }

    /// The evidence of a side's rating so far, by phase.
    pub fn evidence(&self, color: Color) -> &[RatingEvidence; 3] {
        &self.evidence[color]
    }

    /// The situation as people of the mover's rating see it.
    fn told(&self) -> Situation<'_> {
        let mut situation = self.history.situation();
        let turn = situation.position.turn();
        situation.mover.rating = self.settings.ratings[turn].or(situation.mover.rating);
        // With one rating alone, no position would be even.
        situation.opponent.rating = situation.opponent.rating.or(situation.mover.rating);
        situation.pool = self.settings.pool.unwrap_or(situation.pool);
        situation
    }

    /// The network's predictions at the mover's rating, then at all ratings where they are asked for.
    fn predictions(&self, human: &Model) -> Result<Vec<Evaluation>, PlayerError> {
        let told = self.told();
        let mut asked = Vec::with_capacity(1 + TOLD_RATINGS.len());
        asked.push(told);
        let is_asked = self.settings.evidence[told.position.turn()];
        if is_asked && human.takes_ratings() && has_choice(told.position) {
            asked.extend(at_ratings(&told));
        }
        Ok(human.evaluate(&asked)?)
    }
}

pub(crate) fn halved(limits: &Limits) -> Limits {
    Limits {
        nodes: limits.nodes.map(|nodes| nodes.div_ceil(2)),
        movetime: limits.movetime.map(|time| time / 2),
        ..limits.clone()
    }
}

pub(crate) fn uci(position: &Chess, m: Move) -> String {
    m.to_uci(position.castles().mode()).to_string()
}

pub(crate) fn san(position: &Chess, m: Move) -> String {
    SanPlus::from_move(position.clone(), m).to_string()
}

fn line_san(position: &Chess, line: &[Move]) -> Vec<String> {
    let mut at = position.clone();
    line.iter().take(LINE).map(|m| SanPlus::from_move_and_play_unchecked(&mut at, *m).to_string()).collect()
}
