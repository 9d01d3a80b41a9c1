//! Simultaneous perturbation stochastic approximation, as in fishtest.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use shakmaty::{ByColor, Color};
use tabia_arena::statistics::Points;
use tabia_arena::{GameResult, Opening, Openings, Rules, Stop, StopRequest, WallTimer, play_game};
use tabia_report::Progress;
use tabia_search::Parameters;

use super::engine::Engines;
use super::state::Tuning;

/// How far a parameter is perturbed at the end, as a share of its range.
const LAST_PERTURBATION: f64 = 0.05;
/// How far a won game moves a parameter at the end, as a share of its perturbation.
const LAST_RATE: f64 = 0.02;
/// Spall's exponents of rate and perturbation, and the share of the iterations in which the rate hardly falls.
const RATE_EXPONENT: f64 = 0.602;
const PERTURBATION_EXPONENT: f64 = 0.101;
const STABLE: f64 = 0.1;

/// Pairs of games that each job plays before the parameters move.
const PAIRS_A_JOB: usize = 2;

/// A run of SPSA.
pub(super) struct Spsa<'a> {
    pub(super) games: u32,
    pub(super) jobs: usize,
    /// The parameters that are not tuned.
    pub(super) start: Parameters,
    pub(super) openings: &'a Openings,
    pub(super) rules: Rules,
    pub(super) engines: Engines,
    pub(super) stop: &'a Stop,
    pub(super) out: &'a Path,
}

/// One iteration: a pair of games between opposite perturbations.
struct Trial {
    /// Which opening.
    opening: usize,
    /// The direction of each parameter.
    signs: Vec<f64>,
    /// Perturbation and rate, as shares of a parameter's range.
    perturbation: f64,
    rate: f64,
}

impl Spsa<'_> {
    pub(super) fn run(&self, tuning: &mut Tuning) -> Result<()> {
        let progress = Progress::of(self.games.into(), "games");
        progress.skip(tuning.games.into());
        while tuning.games < self.games && self.stop.requested() == StopRequest::Continue {
            let left = (self.games - tuning.games).div_ceil(2) as usize;
            let first = tuning.games / 2;
            let count = (self.jobs * PAIRS_A_JOB).min(left);
            let trials: Vec<Trial> = (first..).take(count).map(|number| self.trial(number, tuning)).collect();
            let Some(results) = self.play(&trials, tuning)? else { break };
            for (trial, result) in trials.iter().zip(results) {
                tuning.step(|number| trial.signs[number] * trial.rate * result);
            }
            tuning.games += 2 * u32::try_from(count).unwrap_or(u32::MAX);
            tuning.save(self.out)?;
            progress.set(tuning.games.into(), "");
        }
        progress.finish();
        Ok(())
    }

    /// The iteration of this number: its randomness depends on nothing else.
    fn trial(&self, number: u32, tuning: &Tuning) -> Trial {
        let mut random = fastrand::Rng::with_seed(
            tuning.settings.seed ^ u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15),
        );
        let signs = tuning.places().map(|_| if random.bool() { 1.0 } else { -1.0 }).collect();
        let (perturbation, rate) = schedule(number, self.games.div_ceil(2));
        Trial { opening: number as usize % self.openings.list().len(), signs, perturbation, rate }
    }

    /// The points of the upward perturbation less those of the other, in each pair; `None` if stopped.
    fn play(&self, trials: &[Trial], tuning: &Tuning) -> Result<Option<Vec<f64>>> {
        let next = AtomicUsize::new(0);
        let results: Mutex<Vec<(usize, f64)>> = Mutex::default();
        let work = || -> Result<()> {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(trial) = trials.get(number) else { return Ok(()) };
                let Some(result) = self.play_pair(trial, tuning)? else { return Ok(()) };
                results.lock().unwrap_or_else(PoisonError::into_inner).push((number, result));
            }
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..self.jobs.min(trials.len())).map(|_| scope.spawn(work)).collect();
            workers.into_iter().try_for_each(|worker| match worker.join() {
                Ok(done) => done,
                Err(_) => bail!("a game crashed"),
            })
        })?;
        let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        if results.len() < trials.len() {
            return Ok(None);
        }
        results.sort_by_key(|(number, _)| *number);
        Ok(Some(results.into_iter().map(|(_, result)| result).collect()))
    }

    fn play_pair(&self, trial: &Trial, tuning: &Tuning) -> Result<Option<f64>> {
        let player = |direction: f64| {
            let by = |number: usize| direction * trial.signs[number] * trial.perturbation;
            self.engines.build("engine", tuning.moved(&self.start, by))
        };
        let (mut up, mut down) = (player(1.0)?, player(-1.0)?);
        let opening: &Opening = &self.openings.list()[trial.opening];
        let timer = WallTimer::new();
        let mut result = 0.0;
        for color in [Color::White, Color::Black] {
            let players = match color {
                Color::White => ByColor { white: up.as_mut(), black: down.as_mut() },
                Color::Black => ByColor { white: down.as_mut(), black: up.as_mut() },
            };
            let Some(played) = play_game(players, opening, &self.rules, &timer, self.stop) else {
                return Ok(None);
            };
            let ended =
                GameResult::from_outcome(played.outcome.result()).context("a game without a result")?;
            result += match ended.points(color) {
                Points::Win => 1.0,
                Points::Draw => 0.0,
                Points::Loss => -1.0,
            };
        }
        Ok(Some(result))
    }
}

/// The perturbation and the rate of an iteration, as shares of a parameter's range.
fn schedule(number: u32, iterations: u32) -> (f64, f64) {
    let (at, last) = (f64::from(number) + 1.0, f64::from(iterations.max(1)));
    let stable = STABLE * last;
    let perturbation = LAST_PERTURBATION * (last / at).powf(PERTURBATION_EXPONENT);
    let rate = LAST_RATE * LAST_PERTURBATION * ((last + stable) / (at + stable)).powf(RATE_EXPONENT);
    (perturbation, rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn perturbations_and_rates_fall_to_their_last_values() {
        let (first, last) = (schedule(0, 10_000), schedule(9_999, 10_000));
        assert!(
            (last.0 - LAST_PERTURBATION).abs() < 1e-9
                && (last.1 - LAST_RATE * LAST_PERTURBATION).abs() < 1e-9
        );
        assert!(first.0 > 2.0 * last.0 && first.1 > 3.0 * last.1);
    }
}
