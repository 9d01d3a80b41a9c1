use serde::Serialize;

/// Fewer games than this may agree by chance and seem sure.
const FEWEST_GAMES: f64 = 5.0;

/// A mean over positions and how sure it is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The mean.
    pub value: f64,
    /// Half the width of its 95% interval; `None` where fewer than five games have such positions.
    pub margin: Option<f64>,
}

/// Collects a quantity over the positions of many games, game by game.
///
/// The interval is the cluster-robust one of a ratio: games are drawn at random, not positions, so that a game whose
/// positions are all easy counts as one piece of luck.
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

    /// The mean over all positions.
    pub fn estimate(&self) -> Estimate {
        if self.count == 0.0 {
            return Estimate { value: f64::NAN, margin: None };
        }
        let mean = self.sum / self.count;
        // The sum over games of (sum - mean * count)^2.
        let spread = self.sum_squared - 2.0 * mean * self.product + mean * mean * self.count_squared;
        let margin = (self.games >= FEWEST_GAMES).then(|| {
            let variance = spread.max(0.0) * self.games / (self.games - 1.0) / (self.count * self.count);
            standard_errors(self.games - 1.0) * variance.sqrt()
        });
        Estimate { value: mean, margin }
    }
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

    #[test]
    fn games_of_one_position_give_the_usual_interval() {
        let mut hits = Clustered::default();
        for game in 0..400 {
            hits.add_game(1, f64::from(u8::from(game % 4 == 0)));
        }
        let Estimate { value, margin } = hits.estimate();
        let expected = 1.966 * (0.25 * 0.75 / 399.0_f64).sqrt();
        assert!((value - 0.25).abs() < 1e-12 && (margin.unwrap() - expected).abs() < 1e-5);
    }

    #[test]
    fn copies_of_a_position_within_a_game_make_nothing_surer() {
        let (mut once, mut ten_times) = (Clustered::default(), Clustered::default());
        for game in 0..50 {
            let hit = f64::from(game % 3);
            once.add_game(1, hit);
            ten_times.add_game(10, 10.0 * hit);
        }
        let (once, ten_times) = (once.estimate(), ten_times.estimate());
        assert!((once.margin.unwrap() - ten_times.margin.unwrap()).abs() < 1e-9);
        assert!((once.value - ten_times.value).abs() < 1e-12);
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
        assert!(one.estimate().value.is_nan());
        one.add_game(30, 12.0);
        one.add_game(0, 0.0);
        one.add_game(30, 12.0);
        assert_eq!(one.estimate(), Estimate { value: 0.4, margin: None });
    }
}
