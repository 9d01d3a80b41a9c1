use std::{f64::consts::LN_10, fmt};

use serde::Serialize;

use super::{MISS, Tally, Z95, expected_score};

/// Games against an opponent whose rating is known.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Against {
    /// The opponent's rating.
    pub rating: f64,
    /// The games, as the player to be rated sees them.
    pub games: Tally,
}

/// A rating with its 95% interval. A bound, and the rating itself, is `None` where the games leave it open.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RatingEstimate {
    /// The likeliest rating; `None` when all games were won or all were lost.
    pub rating: Option<f64>,
    /// The lower bound.
    pub low: Option<f64>,
    /// The upper bound.
    pub high: Option<f64>,
}

/// Elo per unit of the logistic function's argument.
pub(super) const ELO_PER_LOGIT: f64 = 400.0 / LN_10;

/// The variance of one even game that cannot be drawn. Added to how far all results scatter, it keeps an interval from
/// closing when every game was drawn; among a dozen games it no longer matters.
pub(super) const ONE_EVEN_GAME: f64 = 0.25;

/// The rating of a player from games against opponents of known rating; `None` without games.
///
/// The rating is where the expected points equal the points taken, which is the maximum of the likelihood with a draw
/// as half a win and half a loss. The interval holds the ratings whose expected points are within 1.96 standard
/// deviations of the points taken. A game's variance is `E * (1 - E)`, times how much less (draws) or more (opponents
/// that do not fit their ratings) the results scatter than that at the best fit. When all games were won, the lower
/// bound is the rating at which that had a chance of 5%; in the same way for all lost.
pub fn rate_against(opponents: &[Against]) -> Option<RatingEstimate> {
    let total = opponents.iter().fold(Tally::default(), |sum, against| sum + against.games);
    if total.games() == 0 {
        return None;
    }
    let (points, games) = (total.points(), total.games() as f64);
    if points == 0.0 {
        let chance = |rating: f64| log_chance(opponents, |a| expected_score(a.rating - rating));
        let high = crossing(opponents, |rating| chance(rating) - libm::log(MISS));
        return Some(RatingEstimate { rating: None, low: None, high });
    }
    if points == games {
        let chance = |rating: f64| log_chance(opponents, |a| expected_score(rating - a.rating));
        let low = crossing(opponents, |rating| libm::log(MISS) - chance(rating));
        return Some(RatingEstimate { rating: None, low, high: None });
    }
    let rating = crossing(opponents, |rating| points - expected_points(opponents, rating))?;
    let scatter = (ONE_EVEN_GAME + scatter(opponents, rating)) / variance(opponents, rating);
    let distance = |rating: f64| {
        let deviation = libm::sqrt(scatter * variance(opponents, rating));
        (points - expected_points(opponents, rating), Z95 * deviation)
    };
    let low = crossing(opponents, |rating| {
        let (surplus, allowed) = distance(rating);
        surplus - allowed
    });
    let high = crossing(opponents, |rating| {
        let (surplus, allowed) = distance(rating);
        surplus + allowed
    });
    Some(RatingEstimate { rating: Some(rating), low, high })
}

fn expected_points(opponents: &[Against], rating: f64) -> f64 {
    opponents.iter().map(|a| a.games.games() as f64 * expected_score(rating - a.rating)).sum()
}

/// The variance of the points if no game could be drawn.
fn variance(opponents: &[Against], rating: f64) -> f64 {
    let each = |a: &Against| {
        let expected = expected_score(rating - a.rating);
        a.games.games() as f64 * expected * (1.0 - expected)
    };
    opponents.iter().map(each).sum()
}

/// How far the results lie from what was expected: the sum of squares.
fn scatter(opponents: &[Against], rating: f64) -> f64 {
    opponents.iter().map(|a| squares(a.games, expected_score(rating - a.rating))).sum()
}

/// The squared distances of results from an expected score, summed.
pub(super) fn squares(games: Tally, expected: f64) -> f64 {
    games.wins as f64 * (1.0 - expected).powi(2)
        + games.draws as f64 * (0.5 - expected).powi(2)
        + games.losses as f64 * expected.powi(2)
}

/// The logarithm of the chance that every game goes as `score` says it is expected to go.
fn log_chance(opponents: &[Against], score: impl Fn(&Against) -> f64) -> f64 {
    opponents.iter().map(|a| a.games.games() as f64 * libm::log(score(a))).sum()
}

/// Where a function of the rating that falls from positive to negative crosses zero.
fn crossing(opponents: &[Against], falls: impl Fn(f64) -> f64) -> Option<f64> {
    // No number of games a machine can play moves a bound further from the opponents than this.
    const REACH: f64 = 8000.0;
    let met = || opponents.iter().filter(|a| a.games.games() > 0).map(|a| a.rating);
    let mut low = met().fold(f64::INFINITY, f64::min) - REACH;
    let mut high = met().fold(f64::NEG_INFINITY, f64::max) + REACH;
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

/// `1724 [1650, 1801]`, or `above 2200` where only one side is known.
impl fmt::Display for RatingEstimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.rating, self.low, self.high) {
            (Some(rating), Some(low), Some(high)) => write!(f, "{rating:.0} [{low:.0}, {high:.0}]"),
            (Some(rating), Some(low), None) => write!(f, "{rating:.0} [above {low:.0}]"),
            (Some(rating), None, Some(high)) => write!(f, "{rating:.0} [below {high:.0}]"),
            (Some(rating), None, None) => write!(f, "{rating:.0} [unbounded]"),
            (None, Some(low), _) => write!(f, "above {low:.0}"),
            (None, None, Some(high)) => write!(f, "below {high:.0}"),
            (None, None, None) => f.write_str("unknown"),
        }
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
    fn ratings_are_those_computed_independently() {
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
    fn a_performance_is_the_opponents_rating_plus_the_elo_of_the_score() {
        let opponents = [Against { rating: 1700.0, games: Tally { wins: 75, draws: 0, losses: 25 } }];
        let estimate = rate_against(&opponents).unwrap();
        assert!((estimate.rating.unwrap() - 1700.0 - 190.848_501).abs() < 1e-4, "400 * log10(3)");
        assert_eq!(estimate.to_string(), "1891 [1812, 1969]");
    }

    #[test]
    fn one_sided_results_give_one_bound() {
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
