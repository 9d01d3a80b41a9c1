use serde::Serialize;

/// How far the likelihood falls at the ends of a 95% interval: half the 95% quantile of chi-squared with one degree.
const DROP: f64 = 1.920_729;

/// Ratings are looked for between these.
const SEARCHED: (f64, f64) = (-4000.0, 8000.0);

/// The rating at which puzzles solved and failed are likeliest, if a solver of rating R solves a puzzle of rating P with
/// the chance 1 / (1 + 10^((P - R) / 400)).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PuzzleRating {
    /// The rating; `None` if all were solved or none was.
    pub rating: Option<f64>,
    /// Where the 95% interval begins; `None` if none was solved.
    pub low: Option<f64>,
    /// Where it ends; `None` if all were solved.
    pub high: Option<f64>,
}

impl PuzzleRating {
    /// The rating that fits puzzles, given as their ratings and whether they were solved; `None` without puzzles.
    pub fn fit(puzzles: &[(f64, bool)]) -> Option<PuzzleRating> {
        if puzzles.is_empty() {
            return None;
        }
        let solved = puzzles.iter().filter(|(_, solved)| *solved).count();
        // How many more are solved than expected falls with the rating.
        let surplus =
            |rating: f64| solved as f64 - puzzles.iter().map(|(of, _)| chance(rating - of)).sum::<f64>();
        let rating = (0 < solved && solved < puzzles.len()).then(|| crossing(SEARCHED, surplus));
        let most = rating.map_or(0.0, |rating| log_likelihood(puzzles, rating));
        let above = |rating: f64| log_likelihood(puzzles, rating) - (most - DROP);
        let (lowest, highest) = SEARCHED;
        Some(PuzzleRating {
            rating,
            low: (solved > 0).then(|| crossing((rating.unwrap_or(highest), lowest), above)),
            high: (solved < puzzles.len()).then(|| crossing((rating.unwrap_or(lowest), highest), above)),
        })
    }
}

/// The chance of a solver who is so much stronger than the puzzle.
fn chance(difference: f64) -> f64 {
    1.0 / (1.0 + 10_f64.powf(-difference / 400.0))
}

fn log_likelihood(puzzles: &[(f64, bool)], rating: f64) -> f64 {
    let of = |&(puzzle, solved): &(f64, bool)| {
        let against = if solved { puzzle - rating } else { rating - puzzle };
        // ln of chance(-against), exact where that is tiny.
        let z = against / 400.0 * std::f64::consts::LN_10;
        -(z.max(0.0) + (-z.abs()).exp().ln_1p())
    };
    puzzles.iter().map(of).sum()
}

/// Where a function that is positive at `from` and negative at `to` crosses zero.
fn crossing((mut from, mut to): (f64, f64), function: impl Fn(f64) -> f64) -> f64 {
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

    /// Puzzles of one rating, of which `solved` of `all` were solved.
    fn puzzles(rating: f64, solved: usize, all: usize) -> Vec<(f64, bool)> {
        (0..all).map(|n| (rating, n < solved)).collect()
    }

    #[test]
    fn the_rating_is_the_one_that_expects_what_was_solved() {
        let level = PuzzleRating::fit(&puzzles(1700.0, 50, 100)).unwrap();
        assert!((level.rating.unwrap() - 1700.0).abs() < 1e-6);
        // 10 to 1 is 400 points.
        let above = PuzzleRating::fit(&puzzles(1700.0, 1000, 1100)).unwrap();
        assert!((above.rating.unwrap() - 2100.0).abs() < 1e-6);
        // Of 100 even chances the standard error is 400 / ln 10 / 5.
        let half = level.high.unwrap() - 1700.0;
        assert!((half - 1.96 * 34.74).abs() < 2.0, "{half}");
        assert!((half - (1700.0 - level.low.unwrap())).abs() < 1e-6);
    }

    #[test]
    fn what_cannot_be_bounded_is_not() {
        let PuzzleRating { rating, low, high } = PuzzleRating::fit(&puzzles(1500.0, 20, 20)).unwrap();
        assert_eq!((rating, high), (None, None));
        // exp(-1.92) = p^20.
        let expected = 1500.0 + 400.0 * (1.0 / (DROP / 20.0).exp_m1()).log10();
        assert!((low.unwrap() - expected).abs() < 1e-6);
        let none = PuzzleRating::fit(&puzzles(1500.0, 0, 20)).unwrap();
        assert_eq!((none.rating, none.low), (None, None));
        assert_eq!(PuzzleRating::fit(&[]), None);
    }
}
