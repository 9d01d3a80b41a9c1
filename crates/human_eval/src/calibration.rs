use serde::Serialize;

/// Bins of equal width that probabilities are sorted into.
const BINS: usize = 10;

/// Whether a network's likeliest move comes as often as it says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibration {
    /// Mean distance between what it says and what happens, each bin counting by its positions.
    pub error: f64,
    /// Bin by bin, those without positions left out.
    pub bins: Vec<Reliability>,
}

/// The positions in which the likeliest move had a probability within one bin.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Reliability {
    /// The lowest probability of the bin.
    pub from: f64,
    /// The probability above it.
    pub to: f64,
    /// How many positions there are.
    pub positions: u64,
    /// The mean probability of the likeliest move.
    pub said: f64,
    /// How often that move was played.
    pub happened: f64,
}

/// Counts positions by what was said of the likeliest move.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CalibrationTally([Bin; BINS]);

#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    positions: u64,
    said: f64,
    happened: u64,
}

impl CalibrationTally {
    pub(crate) fn add(&mut self, said: f32, happened: bool) {
        let bin = &mut self.0[((said * BINS as f32) as usize).min(BINS - 1)];
        bin.positions += 1;
        bin.said += f64::from(said);
        bin.happened += u64::from(happened);
    }

    pub(crate) fn calibration(&self) -> Calibration {
        let total = self.0.iter().map(|bin| bin.positions).sum::<u64>() as f64;
        let bins = self.0.iter().enumerate().filter(|(_, bin)| bin.positions > 0).map(|(number, bin)| {
            let count = bin.positions as f64;
            Reliability {
                from: number as f64 / BINS as f64,
                to: (number + 1) as f64 / BINS as f64,
                positions: bin.positions,
                said: bin.said / count,
                happened: bin.happened as f64 / count,
            }
        });
        let bins: Vec<_> = bins.collect();
        let error =
            bins.iter().map(|bin| bin.positions as f64 / total * (bin.said - bin.happened).abs()).sum();
        Calibration { error, bins }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_is_the_mean_distance_of_the_bins() {
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
