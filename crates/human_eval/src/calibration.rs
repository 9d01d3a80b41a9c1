use serde::Serialize;

/// Number of bins of equal width.
const BINS: usize = 10;

/// Calibration of the probability of the predicted move.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibration {
    /// Expected calibration error.
    pub error: f64,
    /// Reliability diagram without empty bins.
    pub bins: Vec<Reliability>,
}

/// A bin of the reliability diagram.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Reliability {
    /// Lower bound of the probability.
    pub from: f64,
    /// Upper bound of the probability.
    pub to: f64,
    /// Number of positions.
    pub positions: u64,
    /// Mean predicted probability.
    #[serde(rename = "said")]
    pub predicted: f64,
    /// Observed frequency.
    #[serde(rename = "happened")]
    pub observed: f64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CalibrationTally([Bin; BINS]);

#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    positions: u64,
    predicted: f64,
    observed: u64,
}

impl CalibrationTally {
    pub(crate) fn add(&mut self, predicted: f32, observed: bool) {
        let bin = &mut self.0[((predicted * BINS as f32) as usize).min(BINS - 1)];
        bin.positions += 1;
        bin.predicted += f64::from(predicted);
        bin.observed += u64::from(observed);
    }

    pub(crate) fn calibration(&self) -> Calibration {
        let total = self.0.iter().map(|bin| bin.positions).sum::<u64>() as f64;
        let bins = self.0.iter().enumerate().filter(|(_, bin)| bin.positions > 0).map(|(index, bin)| {
            let count = bin.positions as f64;
            Reliability {
                from: index as f64 / BINS as f64,
                to: (index + 1) as f64 / BINS as f64,
                positions: bin.positions,
                predicted: bin.predicted / count,
                observed: bin.observed as f64 / count,
            }
        });
        let bins: Vec<_> = bins.collect();
        let gap = |bin: &Reliability| (bin.predicted - bin.observed).abs();
        let error = bins.iter().map(|bin| bin.positions as f64 / total * gap(bin)).sum();
        Calibration { error, bins }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_is_the_weighted_mean_gap() {
        let mut tally = CalibrationTally::default();
        for n in 0..10 {
            tally.add(0.85, n < 6);
        }
        for _ in 0..30 {
            tally.add(1.0, true);
        }
        let Calibration { error, bins } = tally.calibration();
        assert!((error - 0.25 * 0.25).abs() < 1e-6, "{error}");
        assert_eq!(bins.iter().map(|bin| bin.positions).collect::<Vec<_>>(), [10, 30]);
        assert!((bins[0].from, bins[1].to) == (0.8, 1.0));
    }
}
