use crate::{OptimiserConfig, ScheduleConfig, ScheduleKind, StepHyper};

/// What bounds a run. A run without bounds would have no schedule, so at least one is set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    seconds: Option<f64>,
    positions: Option<u64>,
}

impl Budget {
    /// A run of at most so many seconds and positions; `None` if neither is given or one is zero.
    pub fn new(seconds: Option<f64>, positions: Option<u64>) -> Option<Self> {
        let bounded = seconds.is_some() || positions.is_some();
        let sensible = seconds.is_none_or(|s| s > 0.0 && s.is_finite()) && positions != Some(0);
        (bounded && sensible).then_some(Budget { seconds, positions })
    }

    /// How much of the run is over, 0 to 1: the share of time or of positions, whichever is larger.
    pub fn progress(&self, seconds: f64, positions: u64) -> f64 {
        let time = self.seconds.map_or(0.0, |limit| seconds / limit);
        let data = self.positions.map_or(0.0, |limit| positions as f64 / limit as f64);
        time.max(data).clamp(0.0, 1.0)
    }

    /// The bound on time.
    pub fn seconds(&self) -> Option<f64> {
        self.seconds
    }

    /// The bound on positions.
    pub fn positions(&self) -> Option<u64> {
        self.positions
    }
}

/// The share of a run after which the warm-up is over, however many steps it was to have.
const LONGEST_WARMUP: f64 = 0.1;

/// The settings of step `step` (from 1), when `progress` of the run is over.
pub(crate) fn hyper(
    optimiser: &OptimiserConfig,
    schedule: &ScheduleConfig,
    step: u64,
    progress: f64,
) -> StepHyper {
    let floor = f64::from(schedule.final_share);
    let fall = match schedule.kind {
        ScheduleKind::Cosine => 0.5 + 0.5 * (std::f64::consts::PI * progress).cos(),
        ScheduleKind::Wsd => {
            let decay = f64::from(schedule.decay_share);
            if decay > 0.0 { ((1.0 - progress) / decay).min(1.0) } else { 1.0 }
        }
    };
    let warm = if schedule.warmup_steps == 0 { 1.0 } else { step as f64 / schedule.warmup_steps as f64 };
    // A short run must not be all warm-up.
    let warm = warm.max(progress / LONGEST_WARMUP);
    let share = (floor + (1.0 - floor) * fall) * warm.min(1.0);
    // The average forgets the first weights quickly: its memory grows with the run.
    let ema_decay = optimiser.ema_decay.min((1.0 + step as f32) / (10.0 + step as f32));
    StepHyper {
        lr: (f64::from(optimiser.lr) * share) as f32,
        beta1: optimiser.beta1,
        beta2: optimiser.beta2,
        eps: optimiser.eps,
        weight_decay: optimiser.weight_decay,
        clip: optimiser.clip,
        ema_decay,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lr(kind: ScheduleKind, step: u64, progress: f64) -> f32 {
        let schedule = ScheduleConfig { kind, warmup_steps: 10, final_share: 0.1, decay_share: 0.5 };
        let optimiser = OptimiserConfig { lr: 1.0, ..OptimiserConfig::default() };
        hyper(&optimiser, &schedule, step, progress).lr
    }

    #[test]
    fn rates_rise_and_fall_as_the_schedule_says() {
        let close = |have: f32, want: f32| assert!((have - want).abs() < 1e-6, "{have} {want}");
        close(lr(ScheduleKind::Cosine, 5, 0.0), 0.5);
        close(lr(ScheduleKind::Cosine, 10, 0.0), 1.0);
        close(lr(ScheduleKind::Wsd, 1, 0.05), 0.5);
        close(lr(ScheduleKind::Wsd, 1, 0.2), 1.0);
        close(lr(ScheduleKind::Cosine, 99, 0.5), 0.55);
        close(lr(ScheduleKind::Cosine, 99, 1.0), 0.1);
        close(lr(ScheduleKind::Wsd, 99, 0.5), 1.0);
        close(lr(ScheduleKind::Wsd, 99, 0.75), 0.55);
        close(lr(ScheduleKind::Wsd, 99, 1.0), 0.1);
    }

    #[test]
    fn the_tighter_bound_drives_progress() {
        let budget = Budget::new(Some(100.0), Some(1000)).unwrap();
        assert_eq!(budget.progress(50.0, 100), 0.5);
        assert_eq!(budget.progress(10.0, 900), 0.9);
        assert_eq!(budget.progress(500.0, 0), 1.0);
        assert!(Budget::new(None, None).is_none() && Budget::new(None, Some(0)).is_none());
    }
}
