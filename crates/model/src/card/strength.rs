use serde::{Deserialize, Serialize};

use super::CardError;

/// The settings at which a human-move network plays at a requested rating.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Strength {
    /// How the ratings were measured and in which pool.
    pub method: String,
    /// At least one, in ascending order of `asked`. Settings are interpolated linearly in between, nodes geometrically, and
    /// constant beyond the ends.
    pub knots: Vec<StrengthKnot>,
}

/// The settings at one rating.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StrengthKnot {
    /// The requested rating.
    pub asked: u16,
    /// The rating given to the network.
    pub told: f32,
    /// The temperature of the network's probabilities.
    pub temperature: f32,
    /// The weight of the search: how much log probability a move loses that loses the game according to it. 0 disables the
    /// search.
    pub trust: f32,
    /// The node budget of the search.
    pub nodes: u32,
    /// The minimum probability of seeing a mate in one.
    pub mates: f32,
    /// The measured rating at these settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<ShownRating>,
}

/// A measured rating with its 95% interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShownRating {
    /// The rating.
    pub rating: f32,
    /// The lower bound.
    pub low: f32,
    /// The upper bound.
    pub high: f32,
    /// The number of games.
    pub games: u32,
}

impl Strength {
    /// # Errors
    /// If knots are missing or out of order, or a number is out of range.
    pub(crate) fn check(&self) -> Result<(), CardError> {
        let fail = |what: String| Err(CardError(format!("strength: {what}")));
        if self.knots.is_empty() {
            return fail("no knots".to_owned());
        }
        for pair in self.knots.windows(2) {
            if pair[0].asked >= pair[1].asked {
                return fail(format!(
                    "knot {} follows knot {} (expected ascending order)",
                    pair[1].asked, pair[0].asked
                ));
            }
        }
        for knot in &self.knots {
            if knot.nodes == 0 {
                return fail(format!("knot {}: nodes is 0 (expected at least 1)", knot.asked));
            }
            let numbers = [
                ("told", knot.told, 1.0..=4000.0),
                ("temperature", knot.temperature, 0.0..=100.0),
                ("trust", knot.trust, 0.0..=1000.0),
                ("mates", knot.mates, 0.0..=1.0),
            ];
            for (name, number, range) in numbers {
                if !range.contains(&number) {
                    let (low, high) = (range.start(), range.end());
                    return fail(format!(
                        "knot {}: {name} is {number} (expected {low} to {high})",
                        knot.asked
                    ));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::{CardError, ModelCard};

    fn with(strength: &str) -> Result<ModelCard, CardError> {
        let overlay = format!(r#"{{"strength": {strength}}}"#);
        ModelCard::of_encoding("tabia-human-1").overlaid(&overlay)
    }

    fn knot(asked: u16, trust: f32) -> String {
        format!(
            r#"{{"asked": {asked}, "told": 1000, "temperature": 1, "trust": {trust}, "nodes": 500, "mates": 0.5}}"#
        )
    }

    #[test]
    fn knots_round_trip_through_json() {
        let knots = format!("[{}, {}]", knot(1000, 0.0), knot(1200, 2.5));
        let card = with(&format!(r#"{{"method": "a match", "knots": {knots}}}"#)).unwrap();
        let strength = card.strength.clone().unwrap();
        assert_eq!(strength.knots.len(), 2);
        assert_eq!((strength.knots[1].trust, strength.knots[1].nodes), (2.5, 500));
        assert_eq!(ModelCard::of_encoding("tabia-human-1").overlaid(&card.to_json()).unwrap(), card);
    }

    #[test]
    fn invalid_knots_are_rejected() {
        let check = |knots: &[String]| {
            let knots = knots.join(",");
            with(&format!(r#"{{"method": "", "knots": [{knots}]}}"#))
        };
        assert!(check(&[knot(1000, 0.0)]).is_ok());
        for knots in [
            vec![],
            vec![knot(1000, 0.0).replace("500", "0")],
            vec![knot(1200, 0.0), knot(1200, 0.0)],
            vec![knot(1200, -1.0)],
            vec![knot(1200, 0.0).replace("told", "said")],
        ] {
            assert!(check(&knots).is_err(), "{knots:?}");
        }
    }
}
