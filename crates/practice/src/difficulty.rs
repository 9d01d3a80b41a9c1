//! How hard a position is for people of a rating.

use serde::{Deserialize, Serialize};
use shakmaty::{Chess, Move};
use tabia_encoding::Elo;
use tabia_game::{History, Repetitions};
use tabia_model::{Evaluation, Policy, Wdl};
use tabia_players::{Limits, PlayerError, winning_chance};

use crate::mark::{INACCURACY, MISTAKE};
use crate::rating::{TOLD_RATINGS, at_ratings};
use crate::review::{Reviewer, Searched, StartClock, halved, san, uci};

/// The share of people's moves that is evaluated, and the most moves.
const COVERED: f32 = 0.9;
const MOST_CANDIDATES: usize = 6;

/// What the moves that are not evaluated cost on average, as a share of what there is to lose, and how often such a move
/// is an error. Measured by `tabia eval blunders`.
const REST_LOSS: f64 = 0.3;
const REST_ERRS: f64 = 0.45;

/// Logistic calibration of the probability of an error: intercept and slope. A move is an error or not by a short search,
/// which a better judge often sees otherwise, so that the plain sum is too sure of itself. Fitted by the same command.
const CALIBRATION: (f64, f64) = (-0.9, 0.5);

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
    /// The likeliest moves of a policy that together reach 90%, at most six, and the engine's best two. `after` evaluates a
    /// move; that of `played` comes [later](Candidates::with_played).
    pub(crate) fn of(
        policy: &Policy,
        searched: &Searched,
        played: Option<Move>,
        after: &mut dyn FnMut(Move) -> Result<f64, PlayerError>,
    ) -> Result<Candidates, PlayerError> {
        let best_chance = winning_chance(searched.score);
        let mut moves: Vec<(Move, f64)> = searched.best.map(|best| (best, best_chance)).into_iter().collect();
        moves.extend(searched.second.map(|(m, score)| (m, winning_chance(score))));
        let mut covered = 0.0;
        for candidate in policy.candidates().iter().take(MOST_CANDIDATES) {
            if covered >= COVERED {
                break;
            }
            covered += candidate.probability;
            if Some(candidate.mv) != played && !moves.iter().any(|(known, _)| *known == candidate.mv) {
                moves.push((candidate.mv, after(candidate.mv)?));
            }
        }
        Ok(Candidates { best_chance, moves })
    }

    /// Adds the move played.
    #[must_use]
    pub(crate) fn with_played(mut self, played: Move, chance: f64) -> Candidates {
        if !self.moves.iter().any(|(known, _)| *known == played) {
            self.moves.push((played, chance));
        }
        self
    }

    fn loss(&self, chance: f64) -> f64 {
        (self.best_chance - chance).max(0.0)
    }

    /// What people lose who choose by this policy.
    pub(crate) fn peers(&self, policy: &Policy) -> Peers {
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
        // Who has less cannot lose as much.
        let errs = if self.best_chance < MISTAKE { 0.0 } else { calibrated(errs + rest * REST_ERRS) };
        Peers { loss: loss + rest * REST_LOSS * self.best_chance, errs }
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

fn calibrated(share: f64) -> f64 {
    let share = share.clamp(0.0, 1.0);
    let log_odds = ((share + 0.01) / (1.01 - share)).ln();
    1.0 / (1.0 + (-CALIBRATION.0 - CALIBRATION.1 * log_odds).exp())
}

/// How hard a position is for people of a rating.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Difficulty {
    /// The mover's winning chance by the engine.
    pub win: f64,
    /// The expected score of a person of the rating, from 0 to 1, if the network predicts results.
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
        let Some((candidates, said)) = self.candidates(history, rating, limits, clock)? else {
            return Ok(None);
        };
        let Some(policy) = &said.policy else { return Ok(None) };
        let by_rating = self.human.evaluate(&at_ratings(&history.situation()))?;
        Ok(Some(Difficulty {
            win: candidates.best_chance,
            expected_score: said.wdl.map(Wdl::expected),
            peers: candidates.peers(policy),
            found_from: candidates.found_from(&by_rating),
            moves: candidates.considered(history.current(), policy, &by_rating),
        }))
    }

    /// What people of a rating lose in the current position of a game, as in [`Reviewer::difficulty`], and the moves that
    /// were looked at.
    ///
    /// # Errors
    /// If the engine or the network fails.
    pub fn peers(
        &mut self,
        history: &History,
        rating: Option<Elo>,
        limits: &Limits,
        clock: StartClock<'_>,
    ) -> Result<Option<(Peers, Vec<Move>)>, PlayerError> {
        let Some((candidates, said)) = self.candidates(history, rating, limits, clock)? else {
            return Ok(None);
        };
        let peers = candidates.peers(&said.policy.unwrap_or_default());
        Ok(Some((peers, candidates.moves.into_iter().map(|(m, _)| m).collect())))
    }

    fn candidates(
        &mut self,
        history: &History,
        rating: Option<Elo>,
        limits: &Limits,
        clock: StartClock<'_>,
    ) -> Result<Option<(Candidates, Evaluation)>, PlayerError> {
        let repetitions = Repetitions::from_start(history.current());
        let searched = self.look(history, &repetitions, &Limits { lines: 2, ..limits.clone() }, clock)?;
        if searched.best.is_none() {
            return Ok(None);
        }
        let mut told = history.situation();
        told.mover.rating = rating.or(told.mover.rating);
        told.opponent.rating = told.opponent.rating.or(told.mover.rating);
        let said = self.human.evaluate(&[told])?.into_iter().next().unwrap_or_default();
        let limits = Limits { lines: 1, ..halved(limits) };
        let mut after = |m: Move| {
            let (mut history, mut repetitions) = (history.clone(), repetitions.clone());
            history.push(m, None);
            repetitions.push(history.current());
            Ok(1.0 - winning_chance(self.look(&history, &repetitions, &limits, clock)?.score))
        };
        let nothing = Policy::default();
        let policy = said.policy.as_ref().unwrap_or(&nothing);
        let candidates = Candidates::of(policy, &searched, None, &mut after)?;
        Ok(Some((candidates, said)))
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
    Some((from + part * (f64::from(at) - from)).round() as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calibrated_probabilities_grow_and_avoid_certainty() {
        let shares = [0.0, 0.1, 0.3, 0.6, 0.9, 1.0].map(calibrated);
        assert!(shares.is_sorted_by(|less, more| less < more), "{shares:?}");
        assert!(shares[0] < 0.05 && shares[5] > 0.75 && shares[5] < 0.85, "{shares:?}");
        assert_eq!((calibrated(-1e-9), calibrated(1.0 + 1e-7)), (calibrated(0.0), calibrated(1.0)));
    }

    #[test]
    fn who_has_little_to_lose_cannot_err() {
        let candidates = Candidates { best_chance: 0.05, moves: Vec::new() };
        assert_eq!(candidates.peers(&Policy::default()).errs, 0.0);
        let level = Candidates { best_chance: 0.5, moves: Vec::new() };
        assert!(level.peers(&Policy::default()).errs > 0.0);
    }

    #[test]
    fn the_rating_where_half_find_it_is_interpolated() {
        let rising = [0.0, 0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9, 0.9, 0.9, 0.9];
        assert_eq!(half_from(&rising), Some(1500));
        assert_eq!(half_from(&[0.9; 12]), Some(600), "everybody");
        assert_eq!(half_from(&[0.2; 12]), None, "nobody");
        let mut dip = [0.8; 12];
        dip[3] = 0.2;
        assert_eq!(half_from(&dip), Some(1300), "what is found below a dip does not count");
        assert_eq!(half_from(&[]), None);
    }
}
