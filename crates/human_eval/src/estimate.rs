use serde::Serialize;

/// Fewer games than this may agree by chance and seem sure.
const FEWEST_GAMES: f64 = 5.0;

/// A mean over positions and how sure it is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The mean.
    pub value: f64,
    /// Where its 95% interval begins; `None` where fewer than five games have such positions, or nothing tells how far
    /// games differ.
    pub low: Option<f64>,
    /// Where its 95% interval ends.
    pub high: Option<f64>,
}

/// Collects a quantity over the positions of many games, game by game.
///
/// Intervals are cluster-robust: games are drawn at random, not positions, so that a game whose positions are all easy
/// counts as one piece of luck.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clustered {
    games: f64,
    count: f64,
    sum: f64,
    count_squared: f64,
    product: f64,
    sum_squared: f64,
}

impl Clustered {
    /// A game with `count` positions, over which the quantity adds up to `sum`. One without positions says nothing.
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

    /// The mean of a quantity without bounds. Where no game differs from the mean there is no interval.
    pub fn mean(&self) -> Estimate {
        let value = self.value();
        let bounds = self.variance().filter(|variance| *variance > 0.0).map(|variance| {
            let margin = standard_errors(self.games - 1.0) * variance.sqrt();
            (value - margin, value + margin)
        });
        Estimate { value, low: bounds.map(|(low, _)| low), high: bounds.map(|(_, high)| high) }
    }

    /// The mean of a quantity that is 0 or 1 at each position, with Wilson's interval.
    ///
    /// It is computed for as many independent positions as would scatter like these games; where all positions are alike,
    /// for one a game. So it stays within 0 and 1 and never closes.
    pub fn share(&self) -> Estimate {
        let value = self.value();
        let bounds = self.variance().map(|variance| {
            let independent = if variance > 0.0 { value * (1.0 - value) / variance } else { self.games };
            wilson(value, independent.min(self.count), standard_errors(self.games - 1.0))
        });
        Estimate { value, low: bounds.map(|(low, _)| low), high: bounds.map(|(_, high)| high) }
    }

    fn value(&self) -> f64 {
        if self.count == 0.0 { f64::NAN } else { self.sum / self.count }
    }

    /// The variance of the mean; `None` for too few games.
    fn variance(&self) -> Option<f64> {
        let mean = self.value();
        // The sum over games of (sum - mean * count)^2. What rounding leaves of equal games is nothing.
        let terms = [self.sum_squared, mean * mean * self.count_squared];
        let spread = terms[0] - 2.0 * mean * self.product + terms[1];
        let spread = if spread > 1e-12 * (terms[0] + terms[1]) { spread } else { 0.0 };
        (self.games >= FEWEST_GAMES)
            .then(|| spread * self.games / (self.games - 1.0) / (self.count * self.count))
    }
}

/// Wilson's score interval of a share found in `count` independent trials, `errors` standard errors to each side.
fn wilson(share: f64, count: f64, errors: f64) -> (f64, f64) {
    let square = errors * errors / count;
    let middle = (share + square / 2.0) / (1.0 + square);
    let half = (share * (1.0 - share) * square + square * square / 4.0).sqrt() / (1.0 + square);
    ((middle - half).clamp(0.0, share), (middle + half).clamp(share, 1.0))
}

/// How many standard errors lie to each side of a 95% interval: the quantile of Student's distribution with so many
/// degrees of freedom, four or more. Few games say little, however many positions they have.
fn standard_errors(degrees: f64) -> f64 {
    const FEW: [f64; 6] = [2.776, 2.571, 2.447, 2.365, 2.306, 2.262];
    const MANY: f64 = 1.959_964;
    match FEW.get(degrees as usize - 4) {
        Some(&quantile) => quantile,
        // The beginning of its expansion around the normal one; from ten degrees on right to a thousandth.
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
    fn games_of_one_position_give_the_usual_intervals() {
        let mut hits = Clustered::default();
        for game in 0..400 {
            hits.add_game(1, f64::from(u8::from(game % 4 == 0)));
        }
        let margin = 1.966 * (0.25 * 0.75 / 399.0_f64).sqrt();
        let mean = hits.mean();
        assert_eq!(mean.value, 0.25);
        assert!(near(mean.low, 0.25 - margin) && near(mean.high, 0.25 + margin), "{mean:?}");
        // Wilson's interval of 99.75 in 399.
        let share = hits.share();
        assert!(near(share.low, 0.2099) && near(share.high, 0.2949), "{share:?}");
    }

    #[test]
    fn copies_of_a_position_within_a_game_make_nothing_surer() {
        let (mut once, mut ten_times) = (Clustered::default(), Clustered::default());
        for game in 0..50 {
            let hit = f64::from(u8::from(game % 3 == 0));
            once.add_game(1, hit);
            ten_times.add_game(10, 10.0 * hit);
        }
        for (once, ten_times) in [(once.mean(), ten_times.mean()), (once.share(), ten_times.share())] {
            assert!(near(once.low, ten_times.low.unwrap()) && near(once.high, ten_times.high.unwrap()));
            assert!((once.value - ten_times.value).abs() < 1e-12);
        }
    }

    #[test]
    fn shares_of_nothing_and_of_everything_have_an_interval() {
        // Eight of eight: 1 / (1 + t^2 / 8) with Student's t = 2.365.
        for (hit, low, high) in [(1.0, 0.5885, 1.0), (0.0, 0.0, 0.4115)] {
            let mut hits = Clustered::default();
            (0..8).for_each(|_| hits.add_game(1, hit));
            let share = hits.share();
            assert!(near(share.low, low) && near(share.high, high), "{share:?}");
            // The same games with more positions each say hardly more.
            let mut longer = Clustered::default();
            (0..8).for_each(|_| longer.add_game(7, 7.0 * hit));
            assert_eq!(longer.share(), share);
        }
    }

    #[test]
    fn no_interval_has_zero_width() {
        let mut alike = Clustered::default();
        (0..8).for_each(|_| alike.add_game(3, 3.0 * 0.1));
        assert_eq!((alike.mean().low, alike.mean().high), (None, None));
        for hits in 0..=6_u8 {
            for games in 5..12_u8 {
                let mut tally = Clustered::default();
                (0..games).for_each(|_| tally.add_game(6, f64::from(hits)));
                let Estimate { value, low, high } = tally.share();
                let (low, high) = (low.unwrap(), high.unwrap());
                assert!(0.0 <= low && low <= value && value <= high && high <= 1.0, "{low} {value} {high}");
                assert!(high - low > 0.05, "{hits} of 6 in {games} games: {low} {high}");
            }
        }
    }

    #[test]
    fn few_games_have_wider_intervals() {
        let near = |degrees, quantile: f64| (standard_errors(degrees) - quantile).abs() < 1e-3;
        assert!(
            near(4.0, 2.776)
                && near(9.0, 2.262)
                && near(10.0, 2.228)
                && near(30.0, 2.042)
                && near(1e6, 1.960)
        );
    }

    #[test]
    fn a_few_games_have_no_interval_and_none_has_no_mean() {
        let mut one = Clustered::default();
        assert!(one.mean().value.is_nan() && one.share().value.is_nan());
        one.add_game(30, 12.0);
        one.add_game(0, 0.0);
        one.add_game(30, 12.0);
        let expected = Estimate { value: 0.4, low: None, high: None };
        assert_eq!((one.mean(), one.share()), (expected, expected));
    }
}
