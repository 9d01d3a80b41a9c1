use std::{f64::consts::LN_10, fmt};

use serde::Serialize;

use super::{ALPHA, Z95, normal_cdf, sample::Sample};

/// Elo difference of two players with its 95% confidence interval. Positive means stronger.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct EloEstimate {
    /// Points per game.
    pub score: f64,
    /// Elo difference; `None` if all points were won or lost.
    pub elo: Option<f64>,
    /// Lower bound, if there is one.
    pub low: Option<f64>,
    /// Upper bound, if there is one.
    pub high: Option<f64>,
    /// Likelihood of superiority (LOS).
    pub superiority: f64,
    /// Normalised Elo; `None` if all results were equal.
    pub normalised: Option<NormalisedElo>,
}

/// Normalised Elo: the difference in standard deviations of a game, scaled to be close to Elo if few games are drawn. It
/// determines the number of games needed to prove the difference.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NormalisedElo {
    /// Difference.
    pub value: f64,
    /// Half the width of the 95% interval.
    pub error: f64,
}

/// Expected score at an Elo difference: `1 / (1 + 10^(-elo/400))`.
pub fn expected_score(elo: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-elo * LN_10 / 400.0))
}

/// Elo difference of a score, the inverse of [`expected_score`]; `None` unless `0 < score < 1`.
pub fn elo_of_score(score: f64) -> Option<f64> {
    let elo = 400.0 / LN_10 * libm::log(score / (1.0 - score));
    (score > 0.0 && score < 1.0).then_some(elo)
}

/// Normalised Elo of one standard deviation.
pub(super) const NORMALISED_UNIT: f64 = 800.0 / LN_10;

impl EloEstimate {
    pub(super) fn of<const N: usize>(sample: &Sample<N>) -> Option<EloEstimate> {
        let (score, variance) = (sample.mean()?, sample.variance()?);
        let count = sample.count() as f64;
        if let Some(category) = sample.only_category() {
            return Some(EloEstimate::of_equal_results(Sample::<N>::value(category), count));
        }
        let error = libm::sqrt(variance / count);
        let games = count * Sample::<N>::games_per_observation();
        let deviation = libm::sqrt(variance * Sample::<N>::games_per_observation());
        Some(EloEstimate {
            score,
            elo: elo_of_score(score),
            low: elo_of_score(score - Z95 * error),
            high: elo_of_score(score + Z95 * error),
            superiority: normal_cdf((score - 0.5) / error),
            normalised: Some(NormalisedElo {
                value: (score - 0.5) / deviation * NORMALISED_UNIT,
                error: Z95 / libm::sqrt(games) * NORMALISED_UNIT,
            }),
        })
    }

    /// Estimate if all `count` observations had the same score, so that their variance is zero.
    ///
    /// With 95% confidence, this result has at least the probability `q` with `q^count = 0.05`. Other results then add
    /// between 0 and `1 - q` to the mean. LOS assumes coin tosses with a uniform prior of the bias.
    fn of_equal_results(score: f64, count: f64) -> EloEstimate {
        let least = libm::pow(ALPHA, 1.0 / count);
        let upset = libm::pow(0.5, count + 1.0);
        EloEstimate {
            score,
            elo: elo_of_score(score),
            low: elo_of_score(score * least),
            high: elo_of_score(score * least + (1.0 - least)),
            superiority: match score {
                s if s > 0.5 => 1.0 - upset,
                s if s < 0.5 => upset,
                _ => 0.5,
            },
            normalised: None,
        }
    }
}

/// `+40.7 [+10.6, +71.5]`, or `above +222.1` with one bound.
impl fmt::Display for EloEstimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_interval(f, self.elo, self.low, self.high, |value| format!("{value:+.1}"))
    }
}

/// Writes a value and its interval, where any of them may be unknown.
pub(super) fn write_interval(
    f: &mut fmt::Formatter<'_>,
    value: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    format: impl Fn(f64) -> String,
) -> fmt::Result {
    match (value.map(&format), low.map(&format), high.map(&format)) {
        (Some(value), Some(low), Some(high)) => write!(f, "{value} [{low}, {high}]"),
        (Some(value), Some(low), None) => write!(f, "{value} [above {low}]"),
        (Some(value), None, Some(high)) => write!(f, "{value} [below {high}]"),
        (Some(value), None, None) => write!(f, "{value} [unbounded]"),
        (None, Some(low), None) => write!(f, "above {low}"),
        (None, None, Some(high)) => write!(f, "below {high}"),
        (None, ..) => f.write_str("unknown"),
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::statistics::{Pairs, Tally};

    #[derive(Deserialize)]
    struct Golden {
        counts: Vec<u64>,
        score: f64,
        elo: Option<f64>,
        low: Option<f64>,
        high: Option<f64>,
        superiority: f64,
        normalised: Option<f64>,
        normalised_error: Option<f64>,
    }

    fn close(ours: Option<f64>, theirs: Option<f64>, what: &str) {
        match (ours, theirs) {
            (Some(ours), Some(theirs)) => {
                assert!((ours - theirs).abs() < 1e-6 * theirs.abs().max(1.0), "{what}: {ours} {theirs}");
            }
            (ours, theirs) => assert_eq!(ours, theirs, "{what}"),
        }
    }

    #[test]
    fn estimates_match_an_independent_implementation() {
        let goldens: Vec<Golden> =
            serde_json::from_str(include_str!("../../../../fixtures/arena/elo.json")).unwrap();
        assert!(goldens.len() > 15);
        for golden in goldens {
            let estimate = match golden.counts[..] {
                [losses, draws, wins] => Tally { wins, draws, losses }.elo(),
                [a, b, c, d, e] => Pairs([a, b, c, d, e]).elo(),
                _ => panic!("{:?}", golden.counts),
            }
            .unwrap();
            let what = format!("{:?}", golden.counts);
            close(Some(estimate.score), Some(golden.score), &what);
            close(estimate.elo, golden.elo, &what);
            close(estimate.low, golden.low, &what);
            close(estimate.high, golden.high, &what);
            close(Some(estimate.superiority), Some(golden.superiority), &what);
            close(estimate.normalised.map(|n| n.value), golden.normalised, &what);
            close(estimate.normalised.map(|n| n.error), golden.normalised_error, &what);
        }
    }

    /// Values from the tests of fastchess.
    #[test]
    fn estimates_agree_with_fastchess() {
        for (estimate, expected) in [
            (Tally { wins: 136, draws: 111, losses: 96 }.elo(), [40.70, 30.43, 49.77, 36.77, 0.9960]),
            (Pairs([332, 433, 457 + 41, 333, 334]).elo(), [-8.64, 10.33, -9.17, 10.96, 0.0505]),
        ] {
            let EloEstimate { elo, low, high, superiority, normalised, .. } = estimate.unwrap();
            let (half, normalised) = ((high.unwrap() - low.unwrap()) / 2.0, normalised.unwrap());
            let ours = [elo.unwrap(), half, normalised.value, normalised.error, superiority];
            for (ours, theirs) in ours.into_iter().zip(expected) {
                assert!((ours - theirs).abs() < 0.006, "{ours} {theirs}");
            }
        }
    }

    #[test]
    fn elo_and_score_are_inverses() {
        assert_eq!(expected_score(0.0), 0.5);
        assert!((expected_score(400.0) - 10.0 / 11.0).abs() < 1e-15);
        for elo in [-1200.0, -35.0, 0.0, 7.0, 400.0, 2000.0] {
            assert!((elo_of_score(expected_score(elo)).unwrap() - elo).abs() < 1e-6, "{elo}");
        }
        for score in [0.0, 1.0, -0.1, 1.1, f64::NAN] {
            assert_eq!(elo_of_score(score), None);
        }
    }

    #[test]
    fn one_sided_results_have_one_bound() {
        let won = Tally { wins: 10, draws: 0, losses: 0 }.elo().unwrap();
        assert_eq!((won.elo, won.high, won.normalised), (None, None, None));
        assert_eq!(won.to_string(), "above +182.7", "0.05^(1/10) = 0.7411 points a game");
        assert_eq!(Tally { losses: 10, ..Tally::default() }.elo().unwrap().to_string(), "below -182.7");
        let drawn = Tally { draws: 10, ..Tally::default() }.elo().unwrap();
        assert_eq!(drawn.to_string(), "+0.0 [-92.0, +92.0]");
        assert_eq!(Tally::default().elo(), None);
        assert_eq!(Pairs::default().elo(), None);
    }
}
