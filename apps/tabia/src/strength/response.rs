//! What dials come to: the ratings shown, as one smooth curve over the ratings aimed at.

use tabia_arena::statistics::Matrix;

/// How far the curve is thought to be from what was aimed at before anything is known, in Elo.
const ASTRAY: f64 = 150.0;
/// How far apart two aims are that have little to do with each other.
const REACH: f64 = 300.0;
/// What a single trial may be off the curve besides the chance in its games.
const RAGGED: f64 = 15.0;

/// The aims there are, and how fine they are told apart.
const LOWEST_AIM: u16 = 400;
const HIGHEST_AIM: u16 = 3000;
const STEP: usize = 2;

/// StrengthSettings for one rating that were played.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Trial {
    /// The rating that the dials were to show.
    pub(super) aim: f32,
    /// What they showed.
    pub(super) shown: f64,
    /// Its standard deviation.
    pub(super) deviation: f64,
}

/// The curve through all trials (a Gaussian process around "shown is what was aimed at"). A trial counts as much as its
/// games make it sure, and tells something of its neighbours; where there is none, nothing is changed.
pub(super) struct Response {
    trials: Vec<Trial>,
    /// The covariance of what the trials showed, inverted.
    precision: Matrix,
    /// How much each trial bends the curve.
    weights: Vec<f64>,
}

impl Response {
    pub(super) fn of(trials: Vec<Trial>) -> Response {
        let mut covariance = Matrix::zero(trials.len());
        for (row, trial) in trials.iter().enumerate() {
            for (column, other) in trials.iter().enumerate() {
                *covariance.cell(row, column) = near(trial.aim.into(), other);
            }
            *covariance.cell(row, row) += trial.deviation * trial.deviation + RAGGED * RAGGED;
        }
        let precision = covariance.inverse();
        let gaps: Vec<f64> = trials.iter().map(|trial| trial.shown - f64::from(trial.aim)).collect();
        let weights = precision.times(&gaps);
        Response { trials, precision, weights }
    }

    /// The rating that dials aimed at `aim` show.
    fn shown(&self, aim: f64) -> f64 {
        let bend = self.trials.iter().zip(&self.weights).map(|(trial, weight)| weight * near(aim, trial));
        aim + bend.sum::<f64>()
    }

    /// How sure that is: a standard deviation.
    pub(super) fn deviation(&self, aim: f32) -> f64 {
        let near: Vec<f64> = self.trials.iter().map(|trial| near(aim.into(), trial)).collect();
        let known: f64 =
            self.precision.times(&near).iter().zip(&near).map(|(weight, near)| weight * near).sum();
        (ASTRAY * ASTRAY - known).max(0.0).sqrt()
    }

    /// The lowest aim that shows a rating: never lower for a higher one.
    pub(super) fn aim_for(&self, asked: u16) -> f32 {
        let mut aims = (LOWEST_AIM..=HIGHEST_AIM).step_by(STEP).map(f64::from);
        aims.find(|aim| self.shown(*aim) >= asked.into()).unwrap_or(HIGHEST_AIM.into()) as f32
    }
}

/// How much two places on the curve have in common.
fn near(aim: f64, trial: &Trial) -> f64 {
    let apart = (aim - f64::from(trial.aim)) / REACH;
    ASTRAY * ASTRAY * (-0.5 * apart * apart).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(aim: f32, shown: f64, deviation: f64) -> Trial {
        Trial { aim, shown, deviation }
    }

    #[test]
    fn without_trials_everybody_aims_at_what_is_asked_for() {
        let response = Response::of(Vec::new());
        assert_eq!(response.aim_for(1400), 1400.0);
        assert!((response.deviation(1400.0) - ASTRAY).abs() < 1e-9);
    }

    #[test]
    fn a_sure_trial_moves_the_aim_nearly_all_the_way_and_an_unsure_one_hardly() {
        let sure = Response::of(vec![trial(1400.0, 1500.0, 10.0)]);
        assert!((1300.0..1325.0).contains(&sure.aim_for(1400)), "{}", sure.aim_for(1400));
        let unsure = Response::of(vec![trial(1400.0, 1500.0, 300.0)]);
        assert!((1370.0..1400.0).contains(&unsure.aim_for(1400)), "{}", unsure.aim_for(1400));
        assert!(sure.deviation(1400.0) < 30.0 && unsure.deviation(1400.0) > 100.0);
        assert!((sure.aim_for(2400) - 2400.0).abs() <= 5.0, "far away nothing is known");
    }

    #[test]
    fn aims_close_the_gaps_of_a_crooked_player_and_never_fall() {
        // Too strong below, too weak above, and half a step too steep.
        let truth =
            |aim: f32| 1500.0 + 0.75 * (f64::from(aim) - 1500.0) + 60.0 * (f64::from(aim) / 250.0).sin();
        let asked: Vec<u16> = (5..=12).map(|n| 200 * n).collect();
        let mut aims: Vec<f32> = asked.iter().map(|&asked| asked.into()).collect();
        let mut trials = Vec::new();
        for round in 0..3 {
            // Chance: one up, one down.
            let chance = |place: usize| if (place + round).is_multiple_of(2) { 25.0 } else { -25.0 };
            let tried = aims.iter().enumerate();
            trials.extend(tried.map(|(place, &aim)| trial(aim, truth(aim) + chance(place), 30.0)));
            let response = Response::of(trials.clone());
            aims = asked.iter().map(|&asked| response.aim_for(asked)).collect();
        }
        assert!(aims.is_sorted());
        let gap = |(asked, aim): (&u16, &f32)| (truth(*aim) - f64::from(*asked)).abs();
        let gaps: Vec<f64> = asked.iter().zip(&aims).map(gap).collect();
        assert!(gaps.iter().sum::<f64>() / 8.0 < 25.0, "{gaps:?}");
    }
}
