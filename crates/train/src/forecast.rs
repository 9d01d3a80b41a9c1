use std::ops::ControlFlow;

use tabia_data::Side;

use crate::checkpoint::CheckpointHead;
use crate::run::EVALUATION_SHARE;
use crate::supply::{Poll, Supply, SupplyError};
use crate::{Backend, BackendError, Examples, RunSettings, StepHyper, TrainError, Watch, Weights};

/// A measurement that took so many seconds is good enough.
const ENOUGH_SECONDS: f64 = 0.5;
/// How much larger the next measurement is where the last was too short.
const GROWTH: usize = 4;
/// Steps measured on a device that makes whole batches at a time.
const MEASURED_STEPS: usize = 4;
/// Moves no weight.
const STANDSTILL: StepHyper =
    StepHyper { lr: 0.0, beta1: 0.9, beta2: 0.9, eps: 1.0, weight_decay: 0.0, clip: 0.0, ema_decay: 0.9 };

/// Positions a second on some device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Trained on.
    pub training: f64,
    /// Evaluated.
    pub evaluation: f64,
}

/// What a run can be expected to reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// How fast the device is.
    pub rates: Rates,
    /// Seconds until the first bound is reached, intermediate evaluations included.
    pub seconds: f64,
    /// Positions trained on by then.
    pub positions: f64,
    /// As many steps they are; less than one if the time is up before the first.
    pub steps: f64,
    /// Seconds a step takes.
    pub step_seconds: f64,
    /// Positions of one pass over the training data, if known.
    pub epoch: Option<u64>,
}

/// Measures the device on the next batch, which is put back, and says how far the run will come. The state of the backend is
/// the same afterwards. `None` if `poll` broke off.
///
/// # Errors
/// If there are no examples, or the backend fails.
pub fn forecast(
    settings: &RunSettings,
    backend: &mut dyn Backend,
    supply: &mut dyn Supply,
    watch: &dyn Watch,
    resumed: Option<&CheckpointHead>,
) -> Result<Option<Forecast>, TrainError> {
    let earlier = resumed.map_or(0.0, |head| head.seconds);
    let left = || settings.budget.seconds().map(|bound| bound - earlier - watch.seconds());
    let mut poll = || match watch.stopped() || left().is_some_and(|left| left <= 0.0) {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    };
    let examples = match supply.next_polling(&mut poll) {
        Err(SupplyError::Cancelled) => return Ok(None),
        examples => examples?,
    };
    let rates = measure(backend, &examples, &|| watch.seconds(), &mut poll);
    supply.put_back(examples);
    let rates = match rates {
        Err(BackendError::Cancelled) => return Ok(None),
        rates => rates?,
    };
    let plan = Plan {
        seconds: left().map(|left| left.max(0.0)),
        positions: settings
            .budget
            .positions()
            .map(|bound| bound - resumed.map_or(0, |head| head.positions).min(bound)),
        batch: settings.config.data.batch,
        evaluations: (settings.config.evaluation.times.saturating_sub(1))
            .saturating_sub(resumed.map_or(0, |head| head.evaluations)),
        evaluated: match supply.positions(Side::HeldOut) {
            Some(held_out) => held_out.min(settings.config.evaluation.positions as u64),
            None => settings.config.evaluation.positions as u64,
        },
    };
    Ok(Some(plan.at(rates, supply.positions(Side::Training))))
}

/// What is left of a run.
struct Plan {
    seconds: Option<f64>,
    positions: Option<u64>,
    batch: usize,
    /// Evaluations before the final one, and positions of each.
    evaluations: u32,
    evaluated: u64,
}

impl Plan {
    fn at(&self, rates: Rates, epoch: Option<u64>) -> Forecast {
        let all = f64::from(self.evaluations) * self.evaluated as f64 / rates.evaluation;
        let evaluating = self.seconds.map_or(all, |bound| all.min(EVALUATION_SHARE * bound));
        let in_time =
            self.seconds.map_or(f64::INFINITY, |seconds| (seconds - evaluating).max(0.0) * rates.training);
        let positions = self.positions.map_or(in_time, |positions| in_time.min(positions as f64));
        let seconds = positions / rates.training + evaluating;
        Forecast {
            rates,
            seconds: self.seconds.map_or(seconds, |bound| seconds.min(bound)),
            positions,
            steps: positions / self.batch as f64,
            step_seconds: self.batch as f64 / rates.training,
            epoch,
        }
    }
}

/// Positions a second of both kinds of work.
fn measure(
    backend: &mut dyn Backend,
    examples: &Examples,
    seconds: &dyn Fn() -> f64,
    poll: Poll<'_>,
) -> Result<Rates, BackendError> {
    let Some(micro_batch) = backend.micro_batch() else { return measure_steps(backend, examples, seconds) };
    let most = micro_batch.min(examples.rows());
    let mut rows = 1;
    loop {
        if poll().is_break() {
            return Err(BackendError::Cancelled);
        }
        let part = examples.slice(0..rows);
        let start = seconds();
        backend.gradients(&part)?;
        let trained = seconds();
        backend.evaluate(&part, Weights::Averaged)?;
        let evaluated = seconds();
        // The first time takes longer: threads start, memory is fetched.
        let warm = rows > 1 || most == 1;
        if warm && (rows == most || evaluated - start >= ENOUGH_SECONDS) {
            let rate = |seconds: f64| rows as f64 / seconds.max(1e-9);
            return Ok(Rates { training: rate(trained - start), evaluation: rate(evaluated - trained) });
        }
        rows = (GROWTH * rows).min(most);
    }
}

/// The same on a device that is never told of less than a batch, and that has more to do the first time.
pub(crate) fn measure_steps(
    backend: &mut dyn Backend,
    examples: &Examples,
    seconds: &dyn Fn() -> f64,
) -> Result<Rates, BackendError> {
    let state = backend.state()?;
    backend.step(examples, &STANDSTILL)?;
    backend.finish()?;
    let start = seconds();
    for _ in 0..MEASURED_STEPS {
        backend.step(examples, &STANDSTILL)?;
    }
    backend.finish()?;
    let trained = seconds();
    backend.load(&state)?;
    backend.evaluate(examples, Weights::Averaged)?;
    let loaded = seconds();
    backend.evaluate(examples, Weights::Averaged)?;
    let evaluated = seconds();
    let rate = |count: usize, seconds: f64| (count * examples.rows()) as f64 / seconds.max(1e-9);
    Ok(Rates { training: rate(MEASURED_STEPS, trained - start), evaluation: rate(1, evaluated - loaded) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATES: Rates = Rates { training: 10.0, evaluation: 50.0 };
    const PLAN: Plan = Plan { seconds: None, positions: None, batch: 100, evaluations: 0, evaluated: 500 };

    #[test]
    fn the_tighter_bound_decides_what_is_reached() {
        let forecast = Plan { seconds: Some(20.0), ..PLAN }.at(RATES, Some(1000));
        assert_eq!((forecast.positions, forecast.steps, forecast.seconds), (200.0, 2.0, 20.0));
        assert_eq!((forecast.step_seconds, forecast.epoch), (10.0, Some(1000)));
        let forecast = Plan { positions: Some(50), ..PLAN }.at(RATES, None);
        assert_eq!((forecast.positions, forecast.steps, forecast.seconds), (50.0, 0.5, 5.0));
        let forecast = Plan { seconds: Some(20.0), positions: Some(50), ..PLAN }.at(RATES, None);
        assert_eq!((forecast.positions, forecast.seconds), (50.0, 5.0));
    }

    #[test]
    fn evaluations_take_their_share_of_the_time() {
        let forecast = Plan { seconds: Some(50.0), evaluations: 3, ..PLAN }.at(RATES, None);
        assert_eq!((forecast.positions, forecast.seconds), (450.0, 50.0), "a tenth of it at most");
        let forecast = Plan { positions: Some(100), evaluations: 3, ..PLAN }.at(RATES, None);
        assert_eq!((forecast.positions, forecast.seconds), (100.0, 40.0));
    }
}
