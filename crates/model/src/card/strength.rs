use serde::{Deserialize, Serialize};

use super::CardError;

/// How a network that predicts people's moves is played so that it shows a rating asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Strength {
    /// How the ratings were measured and whose scale they are on, in words.
    pub method: String,
    /// At least one, by the rating asked for, each higher than the one before. Between two of them all numbers but
    /// `asked` go evenly from one to the other, those of nodes by equal factors; beyond the first and the last they stay.
    pub knots: Vec<StrengthKnot>,
}

/// How one rating is played.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StrengthKnot {
    /// The rating asked for.
    pub asked: u16,
    /// The rating the network is told.
    pub told: f32,
    /// The temperature of the network's probabilities.
    pub temperature: f32,
    /// How much a move that loses the whole game in the eyes of the light search loses of the logarithm of its
    /// probability; 0 is without search.
    pub trust: f32,
    /// Positions that the light search visits for a move.
    pub nodes: u32,
    /// How often a mate in one is seen, at the least.
    pub mates: f32,
    /// What was measured with these numbers.
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
    /// The games it rests on.
    pub games: u32,
}

impl Strength {
    /// Whether every number makes sense.
    ///
    /// # Errors
    /// Which one does not.
    pub(crate) fn check(&self) -> Result<(), CardError> {
        let fail = |what: String| Err(CardError(format!("strength: {what}")));
        if self.knots.is_empty() {
            return fail("no knots".to_owned());
        }
        for pair in self.knots.windows(2) {
            if pair[0].asked >= pair[1].asked {
                return fail(format!("knot {} after knot {}", pair[1].asked, pair[0].asked));
            }
        }
        for knot in &self.knots {
            if knot.nodes == 0 {
                return fail(format!("knot {}: a search of no nodes", knot.asked));
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
                    return fail(format!("knot {}: {name} is {number}, not {low} to {high}", knot.asked));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::ModelCard;

    fn with(strength: &str) -> Result<ModelCard, String> {
        let overlay = format!(r#"{{"strength": {strength}}}"#);
        ModelCard::of_encoding("tabia-human-1").overlaid(&overlay).map_err(|error| error.to_string())
    }

    fn knot(asked: u16, trust: f32) -> String {
        format!(
            r#"{{"asked": {asked}, "told": 1000, "temperature": 1, "trust": {trust}, "nodes": 500, "mates": 0.5}}"#
        )
    }

    #[test]
    fn a_table_is_read_and_written_back() {
        let knots = format!("[{}, {}]", knot(1000, 0.0), knot(1200, 2.5));
        let card = with(&format!(r#"{{"method": "a match", "knots": {knots}}}"#)).unwrap();
        let strength = card.strength.clone().unwrap();
        assert_eq!(strength.knots.len(), 2);
        assert_eq!((strength.knots[1].trust, strength.knots[1].nodes), (2.5, 500));
        assert_eq!(ModelCard::of_encoding("tabia-human-1").overlaid(&card.to_json()).unwrap(), card);
    }

    #[test]
    fn a_table_that_makes_no_sense_is_refused_with_the_number() {
        let said = |knots: &[String]| {
            let knots = knots.join(",");
            with(&format!(r#"{{"method": "", "knots": [{knots}]}}"#)).unwrap_err()
        };
        assert_eq!(said(&[]), "model card: strength: no knots");
        let idle = knot(1000, 0.0).replace("500", "0");
        assert_eq!(said(&[idle]), "model card: strength: knot 1000: a search of no nodes");
        let twice = [knot(1200, 0.0), knot(1200, 0.0)];
        assert_eq!(said(&twice), "model card: strength: knot 1200 after knot 1200");
        let wrong = said(&[knot(1200, -1.0)]);
        assert_eq!(wrong, "model card: strength: knot 1200: trust is -1, not 0 to 1000");
        assert!(said(&[knot(1200, 0.0).replace("told", "said")]).contains("said"));
    }
}
