use std::{f64::consts::LN_10, fmt};

use serde::Serialize;

use super::{ALPHA, Tally, Z95, elo::write_interval, expected_score};

/// Games against an opponent of known rating.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Against {
    /// Rating of the opponent.
    pub rating: f64,
    /// Games from the player's point of view.
    pub games: Tally,
}

/// A rating with its 95% confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RatingEstimate {
    /// Maximum-likelihood rating; `None` if all games were won or all were lost.
    pub rating: Option<f64>,
    /// Lower bound, if there is one.
    pub low: Option<f64>,
    /// Upper bound, if there is one.
    pub high: Option<f64>,
}

/// Elo per logit.
pub(super) const ELO_PER_LOGIT: f64 = 400.0 / LN_10;

/// Variance of one even game without draws. Added to the observed variance, it keeps intervals open if all games were
/// drawn; it is negligible from a dozen games on.
pub(super) const EVEN_GAME_VARIANCE: f64 = 0.25;

/// Performance rating against opponents of known rating; `None` without games.
///
/// At this rating the expected points equal the points scored, which maximises the likelihood with draws as half a win
/// and half a loss. The interval contains the ratings whose expected points are within 1.96 standard deviations of the
/// points scored. The variance of a game is `E * (1 - E)`, scaled by the ratio of observed to expected variance at the
/// best fit. If all games were won, the lower bound is the rating at which that has a probability of 5%; likewise if all
/// were lost.
pub fn rate_against(opponents: &[Against]) -> Option<RatingEstimate> {
    let total = opponents.iter().fold(Tally::default(), |sum, against| sum + against.games);
    if total.games() == 0 {
        return None;
    }
    let (points, games) = (total.points(), total.games() as f64);
    if points == 0.0 {
        let probability = |rating: f64| log_probability(opponents, |a| expected_score(a.rating - rating));
        let high = bisect(opponents, |rating| probability(rating) - libm::log(ALPHA));
        return Some(RatingEstimate { rating: None, low: None, high });
    }
    if points == games {
        let probability = |rating: f64| log_probability(opponents, |a| expected_score(rating - a.rating));
        let low = bisect(opponents, |rating| libm::log(ALPHA) - probability(rating));
        return Some(RatingEstimate { rating: None, low, high: None });
    }
    let rating = bisect(opponents, |rating| points - expected_points(opponents, rating))?;
    let scatter = (EVEN_GAME_VARIANCE + scatter(opponents, rating)) / variance(opponents, rating);
    let distance = |rating: f64| {
        let deviation = libm::sqrt(scatter * variance(opponents, rating));
        (points - expected_points(opponents, rating), Z95 * deviation)
    };
    let low = bisect(opponents, |rating| {
        let (surplus, allowed) = distance(rating);
        surplus - allowed
    });
    let high = bisect(opponents, |rating| {
        let (surplus, allowed) = distance(rating);
        surplus + allowed
    });
    Some(RatingEstimate { rating: Some(rating), low, high })
}

fn expected_points(opponents: &[Against], rating: f64) -> f64 {
    opponents.iter().map(|a| a.games.games() as f64 * expected_score(rating - a.rating)).sum()
}

/// Variance of the points without draws.
fn variance(opponents: &[Against], rating: f64) -> f64 {
    let each = |a: &Against| {
        let expected = expected_score(rating - a.rating);
        a.games.games() as f64 * expected * (1.0 - expected)
    };
    opponents.iter().map(each).sum()
}

/// Sum of squared errors.
fn scatter(opponents: &[Against], rating: f64) -> f64 {
    opponents.iter().map(|a| squared_errors(a.games, expected_score(rating - a.rating))).sum()
}

/// Sum of squared differences between results and expected score.
pub(super) fn squared_errors(games: Tally, expected: f64) -> f64 {
    games.wins as f64 * (1.0 - expected).powi(2)
        + games.draws as f64 * (0.5 - expected).powi(2)
        + games.losses as f64 * expected.powi(2)
}

/// Log-probability that all games have the result with probability `score`.
fn log_probability(opponents: &[Against], score: impl Fn(&Against) -> f64) -> f64 {
    opponents.iter().map(|a| a.games.games() as f64 * libm::log(score(a))).sum()
}

/// Root of a decreasing function of the rating.
fn bisect(opponents: &[Against], falls: impl Fn(f64) -> f64) -> Option<f64> {
    // No realistic number of games moves a bound further from the opponents than this.
    const SEARCH_RADIUS: f64 = 8000.0;
    let met = || opponents.iter().filter(|a| a.games.games() > 0).map(|a| a.rating);
    let mut low = met().fold(f64::INFINITY, f64::min) - SEARCH_RADIUS;
    let mut high = met().fold(f64::NEG_INFINITY, f64::max) + SEARCH_RADIUS;
    if !(low.is_finite() && high.is_finite() && falls(low) > 0.0 && falls(high) < 0.0) {
        return None;
    }
    while high - low > 1e-9 * (1.0 + high.abs()) {
        let middle = 0.5 * (low + high);
        if falls(middle) > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(0.5 * (low + high))
}

/// `1724 [1650, 1801]`, or `above 2200` with one bound.
impl fmt::Display for RatingEstimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_interval(f, self.rating, self.low, self.high, |value| format!("{value:.0}"))
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    struct Golden {
        /// Rating, wins, draws, losses.
        opponents: Vec<(f64, u64, u64, u64)>,
        rating: Option<f64>,
        low: Option<f64>,
        high: Option<f64>,
    }

    #[test]
    fn ratings_match_an_independent_implementation() {
        let goldens: Vec<Golden> =
            serde_json::from_str(include_str!("../../../../fixtures/arena/rating.json")).unwrap();
        assert!(goldens.len() > 5);
        for golden in goldens {
            let opponents: Vec<Against> = golden
                .opponents
                .iter()
                .map(|&(rating, wins, draws, losses)| Against {
                    rating,
                    games: Tally { wins, draws, losses },
                })
                .collect();
            let ours = rate_against(&opponents).unwrap();
            for (ours, theirs) in
                [(ours.rating, golden.rating), (ours.low, golden.low), (ours.high, golden.high)]
            {
                match (ours, theirs) {
                    (Some(ours), Some(theirs)) => assert!((ours - theirs).abs() < 1e-4, "{ours} {theirs}"),
                    (ours, theirs) => assert_eq!(ours, theirs, "{:?}", golden.opponents),
                }
            }
        }
    }

    #[test]
    fn performance_is_opponent_rating_plus_elo_of_score() {
        let opponents = [Against { rating: 1700.0, games: Tally { wins: 75, draws: 0, losses: 25 } }];
        let estimate = rate_against(&opponents).unwrap();
        assert!((estimate.rating.unwrap() - 1700.0 - 190.848_501).abs() < 1e-4, "400 * log10(3)");
        assert_eq!(estimate.to_string(), "1891 [1812, 1969]");
    }

    #[test]
    fn one_sided_results_have_one_bound() {
        let all = |wins, losses| {
            let games = Tally { wins, draws: 0, losses };
            rate_against(&[Against { rating: 1320.0, games }, Against { rating: 1500.0, games }]).unwrap()
        };
        let won = all(10, 0);
        assert_eq!((won.rating, won.high), (None, None));
        assert!(won.low.unwrap() > 1500.0, "{won}");
        let lost = all(0, 10);
        assert_eq!((lost.rating, lost.low), (None, None));
        assert!(lost.high.unwrap() < 1320.0, "{lost}");
        assert_eq!(rate_against(&[]), None);
    }
}
