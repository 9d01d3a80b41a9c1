//! Messages about the expected length of a run.

use std::time::Duration;

use indicatif::{HumanCount, HumanDuration};
use tabia_train::Forecast;

/// Below this number of steps, a run is warned about.
const FEW_STEPS: f64 = 5.0;

/// The measured speed and the expected number of steps.
pub(super) fn expected(forecast: &Forecast, batch: usize) -> String {
    let Forecast { rates, seconds, positions, steps, epoch, .. } = forecast;
    let rate = rates.training;
    let rate = if rate < 100.0 { format!("{rate:.1}") } else { HumanCount(rate as u64).to_string() };
    let count = |number: f64| match number {
        few if few < FEW_STEPS => format!("{few:.1}"),
        many => HumanCount(many as u64).to_string(),
    };
    let mut text = format!(
        "about {rate} positions/s here; in {}: {} positions, {} steps of {}",
        duration(*seconds),
        HumanCount(*positions as u64),
        count(*steps),
        HumanCount(batch as u64),
    );
    if let Some(epoch) = epoch.filter(|epoch| *epoch > 0) {
        let share = positions / epoch as f64;
        let data = HumanCount(epoch);
        text.push_str(&match share {
            part if part < 1.0 => format!(", {:.2}% of {data} training positions", 100.0 * part),
            times => format!(", {times:.1} epochs of {data} positions"),
        });
    }
    text
}

/// The warning of a run with very few steps.
pub(super) fn warning(forecast: &Forecast, batch: usize, on_cpu: bool) -> Option<String> {
    if forecast.steps >= FEW_STEPS {
        return None;
    }
    let reach = match forecast.steps {
        none if none < 1.0 => "ends before its first step is made".to_owned(),
        few => format!("makes only about {few:.0} steps"),
    };
    let step = duration(forecast.step_seconds);
    let device = if on_cpu { "train on a GPU (--device gpu), " } else { "" };
    Some(format!(
        "warning: the run {reach}; a step takes about {step}: {device}set a smaller data.batch (now {batch}) or train longer"
    ))
}

fn duration(seconds: f64) -> String {
    if seconds < 10.0 {
        return format!("{seconds:.1} s");
    }
    HumanDuration(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tabia_train::Rates;

    fn forecast(rate: f64, seconds: f64, epoch: Option<u64>) -> Forecast {
        let rates = Rates { training: rate, evaluation: 3.0 * rate };
        let positions = rate * seconds;
        let (steps, step_seconds) = (positions / 1024.0, 1024.0 / rate);
        Forecast { rates, seconds, positions, steps, step_seconds, epoch }
    }

    #[test]
    fn expected_steps_and_epochs() {
        assert_eq!(
            expected(&forecast(2.04, 20.0, Some(123_456)), 1024),
            "about 2.0 positions/s here; in 20 seconds: 40 positions, 0.0 steps of 1,024, 0.03% of 123,456 training positions"
        );
        assert_eq!(
            expected(&forecast(51_200.0, 600.0, Some(1_000_000)), 1024),
            "about 51,200 positions/s here; in 10 minutes: 30,720,000 positions, 30,000 steps of 1,024, 30.7 epochs of 1,000,000 positions"
        );
        assert!(expected(&forecast(1.0, 5.0, None), 1024).ends_with("0.0 steps of 1,024"));
    }

    #[test]
    fn a_run_of_few_steps_is_warned() {
        assert_eq!(
            warning(&forecast(2.0, 20.0, None), 1024, true).as_deref(),
            Some(
                "warning: the run ends before its first step is made; a step takes about 9 minutes: \
                 train on a GPU (--device gpu), set a smaller data.batch (now 1024) or train longer"
            )
        );
        let few = warning(&forecast(200.0, 16.0, None), 1024, false).unwrap();
        assert!(few.contains("makes only about 3 steps") && !few.contains("GPU"), "{few}");
        assert_eq!(warning(&forecast(1000.0, 20.0, None), 1024, true), None);
    }
}
