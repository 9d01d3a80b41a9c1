use serde::{Deserialize, Serialize};

/// Minimum number of games for an interval: fewer may agree by chance.
const MIN_GAMES: f64 = 5.0;

/// A mean over positions with its 95% confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
pub struct Estimate {
    /// Mean.
    pub value: f64,
    /// Lower bound; `None` for fewer than five games or without variance between games.
    pub low: Option<f64>,
    /// Upper bound.
    pub high: Option<f64>,
}

/// Mean over the positions of many games with cluster-robust intervals: games are independent, positions are not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusteredMean {
    games: f64,
    count: f64,
    sum: f64,
    count_squared: f64,
    product: f64,
    sum_squared: f64,
}

impl ClusteredMean {
    /// Adds a game with `count` positions that sum to `sum`. Games without positions are ignored.
    pub fn add_game(&mut self, count: u64, sum: f64) {
        if count == 0 {
            return;
        }
        let count = count as f64;
        self.games += 1.0;
        self.count += count;
        self.sum += sum;
        self.count_squared += count * count;
        self.product += count * sum;
        self.sum_squared += sum * sum;
    }

    /// Adds the games of another mean.
    pub fn merge(&mut self, other: &ClusteredMean) {
        self.games += other.games;
        self.count += other.count;
        self.sum += other.sum;
        self.count_squared += other.count_squared;
        self.product += other.product;
        self.sum_squared += other.sum_squared;
    }

    /// Mean of an unbounded quantity. Without variance there is no interval.
    pub fn mean(&self) -> Estimate {
        let value = self.value();
        let bounds = self.variance().filter(|variance| *variance > 0.0).map(|variance| {
            let margin = student_t(self.games - 1.0) * variance.sqrt();
            (value - margin, value + margin)
        });
        Estimate { value, low: bounds.map(|(low, _)| low), high: bounds.map(|(_, high)| high) }
    }

    /// Proportion of a 0/1 quantity with a Wilson interval.
    ///
    /// The interval uses the effective number of independent positions; if all positions are equal, one per game. It
    /// stays within 0 and 1 and always has a positive width.
    pub fn proportion(&self) -> Estimate {
        let value = self.value();
        let bounds = self.variance().map(|variance| {
            let independent = if variance > 0.0 { value * (1.0 - value) / variance } else { self.games };
            wilson(value, independent.min(self.count), student_t(self.games - 1.0))
        });
        Estimate { value, low: bounds.map(|(low, _)| low), high: bounds.map(|(_, high)| high) }
    }

    fn value(&self) -> f64 {
        if self.count == 0.0 { f64::NAN } else { self.sum / self.count }
    }

    /// Variance of the mean; `None` for too few games.
    fn variance(&self) -> Option<f64> {
        let mean = self.value();
        // Sum over games of (sum - mean * count)^2, without the rounding error of equal games.
        let terms = [self.sum_squared, mean * mean * self.count_squared];
        let spread = terms[0] - 2.0 * mean * self.product + terms[1];
        let spread = if spread > 1e-12 * (terms[0] + terms[1]) { spread } else { 0.0 };
        (self.games >= MIN_GAMES)
            .then(|| spread * self.games / (self.games - 1.0) / (self.count * self.count))
    }
}

/// Wilson score interval of a proportion in `count` independent trials, at `z` standard errors.
fn wilson(proportion: f64, count: f64, z: f64) -> (f64, f64) {
    let square = z * z / count;
    let middle = (proportion + square / 2.0) / (1.0 + square);
    let half = (proportion * (1.0 - proportion) * square + square * square / 4.0).sqrt() / (1.0 + square);
    ((middle - half).clamp(0.0, proportion), (middle + half).clamp(proportion, 1.0))
}

/// 97.5% quantile of Student's t distribution with four or more degrees of freedom.
fn student_t(degrees: f64) -> f64 {
    const FEW: [f64; 6] = [2.776, 2.571, 2.447, 2.365, 2.306, 2.262];
    const MANY: f64 = 1.959_964;
    match FEW.get(degrees as usize - 4) {
        Some(&quantile) => quantile,
        // Expansion around the normal quantile, accurate to 0.001 from ten degrees on.
        None => {
            let [z, z3, z5, z7] = [1, 3, 5, 7].map(|power| MANY.powi(power));
            z + (z3 + z) / (4.0 * degrees)
                + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * degrees.powi(2))
                + (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / (384.0 * degrees.powi(3))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: Option<f64>, expected: f64) -> bool {
        found.is_some_and(|found| (found - expected).abs() < 1e-4)
    }

    #[test]
    fn independent_positions_have_standard_intervals() {
        let mut hits = ClusteredMean::default();
        for game in 0..400 {
            hits.add_game(1, f64::from(u8::from(game % 4 == 0)));
        }
        let margin = 1.966 * (0.25 * 0.75 / 399.0_f64).sqrt();
        let mean = hits.mean();
        assert_eq!(mean.value, 0.25);
        assert!(near(mean.low, 0.25 - margin) && near(mean.high, 0.25 + margin), "{mean:?}");
        // Wilson interval of 99.75 in 399.
        let share = hits.proportion();
        assert!(near(share.low, 0.2099) && near(share.high, 0.2949), "{share:?}");
    }

    #[test]
    fn duplicate_positions_do_not_narrow_the_interval() {
        let (mut once, mut ten_times) = (ClusteredMean::default(), ClusteredMean::default());
        for game in 0..50 {
            let hit = f64::from(u8::from(game % 3 == 0));
            once.add_game(1, hit);
            ten_times.add_game(10, 10.0 * hit);
        }
        for (once, ten_times) in
            [(once.mean(), ten_times.mean()), (once.proportion(), ten_times.proportion())]
        {
            assert!(near(once.low, ten_times.low.unwrap()) && near(once.high, ten_times.high.unwrap()));
            assert!((once.value - ten_times.value).abs() < 1e-12);
        }
    }

    #[test]
    fn proportions_of_zero_and_one_have_an_interval() {
        // Eight of eight: 1 / (1 + t^2 / 8) with Student's t = 2.365.
        for (hit, low, high) in [(1.0, 0.5885, 1.0), (0.0, 0.0, 0.4115)] {
            let mut hits = ClusteredMean::default();
            (0..8).for_each(|_| hits.add_game(1, hit));
            let share = hits.proportion();
            assert!(near(share.low, low) && near(share.high, high), "{share:?}");
            // More positions in the same games change nothing.
            let mut longer = ClusteredMean::default();
            (0..8).for_each(|_| longer.add_game(7, 7.0 * hit));
            assert_eq!(longer.proportion(), share);
        }
    }

    #[test]
    fn intervals_never_have_zero_width() {
        let mut alike = ClusteredMean::default();
        (0..8).for_each(|_| alike.add_game(3, 3.0 * 0.1));
        assert_eq!((alike.mean().low, alike.mean().high), (None, None));
        for hits in 0..=6_u8 {
            for games in 5..12_u8 {
                let mut tally = ClusteredMean::default();
                (0..games).for_each(|_| tally.add_game(6, f64::from(hits)));
                let Estimate { value, low, high } = tally.proportion();
                let (low, high) = (low.unwrap(), high.unwrap());
                assert!(0.0 <= low && low <= value && value <= high && high <= 1.0, "{low} {value} {high}");
                assert!(high - low > 0.05, "{hits} of 6 in {games} games: {low} {high}");
            }
        }
    }

    #[test]
    fn student_t_matches_tables() {
        let near = |degrees, quantile: f64| (student_t(degrees) - quantile).abs() < 1e-3;
        assert!(
            near(4.0, 2.776)
                && near(9.0, 2.262)
                && near(10.0, 2.228)
                && near(30.0, 2.042)
                && near(1e6, 1.960)
        );
    }

    #[test]
    fn too_few_games_have_no_interval() {
        let mut one = ClusteredMean::default();
        assert!(one.mean().value.is_nan() && one.proportion().value.is_nan());
        one.add_game(30, 12.0);
        one.add_game(0, 0.0);
        one.add_game(30, 12.0);
        let expected = Estimate { value: 0.4, low: None, high: None };
        assert_eq!((one.mean(), one.proportion()), (expected, expected));
    }
}
