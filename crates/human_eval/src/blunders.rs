//! Predicted errors of people against the judgement of a strong engine.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use shakmaty::{ByColor, Position as _};
use tabia_encoding::{Elo, ForMover, PlayerInfo, Score};
use tabia_game::{History, Outcome, Repetitions, Status, status};
use tabia_players::{Limits, NoControl, Player, PlayerError, winning_chance};
use tabia_practice::{ErrorCalibration, PeerPrediction, Reviewer};

use crate::band::Band;
use crate::calibration::CalibrationTally;
use crate::{Calibration, ClusteredMean, Estimate, EvalError, Grouping, SelectedGame, Workers};

/// The loss from which a move is an error.
const ERROR: f64 = 0.1;

/// Positions this decided have nothing to lose, or nothing to win.
const DECIDED: f64 = 0.03;

/// Who predicts and who judges, and on what.
pub struct BlunderEval<'a> {
    /// First ply used.
    pub first_ply: u32,
    /// Positions of a game.
    pub per_game: usize,
    /// Limits of the engine that predicts.
    pub limits: Limits,
    /// Limits of the engine that judges.
    pub judge_limits: Limits,
    /// Builds the predictor and the judge, one pair for each thread.
    pub build: &'a (dyn Fn() -> Result<(Reviewer, Box<dyn Player>), String> + Sync),
}

/// A position of a game with the prediction and the judgement of the move played.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct JudgedMove {
    /// The mover's rating.
    pub rating: u16,
    /// The share of errors by the searches alone, before calibration.
    pub share: f64,
    /// The predicted probability of an error.
    pub predicted: f64,
    /// The predicted loss.
    pub predicted_loss: f64,
    /// What the move lost, by the judge.
    pub loss: f64,
    /// The mover's winning chance before the move, by the judge.
    pub win: f64,
    /// Whether the move is among those whose value was predicted.
    pub considered: bool,
}

/// Calibration and discrimination of predicted errors.
#[derive(Clone, Debug, Serialize)]
pub struct BlunderReport {
    /// All positions, then by rating in bands of 200.
    pub groups: Vec<BlunderGroup>,
    /// Moves that the prediction did not look at.
    pub rest: RestMoves,
}

/// The figures of one band.
#[derive(Clone, Debug, Serialize)]
pub struct BlunderGroup {
    /// The band.
    pub band: String,
    /// Number of positions.
    pub positions: u64,
    /// Share of errors.
    pub errors: Estimate,
    /// Mean predicted probability.
    pub predicted: f64,
    /// Area under the ROC curve; `None` without errors, or with nothing else.
    pub auc: Option<f64>,
    /// Calibration of the probability.
    pub calibration: Calibration,
    /// Mean loss.
    pub loss: Estimate,
    /// Mean predicted loss.
    pub predicted_loss: f64,
}

/// Moves outside the candidates of a prediction.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct RestMoves {
    /// Their share of all moves.
    pub share: f64,
    /// What they lose, as a share of the winning chance before.
    pub loss: f64,
    /// How many are errors.
    pub errors: f64,
}

impl BlunderEval<'_> {
    /// Predicts and judges moves of each game.
    ///
    /// # Errors
    /// If a game is invalid, or an engine or network fails.
    pub fn judge(
        &self,
        games: &[SelectedGame],
        workers: &Workers<'_>,
    ) -> Result<Vec<Vec<JudgedMove>>, EvalError> {
        let idle = Mutex::new(Vec::new());
        workers.map(games, |game| {
            let known = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let failed = |error: String| EvalError::Player { name: "engine".to_owned(), error };
            let (mut reviewer, mut judge) = known.map_or_else(|| (self.build)().map_err(failed), Ok)?;
            let judged = self.judge_game(game, &mut reviewer, judge.as_mut());
            idle.lock().unwrap_or_else(PoisonError::into_inner).push((reviewer, judge));
            (workers.on_progress)(1);
            judged
        })
    }

    fn judge_game(
        &self,
        game: &SelectedGame,
        reviewer: &mut Reviewer,
        judge: &mut dyn Player,
    ) -> Result<Vec<JudgedMove>, EvalError> {
        let record = game.parse()?.decode().map_err(|error| game.invalid(error))?;
        let head = record.head;
        // What was searched before must not change the figures.
        reviewer.new_game();
        judge.new_game();
        let time_left = head.pace.map(|pace| pace.base);
        let seats = ByColor::new_with(|color| PlayerInfo { rating: *head.ratings.get(color), time_left });
        let mut history = History::new(record.start.clone(), seats).under(head.pool, head.pace);
        let mut repetitions = Repetitions::from_start(&record.start);
        let failed =
            |error: PlayerError| EvalError::Player { name: "engine".to_owned(), error: error.to_string() };
        // Spread over the game, from a start that depends on its key.
        let first = self.first_ply as usize;
        let plies = record.plies.len().saturating_sub(first);
        let step = (plies / self.per_game.max(1)).max(1);
        let offset = usize::try_from(game.key.0 % step as u64).unwrap_or(0);
        let mut judged = Vec::new();
        for (number, ply) in record.plies.iter().enumerate() {
            let is_chosen =
                number >= first && (number - first) % step == offset && judged.len() < self.per_game;
            let rating = history.situation().mover.rating;
            if let (true, Some(rating)) = (is_chosen, rating)
                && history.current().legal_moves().len() > 1
            {
                let win = winning_chance(
                    judged_score(judge, &history, &repetitions, &self.judge_limits).map_err(failed)?,
                );
                if (DECIDED..=1.0 - DECIDED).contains(&win)
                    && let Some(PeerPrediction { peers, share, considered }) = reviewer
                        .peers(&history, None, &self.limits, &|| Box::new(NoControl))
                        .map_err(failed)?
                {
                    let (mut after, mut seen) = (history.clone(), repetitions.clone());
                    after.push(ply.played, ply.clock);
                    seen.push(after.current());
                    let left = 1.0
                        - winning_chance(
                            judged_score(judge, &after, &seen, &self.judge_limits).map_err(failed)?,
                        );
                    judged.push(JudgedMove {
                        rating: rating.0,
                        share,
                        predicted: peers.errs,
                        predicted_loss: peers.loss,
                        loss: (win - left).max(0.0),
                        win,
                        considered: considered.contains(&ply.played),
                    });
                }
            }
            history.push(ply.played, ply.clock);
            repetitions.push(history.current());
        }
        Ok(judged)
    }
}

/// The judge's score of a position, by its first line; of a game that is over, by the rules.
///
/// # Errors
/// If the judge fails.
pub fn judged_score(
    judge: &mut dyn Player,
    history: &History,
    repetitions: &Repetitions,
    limits: &Limits,
) -> Result<ForMover<Score>, PlayerError> {
    const MATED: std::num::NonZeroI32 = std::num::NonZeroI32::new(-1).expect("not zero");
    if let Status::Over(outcome) = status(history.current(), repetitions) {
        return Ok(ForMover(match outcome {
            Outcome::Win { .. } => Score::Mate(MATED),
            Outcome::Draw(_) | Outcome::Abandoned => Score::Centipawns(0),
        }));
    }
    let choice = judge.choose(history, limits, &NoControl)?;
    Ok(choice.lines.first().and_then(|line| line.score).unwrap_or(ForMover(Score::Centipawns(0))))
}

impl JudgedMove {
    /// The same with the probability of another calibration.
    #[must_use]
    pub fn calibrated(self, by: &ErrorCalibration) -> JudgedMove {
        JudgedMove { predicted: by.probability(self.share, Some(Elo(self.rating))), ..self }
    }
}

/// The calibration under which the errors are likeliest: logistic regression by Newton's method. `None` without errors, or with
/// nothing else.
pub fn fit_errors(games: &[Vec<JudgedMove>]) -> Option<ErrorCalibration> {
    const STEPS: usize = 25;
    // As if a few more moves had said that the coefficients are 0: a group without errors has finite ones.
    const RIDGE: f64 = 0.5;
    let moves: Vec<&JudgedMove> = games.iter().flatten().collect();
    let errors = moves.iter().filter(|m| m.loss >= ERROR).count();
    if errors == 0 || errors == moves.len() {
        return None;
    }
    let mut coefficients = [0.0; 3];
    for _ in 0..STEPS {
        let now = ErrorCalibration { coefficients };
        let (mut gradient, mut curvature) = (coefficients.map(|of| -RIDGE * of), [[0.0; 3]; 3]);
        for m in &moves {
            let rating = Some(Elo(m.rating));
            let (terms, chance) =
                (ErrorCalibration::terms(m.share, rating), now.probability(m.share, rating));
            let missing = f64::from(u8::from(m.loss >= ERROR)) - chance;
            for (row, term) in terms.into_iter().enumerate() {
                gradient[row] += missing * term;
                for (column, other) in terms.into_iter().enumerate() {
                    curvature[row][column] += chance * (1.0 - chance) * term * other;
                }
            }
        }
        (0..3).for_each(|row| curvature[row][row] += RIDGE);
        let step = solved(curvature, gradient);
        (0..3).for_each(|row| coefficients[row] += step[row]);
        if step.iter().all(|part| part.abs() < 1e-9) {
            break;
        }
    }
    Some(ErrorCalibration { coefficients })
}

/// The solution of linear equations with a positive definite matrix, by elimination.
fn solved(mut matrix: [[f64; 3]; 3], mut right: [f64; 3]) -> [f64; 3] {
    for pivot in 0..3 {
        for row in pivot + 1..3 {
            let (above, factor) = (matrix[pivot], matrix[row][pivot] / matrix[pivot][pivot]);
            matrix[row].iter_mut().zip(above).for_each(|(value, other)| *value -= factor * other);
            right[row] -= factor * right[pivot];
        }
    }
    for row in (0..3).rev() {
        let known: f64 = (row + 1..3).map(|column| matrix[row][column] * right[column]).sum();
        right[row] = (right[row] - known) / matrix[row][row];
    }
    right
}

impl BlunderReport {
    /// The figures of judged moves, by game.
    pub fn new(games: &[Vec<JudgedMove>]) -> BlunderReport {
        let mut bands: BTreeMap<Band, Vec<Vec<JudgedMove>>> = BTreeMap::new();
        for game in games {
            let mut own: BTreeMap<Band, Vec<JudgedMove>> = BTreeMap::new();
            for judged in game {
                own.entry(Band::All).or_default().push(*judged);
                own.entry(Band::of_rating(Elo(judged.rating), Grouping::RATING_BAND))
                    .or_default()
                    .push(*judged);
            }
            for (band, moves) in own {
                bands.entry(band).or_default().push(moves);
            }
        }
        let groups = bands.iter().map(|(band, games)| BlunderGroup::of(*band, games));
        BlunderReport { groups: groups.collect(), rest: RestMoves::of(games) }
    }
}

impl BlunderGroup {
    fn of(band: Band, games: &[Vec<JudgedMove>]) -> BlunderGroup {
        let (mut errors, mut loss) = (ClusteredMean::default(), ClusteredMean::default());
        let mut tally = CalibrationTally::default();
        for moves in games {
            let count = moves.len() as u64;
            errors.add_game(count, moves.iter().filter(|m| m.loss >= ERROR).count() as f64);
            loss.add_game(count, moves.iter().map(|m| m.loss).sum());
            moves.iter().for_each(|m| tally.add(m.predicted as f32, m.loss >= ERROR));
        }
        let all: Vec<&JudgedMove> = games.iter().flatten().collect();
        let mean = |of: fn(&JudgedMove) -> f64| all.iter().map(|m| of(m)).sum::<f64>() / all.len() as f64;
        BlunderGroup {
            band: band.to_string(),
            positions: all.len() as u64,
            errors: errors.proportion(),
            predicted: mean(|m| m.predicted),
            auc: area_under_curve(all.iter().map(|m| (m.predicted, m.loss >= ERROR))),
            calibration: tally.calibration(),
            loss: loss.mean(),
            predicted_loss: mean(|m| m.predicted_loss),
        }
    }
}

impl RestMoves {
    fn of(games: &[Vec<JudgedMove>]) -> RestMoves {
        let all = games.iter().flatten().count() as f64;
        let rest: Vec<&JudgedMove> = games.iter().flatten().filter(|m| !m.considered).collect();
        let count = rest.len() as f64;
        RestMoves {
            share: count / all,
            loss: rest.iter().map(|m| m.loss / m.win).sum::<f64>() / count,
            errors: rest.iter().filter(|m| m.loss >= ERROR).count() as f64 / count,
        }
    }
}

/// The probability that a positive has a higher score than a negative; equal scores count half.
fn area_under_curve(scored: impl Iterator<Item = (f64, bool)>) -> Option<f64> {
    let mut scored: Vec<(f64, bool)> = scored.collect();
    scored.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let (mut below, mut area, mut positives) = (0.0, 0.0, 0.0);
    for equal in scored.chunk_by(|(one, _), (other, _)| one == other) {
        let hits = equal.iter().filter(|(_, is_positive)| *is_positive).count() as f64;
        let misses = equal.len() as f64 - hits;
        area += hits * (below + misses / 2.0);
        below += misses;
        positives += hits;
    }
    (positives > 0.0 && below > 0.0).then(|| area / (positives * below))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_area_under_the_curve_is_that_of_pairs() {
        let area = |scored: &[(f64, bool)]| area_under_curve(scored.iter().copied());
        assert_eq!(area(&[(0.1, false), (0.2, false), (0.8, true)]), Some(1.0));
        assert_eq!(area(&[(0.1, true), (0.8, false)]), Some(0.0));
        assert_eq!(area(&[(0.5, true), (0.5, false), (0.5, false)]), Some(0.5));
        assert_eq!(area(&[(0.1, false), (0.3, true), (0.5, false), (0.7, true)]), Some(0.75));
        assert_eq!((area(&[(0.5, true)]), area(&[])), (None, None));
    }

    #[test]
    fn the_fit_finds_the_calibration_that_made_the_errors() {
        let truth = ErrorCalibration { coefficients: [-0.8, 0.6, -0.3] };
        let mut rng = fastrand::Rng::with_seed(3);
        let mut moved = || {
            let (rating, share) = (rng.u16(600..2600), rng.f64());
            let errs = rng.f64() < truth.probability(share, Some(Elo(rating)));
            let loss = if errs { 0.2 } else { 0.0 };
            JudgedMove {
                rating,
                share,
                predicted: share,
                predicted_loss: 0.0,
                loss,
                win: 0.5,
                considered: true,
            }
        };
        let games: Vec<Vec<JudgedMove>> = (0..4000).map(|_| (0..5).map(|_| moved()).collect()).collect();
        let fitted = fit_errors(&games).unwrap();
        for (found, expected) in fitted.coefficients.iter().zip(truth.coefficients) {
            assert!((found - expected).abs() < 0.08, "{fitted:?}");
        }
        let report = |games: &[Vec<JudgedMove>]| BlunderReport::new(games).groups.swap_remove(0);
        let calibrated: Vec<Vec<JudgedMove>> =
            games.iter().map(|game| game.iter().map(|m| m.calibrated(&fitted)).collect()).collect();
        let (before, after) = (report(&games), report(&calibrated));
        assert!(after.calibration.error < 0.02 && before.calibration.error > 0.1, "{after:?}");
        let none: Vec<Vec<JudgedMove>> =
            games.iter().map(|game| game.iter().map(|m| JudgedMove { loss: 0.0, ..*m }).collect()).collect();
        assert_eq!(fit_errors(&none), None);
    }

    #[test]
    fn figures_are_by_rating_band() {
        let moved = |rating, predicted, loss, considered| JudgedMove {
            rating,
            share: predicted,
            predicted,
            predicted_loss: predicted / 5.0,
            loss,
            win: 0.5,
            considered,
        };
        let games = [
            vec![moved(1210, 0.1, 0.0, true), moved(1390, 0.9, 0.3, false)],
            vec![moved(1850, 0.2, 0.02, true)],
        ];
        let report = BlunderReport::new(&games);
        let bands: Vec<&str> = report.groups.iter().map(|group| group.band.as_str()).collect();
        assert_eq!(bands, ["all", "1200-1399", "1800-1999"]);
        assert_eq!(report.groups[1].auc, Some(1.0));
        assert_eq!(report.groups[0].positions, 3);
        assert!((report.rest.share - 1.0 / 3.0).abs() < 1e-9 && report.rest.errors == 1.0);
        assert!((report.rest.loss - 0.6).abs() < 1e-9);
    }
}
