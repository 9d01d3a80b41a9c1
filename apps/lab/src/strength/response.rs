//! Measured ratings as a smooth function of the aim.

use tabia_arena::statistics::Matrix;

/// Prior standard deviation of the measured rating around the aim, in Elo.
const PRIOR_DEVIATION: f64 = 150.0;
/// Length scale of the kernel, in Elo.
const LENGTH_SCALE: f64 = 300.0;
/// Noise of a trial besides that of its games.
const TRIAL_NOISE: f64 = 15.0;

/// The range and step of aims.
const LOWEST_AIM: u16 = 400;
const HIGHEST_AIM: u16 = 3000;
const STEP: usize = 2;

/// Strength settings that were played.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Trial {
    /// Their aim.
    pub(super) aim: f32,
    /// The measured rating.
    pub(super) shown: f64,
    /// Its standard deviation.
    pub(super) deviation: f64,
}

/// A Gaussian process through all trials, with the identity as prior mean.
pub(super) struct Response {
    trials: Vec<Trial>,
    /// The inverse covariance of the trials.
    precision: Matrix,
    /// The weight of each trial.
    weights: Vec<f64>,
}

impl Response {
    pub(super) fn of(trials: Vec<Trial>) -> Response {
        let mut covariance = Matrix::zero(trials.len());
        for (row, trial) in trials.iter().enumerate() {
            for (column, other) in trials.iter().enumerate() {
                *covariance.cell(row, column) = near(trial.aim.into(), other);
            }
            *covariance.cell(row, row) += trial.deviation * trial.deviation + TRIAL_NOISE * TRIAL_NOISE;
        }
        let precision = covariance.inverse();
        let gaps: Vec<f64> = trials.iter().map(|trial| trial.shown - f64::from(trial.aim)).collect();
        let weights = precision.times(&gaps);
        Response { trials, precision, weights }
    }

    /// The predicted rating of an aim.
    fn shown(&self, aim: f64) -> f64 {
        let bend = self.trials.iter().zip(&self.weights).map(|(trial, weight)| weight * near(aim, trial));
        aim + bend.sum::<f64>()
    }

    /// The standard deviation of the prediction.
    pub(super) fn deviation(&self, aim: f32) -> f64 {
        let near: Vec<f64> = self.trials.iter().map(|trial| near(aim.into(), trial)).collect();
        let known: f64 =
            self.precision.times(&near).iter().zip(&near).map(|(weight, near)| weight * near).sum();
        (PRIOR_DEVIATION * PRIOR_DEVIATION - known).max(0.0).sqrt()
    }

    /// The lowest aim predicted to give a rating; monotonic.
    pub(super) fn aim_for(&self, asked: u16) -> f32 {
        let mut aims = (LOWEST_AIM..=HIGHEST_AIM).step_by(STEP).map(f64::from);
        aims.find(|aim| self.shown(*aim) >= asked.into()).unwrap_or(HIGHEST_AIM.into()) as f32
    }
}

/// The kernel.
fn near(aim: f64, trial: &Trial) -> f64 {
    let apart = (aim - f64::from(trial.aim)) / LENGTH_SCALE;
    PRIOR_DEVIATION * PRIOR_DEVIATION * (-0.5 * apart * apart).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(aim: f32, shown: f64, deviation: f64) -> Trial {
        Trial { aim, shown, deviation }
    }

    #[test]
    fn without_trials_the_aim_is_the_rating() {
        let response = Response::of(Vec::new());
        assert_eq!(response.aim_for(1400), 1400.0);
        assert!((response.deviation(1400.0) - PRIOR_DEVIATION).abs() < 1e-9);
    }

    #[test]
    fn precise_trials_move_the_aim_more() {
        let sure = Response::of(vec![trial(1400.0, 1500.0, 10.0)]);
        assert!((1300.0..1325.0).contains(&sure.aim_for(1400)), "{}", sure.aim_for(1400));
        let unsure = Response::of(vec![trial(1400.0, 1500.0, 300.0)]);
        assert!((1370.0..1400.0).contains(&unsure.aim_for(1400)), "{}", unsure.aim_for(1400));
        assert!(sure.deviation(1400.0) < 30.0 && unsure.deviation(1400.0) > 100.0);
        assert!((sure.aim_for(2400) - 2400.0).abs() <= 5.0, "far away the prior holds");
    }

    #[test]
    fn fitting_converges_and_stays_monotonic() {
        // Too strong below, too weak above, and wavy.
        let truth =
            |aim: f32| 1500.0 + 0.75 * (f64::from(aim) - 1500.0) + 60.0 * (f64::from(aim) / 250.0).sin();
        let asked: Vec<u16> = (5..=12).map(|n| 200 * n).collect();
        let mut aims: Vec<f32> = asked.iter().map(|&asked| asked.into()).collect();
        let mut trials = Vec::new();
        for round in 0..3 {
            // Alternating noise.
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
