use serde::Serialize;

/// Drop of the log-likelihood at the ends of a 95% interval: half the 95% quantile of chi-squared with one degree of
/// freedom.
const LIKELIHOOD_DROP: f64 = 1.920_729;

/// Search range of ratings.
const RATING_RANGE: (f64, f64) = (-4000.0, 8000.0);

/// Maximum-likelihood rating, if a solver of rating R solves a puzzle of rating P with probability
/// 1 / (1 + 10^((P - R) / 400)).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PuzzleRating {
    /// Rating; `None` if all or none were solved.
    pub rating: Option<f64>,
    /// Lower bound of the 95% interval; `None` if none were solved.
    pub low: Option<f64>,
    /// Upper bound of the 95% interval; `None` if all were solved.
    pub high: Option<f64>,
}

impl PuzzleRating {
    /// Fits pairs of puzzle rating and success; `None` without puzzles.
    pub fn fit(puzzles: &[(f64, bool)]) -> Option<PuzzleRating> {
        if puzzles.is_empty() {
            return None;
        }
        let solved = puzzles.iter().filter(|(_, solved)| *solved).count();
        // Falls with the rating.
        let surplus =
            |rating: f64| solved as f64 - puzzles.iter().map(|(of, _)| expected(rating - of)).sum::<f64>();
        let rating = (0 < solved && solved < puzzles.len()).then(|| bisect(RATING_RANGE, surplus));
        let maximum = rating.map_or(0.0, |rating| log_likelihood(puzzles, rating));
        let above = |rating: f64| log_likelihood(puzzles, rating) - (maximum - LIKELIHOOD_DROP);
        let (lowest, highest) = RATING_RANGE;
        Some(PuzzleRating {
            rating,
            low: (solved > 0).then(|| bisect((rating.unwrap_or(highest), lowest), above)),
            high: (solved < puzzles.len()).then(|| bisect((rating.unwrap_or(lowest), highest), above)),
        })
    }
}

/// Expected score at a rating difference.
fn expected(difference: f64) -> f64 {
    1.0 / (1.0 + 10_f64.powf(-difference / 400.0))
}

fn log_likelihood(puzzles: &[(f64, bool)], rating: f64) -> f64 {
    let of = |&(puzzle, solved): &(f64, bool)| {
        let against = if solved { puzzle - rating } else { rating - puzzle };
        // ln of expected(-against), accurate for tiny values.
        let z = against / 400.0 * std::f64::consts::LN_10;
        -(z.max(0.0) + (-z.abs()).exp().ln_1p())
    };
    puzzles.iter().map(of).sum()
}

/// Root of a function that is positive at `from` and negative at `to`.
fn bisect((mut from, mut to): (f64, f64), function: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..60 {
        let middle = (from + to) / 2.0;
        if function(middle) > 0.0 {
            from = middle;
        } else {
            to = middle;
        }
    }
    (from + to) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `all` puzzles of one rating, of which `solved` were solved.
    fn puzzles(rating: f64, solved: usize, all: usize) -> Vec<(f64, bool)> {
        (0..all).map(|n| (rating, n < solved)).collect()
    }

    #[test]
    fn rating_matches_expected_score() {
        let level = PuzzleRating::fit(&puzzles(1700.0, 50, 100)).unwrap();
        assert!((level.rating.unwrap() - 1700.0).abs() < 1e-6);
        // 10 to 1 is 400 points.
        let above = PuzzleRating::fit(&puzzles(1700.0, 1000, 1100)).unwrap();
        assert!((above.rating.unwrap() - 2100.0).abs() < 1e-6);
        // The standard error of 100 even games is 400 / ln 10 / 5.
        let half = level.high.unwrap() - 1700.0;
        assert!((half - 1.96 * 34.74).abs() < 2.0, "{half}");
        assert!((half - (1700.0 - level.low.unwrap())).abs() < 1e-6);
    }

    #[test]
    fn one_sided_results_have_one_bound() {
        let PuzzleRating { rating, low, high } = PuzzleRating::fit(&puzzles(1500.0, 20, 20)).unwrap();
        assert_eq!((rating, high), (None, None));
        // exp(-1.92) = p^20.
        let expected = 1500.0 + 400.0 * (1.0 / (LIKELIHOOD_DROP / 20.0).exp_m1()).log10();
        assert!((low.unwrap() - expected).abs() < 1e-6);
        let none = PuzzleRating::fit(&puzzles(1500.0, 0, 20)).unwrap();
        assert_eq!((none.rating, none.low), (None, None));
        assert_eq!(PuzzleRating::fit(&[]), None);
    }
}
