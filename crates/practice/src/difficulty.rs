//! How hard a position is for people of a rating.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};
use shakmaty::{Chess, Move, Position as _};
use tabia_encoding::{Elo, ForMover, Score};
use tabia_game::{History, Repetitions};
use tabia_model::{Evaluation, Policy, Wdl};
use tabia_players::{Limits, PlayerError, winning_chance};

use crate::mark::{INACCURACY, MISTAKE};
use crate::rating::{TOLD_RATINGS, at_ratings};
use crate::review::{Reviewer, Searched, StartClock, WhiteScore, halved, san, uci};

/// The share of people's moves that is evaluated, and the most moves.
const COVERED: f32 = 0.9;
const MOST_CANDIDATES: usize = 6;

/// What the moves that are not evaluated cost on average, as a share of what there is to lose, and how often such a move
/// is an error. Measured by `tabia eval blunders`.
const REST_LOSS: f64 = 0.26;
const REST_ERRS: f64 = 0.45;

/// What people of a rating lose in a position.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Peers {
    /// The winning chance that they lose on average.
    pub loss: f64,
    /// The probability that they lose 0.1 or more.
    pub errs: f64,
}

/// The moves that people play in a position, and the mover's winning chance after each.
#[derive(Clone, Debug)]
pub(crate) struct Candidates {
    best_chance: f64,
    moves: Vec<(Move, f64)>,
}

impl Candidates {
    /// The likeliest moves of a policy that together reach 90%, at most six, and the engine's best two: those that are known, and
    /// those to [evaluate](Candidates::with). That of `played` comes [later](Candidates::with_played).
    pub(crate) fn searched(
        policy: &Policy,
        searched: &Searched,
        played: Option<Move>,
    ) -> (Candidates, Vec<Move>) {
        let best_chance = winning_chance(searched.score);
        let mut moves: Vec<(Move, f64)> = searched.best.map(|best| (best, best_chance)).into_iter().collect();
        moves.extend(searched.second.map(|(m, score)| (m, winning_chance(score))));
        let (mut covered, mut unknown) = (0.0, Vec::new());
        for candidate in policy.candidates().iter().take(MOST_CANDIDATES) {
            if covered >= COVERED {
                break;
            }
            covered += candidate.probability;
            if Some(candidate.mv) != played && !moves.iter().any(|(known, _)| *known == candidate.mv) {
                unknown.push(candidate.mv);
            }
        }
        (Candidates { best_chance, moves }, unknown)
    }

    /// Adds a move and the mover's winning chance after it.
    #[must_use]
    pub(crate) fn with(mut self, m: Move, chance: f64) -> Candidates {
        self.moves.push((m, chance));
        self
    }

    /// Adds the move played.
    #[must_use]
    pub(crate) fn with_played(self, played: Move, chance: f64) -> Candidates {
        if self.moves.iter().any(|(known, _)| *known == played) { self } else { self.with(played, chance) }
    }

    fn loss(&self, chance: f64) -> f64 {
        (self.best_chance - chance).max(0.0)
    }

    /// What people of a rating lose who choose by this policy.
    pub(crate) fn peers(&self, policy: &Policy, rating: Option<Elo>) -> Peers {
        let (loss, share) = self.expected(policy);
        // Who has less cannot lose as much.
        let errs = if self.best_chance < MISTAKE {
            0.0
        } else {
            ErrorCalibration::BUILT_IN.probability(share, rating)
        };
        Peers { loss, errs }
    }

    /// The expected loss, and the share of moves that are errors by the searches alone.
    fn expected(&self, policy: &Policy) -> (f64, f64) {
        let (mut loss, mut errs, mut rest) = (0.0, 0.0, 1.0);
        for (m, chance) in &self.moves {
            let (share, lost) = (f64::from(policy.probability(*m)), self.loss(*chance));
            rest -= share;
            loss += share * lost;
            if lost >= MISTAKE {
                errs += share;
            }
        }
        let rest = rest.max(0.0);
        (loss + rest * REST_LOSS * self.best_chance, (errs + rest * REST_ERRS).clamp(0.0, 1.0))
    }

    /// The share of people who find a good move: one that loses less than an inaccuracy.
    fn found(&self, policy: &Policy) -> f64 {
        let good = self.moves.iter().filter(|(_, chance)| self.loss(*chance) < INACCURACY);
        good.map(|(m, _)| f64::from(policy.probability(*m))).sum()
    }

    /// The rating from which at least half of the people find a good move, by predictions at [`TOLD_RATINGS`].
    pub(crate) fn found_from(&self, by_rating: &[Evaluation]) -> Option<u16> {
        let found =
            by_rating.iter().map(|said| said.policy.as_ref().map_or(0.0, |policy| self.found(policy)));
        half_from(&found.collect::<Vec<f64>>())
    }
}

/// Logistic calibration of the probability of an error. A move is an error or not by a short search, which a better judge
/// often sees otherwise, so that the plain share of errors is too sure of itself.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ErrorCalibration {
    /// Coefficients of the [terms](ErrorCalibration::terms).
    pub coefficients: [f64; 3],
}

impl ErrorCalibration {
    /// Fitted to the bundled network by `tabia eval blunders --fit`.
    pub const BUILT_IN: ErrorCalibration = ErrorCalibration { coefficients: [-1.01, 0.56, -0.29] };

    /// The terms of the log-odds: 1, the log-odds of the share of errors, and the rating, in units of 500 from 1500; an unknown one
    /// is 1500.
    pub fn terms(share: f64, rating: Option<Elo>) -> [f64; 3] {
        let share = share.clamp(0.0, 1.0);
        let log_odds = ((share + 0.01) / (1.01 - share)).ln();
        let rating =
            rating.map_or(0.0, |Elo(rating)| ((f64::from(rating) - 1500.0) / 500.0).clamp(-2.0, 2.5));
        [1.0, log_odds, rating]
    }

    /// The probability of an error, where this share of people's moves are errors by the searches alone.
    pub fn probability(&self, share: f64, rating: Option<Elo>) -> f64 {
        let terms = ErrorCalibration::terms(share, rating);
        let log_odds: f64 = self.coefficients.iter().zip(terms).map(|(of, term)| of * term).sum();
        1.0 / (1.0 + (-log_odds).exp())
    }
}

/// How hard a position is for people of a rating.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Difficulty {
    /// The engine's evaluation.
    pub evaluation: WhiteScore,
    /// The mover's winning chance by the engine.
    pub win: f64,
    /// The mover's expected score by the human network, from 0 to 1, if it predicts results: a win counts 1, a draw a half. It
    /// is that of a person of the rating who plays on against the opponent of the game; without one, against a person of the
    /// same rating.
    pub expected_score: Option<f32>,
    /// What people of the rating lose.
    pub peers: Peers,
    /// The rating from which most people find a good move; 600 if all do, `None` if nobody does.
    pub found_from: Option<u16>,
    /// The moves that people of the rating play, and the best, best first.
    pub moves: Vec<ConsideredMove>,
}

/// A move that people consider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConsideredMove {
    /// In UCI notation.
    pub uci: String,
    /// In algebraic notation.
    pub san: String,
    /// The mover's winning chance after it.
    pub win: f64,
    /// The winning chance it loses.
    pub loss: f64,
    /// The probability that a person of the rating plays it.
    pub probability: f32,
    /// The rating from which most people play it; `None` if nobody does.
    pub found_from: Option<u16>,
}

/// What is predicted of people of a rating in a position, and from what.
#[derive(Clone, Debug, PartialEq)]
pub struct PeerPrediction {
    /// What they lose.
    pub peers: Peers,
    /// The share of their moves that are errors by the searches alone, before calibration.
    pub share: f64,
    /// The moves that were evaluated.
    pub considered: Vec<Move>,
}

/// A position whose difficulty is being computed, one search at a time.
pub struct DifficultyInProgress {
    history: History,
    repetitions: Repetitions,
    rating: Option<Elo>,
    limits: Limits,
    candidate_limits: Limits,
    /// Once the position itself was searched.
    searched: Option<SearchedPosition>,
}

struct SearchedPosition {
    score: ForMover<Score>,
    said: Evaluation,
    candidates: Candidates,
    coming: VecDeque<Move>,
}

impl DifficultyInProgress {
    /// The current position of a game, for people of a rating; without one, of the mover's rating in the game. `limits` are those
    /// of the position's search, `candidate_limits` those after each move that people play.
    pub fn new(
        history: History,
        rating: Option<Elo>,
        limits: Limits,
        candidate_limits: Limits,
    ) -> DifficultyInProgress {
        DifficultyInProgress {
            repetitions: Repetitions::from_start(history.current()),
            history,
            rating,
            limits: Limits { lines: 2, ..limits },
            candidate_limits: Limits { lines: 1, ..candidate_limits },
            searched: None,
        }
    }

    /// The rating that moves are judged at.
    fn rating(&self) -> Option<Elo> {
        self.rating.or(self.history.situation().mover.rating)
    }
}

impl Reviewer {
    /// How hard the current position of a game is for people of a rating; without one, of the mover's rating in the game.
    /// `None` if the game is over.
    ///
    /// # Errors
    /// If the engine or the network fails.
    pub fn difficulty(
        &mut self,
        history: &History,
        rating: Option<Elo>,
        limits: &Limits,
        clock: StartClock<'_>,
    ) -> Result<Option<Difficulty>, PlayerError> {
        let mut position = DifficultyInProgress::new(history.clone(), rating, limits.clone(), halved(limits));
        loop {
            if let ControlFlow::Break(found) = self.step_difficulty(&mut position, clock)? {
                return Ok(found);
            }
        }
    }

    /// One search more; breaks with the difficulty, or with `None` if the game is over.
    ///
    /// # Errors
    /// If the engine or the network fails.
    pub fn step_difficulty(
        &mut self,
        position: &mut DifficultyInProgress,
        clock: StartClock<'_>,
    ) -> Result<ControlFlow<Option<Difficulty>>, PlayerError> {
        if !self.search_next(position, clock)? {
            return Ok(ControlFlow::Continue(()));
        }
        let Some(SearchedPosition { score, said, candidates, .. }) = &position.searched else {
            return Ok(ControlFlow::Break(None));
        };
        let Some(policy) = &said.policy else { return Ok(ControlFlow::Break(None)) };
        let by_rating = match self.human.takes_ratings() {
            true => self.human.evaluate(&at_ratings(&position.history.situation()))?,
            false => Vec::new(),
        };
        Ok(ControlFlow::Break(Some(Difficulty {
            evaluation: score.for_white(position.history.current().turn()).into(),
            win: candidates.best_chance,
            expected_score: said.wdl.map(Wdl::expected),
            peers: candidates.peers(policy, position.rating()),
            found_from: candidates.found_from(&by_rating),
            moves: candidates.considered(position.history.current(), policy, &by_rating),
        })))
    }

    /// What people of a rating lose in the current position of a game, as in [`Reviewer::difficulty`].
    ///
    /// # Errors
    /// If the engine or the network fails.
    pub fn peers(
        &mut self,
        history: &History,
        rating: Option<Elo>,
        limits: &Limits,
        clock: StartClock<'_>,
    ) -> Result<Option<PeerPrediction>, PlayerError> {
        let mut position = DifficultyInProgress::new(history.clone(), rating, limits.clone(), halved(limits));
        while !self.search_next(&mut position, clock)? {}
        let rating = position.rating();
        Ok(position.searched.map(|SearchedPosition { said, candidates, .. }| {
            let policy = said.policy.unwrap_or_default();
            let (peers, (_, share)) = (candidates.peers(&policy, rating), candidates.expected(&policy));
            PeerPrediction {
                peers,
                share,
                considered: candidates.moves.into_iter().map(|(m, _)| m).collect(),
            }
        }))
    }

    /// Searches the position, then after one move at a time; returns whether all is known, or the game is over.
    fn search_next(
        &mut self,
        position: &mut DifficultyInProgress,
        clock: StartClock<'_>,
    ) -> Result<bool, PlayerError> {
        let DifficultyInProgress { history, repetitions, rating, limits, candidate_limits, searched } =
            position;
        let Some(known) = searched else {
            let found = self.look(history, repetitions, limits, clock)?;
            if found.best.is_none() {
                return Ok(true);
            }
            let mut told = history.situation();
            told.mover.rating = rating.or(told.mover.rating);
            told.opponent.rating = told.opponent.rating.or(told.mover.rating);
            let said = self.human.evaluate(&[told])?.into_iter().next().unwrap_or_default();
            let nothing = Policy::default();
            let policy = said.policy.as_ref().unwrap_or(&nothing);
            let (candidates, coming) = Candidates::searched(policy, &found, None);
            let is_done = coming.is_empty();
            *searched =
                Some(SearchedPosition { score: found.score, said, candidates, coming: coming.into() });
            return Ok(is_done);
        };
        if let Some(m) = known.coming.pop_front() {
            let (mut history, mut repetitions) = (history.clone(), repetitions.clone());
            history.push(m, None);
            repetitions.push(history.current());
            let chance =
                1.0 - winning_chance(self.look(&history, &repetitions, candidate_limits, clock)?.score);
            known.candidates.moves.push((m, chance));
        }
        Ok(known.coming.is_empty())
    }
}

impl Candidates {
    fn considered(&self, position: &Chess, policy: &Policy, by_rating: &[Evaluation]) -> Vec<ConsideredMove> {
        let mut moves: Vec<ConsideredMove> = self
            .moves
            .iter()
            .map(|(m, chance)| {
                let shares = by_rating
                    .iter()
                    .map(|said| said.policy.as_ref().map_or(0.0, |policy| f64::from(policy.probability(*m))));
                ConsideredMove {
                    uci: uci(position, *m),
                    san: san(position, *m),
                    win: *chance,
                    loss: self.loss(*chance),
                    probability: policy.probability(*m),
                    found_from: half_from(&shares.collect::<Vec<f64>>()),
                }
            })
            .collect();
        moves.sort_by(|one, other| other.win.total_cmp(&one.win));
        moves
    }
}

/// The rating from which a share by [`TOLD_RATINGS`] is at least a half, whatever it is below.
fn half_from(shares: &[f64]) -> Option<u16> {
    let first = shares.iter().rposition(|share| *share < 0.5).map_or(0, |below| below + 1);
    let (above, at) = (*shares.get(first)?, *TOLD_RATINGS.get(first)?);
    let Some(below) = first.checked_sub(1) else { return Some(at) };
    let part = (0.5 - shares[below]) / (above - shares[below]);
    let from = f64::from(TOLD_RATINGS[below]);
    // More digits would mean nothing.
    Some(((from + part * (f64::from(at) - from)) / 50.0).round() as u16 * 50)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calibrated_probabilities_grow_and_avoid_certainty() {
        let at = |share: f64, rating: Option<Elo>| ErrorCalibration::BUILT_IN.probability(share, rating);
        for rating in [None, Some(Elo(400)), Some(Elo(1000)), Some(Elo(1800)), Some(Elo(2800))] {
            let shares = [0.0, 0.1, 0.3, 0.6, 0.9, 1.0].map(|share| at(share, rating));
            assert!(shares.is_sorted_by(|less, more| less < more), "{rating:?}: {shares:?}");
            assert!(shares[0] < 0.1 && shares[5] > 0.6 && shares[5] < 0.95, "{rating:?}: {shares:?}");
        }
        assert_eq!((at(-1e-9, None), at(1.0 + 1e-7, None)), (at(0.0, None), at(1.0, None)));
        assert_eq!(at(0.3, None), at(0.3, Some(Elo(1500))), "an unknown rating is 1500");
    }

    #[test]
    fn who_has_little_to_lose_cannot_err() {
        let candidates = Candidates { best_chance: 0.05, moves: Vec::new() };
        assert_eq!(candidates.peers(&Policy::default(), None).errs, 0.0);
        let level = Candidates { best_chance: 0.5, moves: Vec::new() };
        assert!(level.peers(&Policy::default(), None).errs > 0.0);
    }

    #[test]
    fn the_rating_where_half_find_it_is_interpolated() {
        let rising = [0.0, 0.2, 0.4, 0.6, 0.8, 0.9];
        assert_eq!(half_from(&rising), Some(1700));
        assert_eq!(half_from(&[0.9; 6]), Some(600), "everybody");
        assert_eq!(half_from(&[0.2; 6]), None, "nobody");
        let mut dip = [0.8; 6];
        dip[2] = 0.2;
        assert_eq!(half_from(&dip), Some(1700), "what is found below a dip does not count");
        assert_eq!(half_from(&[]), None);
    }
}
