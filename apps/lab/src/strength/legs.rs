//! What each scale says of the rated players, how far the scales lie apart, and what they say together.

use anyhow::{Context, Result};
use serde::Serialize;
use tabia_arena::statistics::PoolRating;
use tabia_report::{aligned, head};

use super::field::Leg;
use super::rounds::Results;

/// Standard deviation of the offset of a scale, at least: agreement within less is luck.
const LEAST_OFFSET: f64 = 30.0;

/// A rating with its 95% interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Interval {
    pub(super) rating: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Interval {
    pub(super) fn of(rating: &PoolRating) -> Option<Interval> {
        Some(Interval { rating: rating.rating?, low: rating.low?, high: rating.high? })
    }

    pub(super) fn deviation(&self) -> f64 {
        (self.high - self.low) / (2.0 * 1.96)
    }
}

/// The rated players on one scale alone.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct OnLeg {
    pub(super) leg: Leg,
    /// In the order of the players.
    pub(super) ratings: Vec<Interval>,
}

/// What the scales say, each alone and all together.
pub(super) struct Agreement {
    pub(super) legs: Vec<OnLeg>,
    /// How far the scales lie apart, as a standard deviation; 0 if there is one scale.
    pub(super) offset_deviation: f64,
}

/// A player of known rating, beside what was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Anchor {
    pub(super) leg: Leg,
    pub(super) name: String,
    pub(super) says: f64,
    pub(super) measured: Interval,
    pub(super) games: u64,
}

impl Agreement {
    /// Of these players, by name, on these scales.
    pub(super) fn new(results: &Results, legs: &[Leg], names: &[String]) -> Result<Agreement> {
        let mut on = Vec::new();
        for leg in legs {
            let rated = results.ratings(&[*leg], 0.0)?;
            let of = |name: &String| {
                let (_, rating) = rated.iter().find(|(known, _)| known == name)?;
                Interval::of(rating)
            };
            let ratings: Option<Vec<Interval>> = names.iter().map(of).collect();
            on.push(OnLeg { leg: *leg, ratings: ratings.context("a player has no rating")? });
        }
        let offset_deviation = offset_deviation(&on);
        Ok(Agreement { legs: on, offset_deviation })
    }

    /// The difference between the highest and the lowest rating of a player.
    pub(super) fn apart(&self, player: usize) -> f64 {
        let ratings = || self.legs.iter().map(|on| on.ratings[player].rating);
        ratings().fold(f64::NEG_INFINITY, f64::max) - ratings().fold(f64::INFINITY, f64::min)
    }
}

/// What is left of the differences between scales once the noise of the games is taken out: the random-effects variance by the
/// method of moments, averaged over the players.
fn offset_deviation(legs: &[OnLeg]) -> f64 {
    let players = legs.first().map_or(0, |on| on.ratings.len());
    if legs.len() < 2 || players == 0 {
        return 0.0;
    }
    let count = legs.len() as f64;
    let beyond_noise = (0..players).map(|player| {
        let of: Vec<&Interval> = legs.iter().map(|on| &on.ratings[player]).collect();
        let mean = of.iter().map(|of| of.rating).sum::<f64>() / count;
        let between = of.iter().map(|of| (of.rating - mean).powi(2)).sum::<f64>() / (count - 1.0);
        between - of.iter().map(|of| of.deviation().powi(2)).sum::<f64>() / count
    });
    let variance = beyond_noise.sum::<f64>() / players as f64;
    variance.max(LEAST_OFFSET.powi(2)).sqrt()
}

/// A table of each scale: what it says of its players, and what all scales together say.
pub(super) fn anchor_tables(anchors: &[Anchor]) -> String {
    let mut text = String::new();
    for of in anchors.chunk_by(|one, other| one.leg == other.leg) {
        let mut rows = vec![head(&["says", "measured", "95%", "difference", "games", "player"])];
        rows.extend(of.iter().map(|anchor| {
            let Interval { rating, low, high } = anchor.measured;
            vec![
                format!("{:.0}", anchor.says),
                format!("{rating:.0}"),
                format!("[{low:.0}, {high:.0}]"),
                format!("{:+.0}", rating - anchor.says),
                anchor.games.to_string(),
                anchor.name.clone(),
            ]
        }));
        let mean =
            of.iter().map(|anchor| anchor.measured.rating - anchor.says).sum::<f64>() / of.len() as f64;
        text.push_str(&format!(
            "\n{}: measured {mean:+.0} against what it says, on average\n{}\n",
            of[0].leg.name(),
            aligned(&rows)
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(leg: Leg, ratings: &[f64], deviation: f64) -> OnLeg {
        let interval = |rating: &f64| Interval {
            rating: *rating,
            low: rating - 1.96 * deviation,
            high: rating + 1.96 * deviation,
        };
        OnLeg { leg, ratings: ratings.iter().map(interval).collect() }
    }

    #[test]
    fn disagreement_is_what_the_noise_does_not_explain() {
        let agreeing = [on(Leg::Stockfish, &[1000.0, 1400.0], 60.0), on(Leg::Maia, &[1050.0, 1350.0], 60.0)];
        assert_eq!(offset_deviation(&agreeing), LEAST_OFFSET);
        let apart = [on(Leg::Stockfish, &[1000.0, 1400.0], 20.0), on(Leg::Maia, &[1300.0, 1700.0], 20.0)];
        assert!((offset_deviation(&apart) - 211.0).abs() < 3.0, "{}", offset_deviation(&apart));
        assert_eq!(offset_deviation(&apart[..1]), 0.0, "nothing to disagree with");
        let both = Agreement { legs: apart.to_vec(), offset_deviation: 0.0 };
        assert_eq!(both.apart(1), 300.0);
    }

    #[test]
    fn each_scale_has_its_table() {
        let anchor = |leg, says: f64, measured: f64| Anchor {
            leg,
            name: "a player".to_owned(),
            says,
            measured: on(leg, &[measured], 30.0).ratings[0],
            games: 40,
        };
        let text = anchor_tables(&[
            anchor(Leg::Stockfish, 1350.0, 1250.0),
            anchor(Leg::Stockfish, 1500.0, 1300.0),
            anchor(Leg::Maia, 1100.0, 1200.0),
        ]);
        assert!(
            text.contains("stockfish: measured -150 against") && text.contains("maia: measured +100"),
            "{text}"
        );
    }
}
