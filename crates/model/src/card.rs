//! Model cards: what a player must know of a network besides its weights.

mod history;
mod strength;

use std::fmt;

use serde::{Deserialize, Serialize};
use shakmaty::Color;
use tabia_encoding::{ForMover, ForWhite};
pub use tabia_encoding::{OutcomeOrder, Perspective, Unit};

pub use self::history::{Accuracy, Figures, HeldOut, Rounding, Training};
pub use self::strength::{ShownRating, Strength, StrengthKnot};

/// The metadata key of the card, as JSON, in ONNX, safetensors and TFLite files.
pub const CARD_KEY: &str = "tabia.card";

/// The version of the card's layout.
pub const CARD_VERSION: u32 = 1;

/// A network's inputs, outputs and provenance.
///
/// A card is merged from three sources, later ones overriding field by field: what names and shapes reveal, the card in the
/// file ([`CARD_KEY`]), and a sidecar `FILE.card.json`. The last two may be partial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelCard {
    /// Version of this layout, [`CARD_VERSION`].
    pub version: u32,
    /// The display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The architecture, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
    /// The id of the encoding of its inputs.
    pub encoding: String,
    /// The layers of a state dict, where names and shapes do not reveal them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_dict: Option<StateDict>,
    /// The policy head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<PolicyHead>,
    /// The value head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<ValueHead>,
    /// The win/draw/loss head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wdl: Option<WdlHead>,
    /// The think-time head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think_time: Option<ThinkTimeHead>,
    /// Licence of the weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub licence: Option<String>,
    /// The authors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authors: Option<String>,
    /// The training data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub training_data: Option<String>,
    /// The training run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub training: Option<Training>,
    /// Figures on held-out positions, by group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held_out: Vec<HeldOut>,
    /// The precision of the stored weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounding: Option<Rounding>,
    /// The measured playing strength by rating.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strength: Option<Strength>,
    /// Other notes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
}

/// The layers of a state dict, where names and shapes do not reveal them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateDict {
    /// The linear layers of an MLP from the first to the last, with ReLU between them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<LinearLayer>,
    /// The layout of a file that says nothing of itself, such as `bullet-768:hidden=256`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
    /// The epsilon of the RMSNorms of a HumChess network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub norm_epsilon: Option<f32>,
}

/// The tensors of a linear layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum LinearLayer {
    /// `NAME.weight`, and `NAME.bias` if there is one.
    Module(String),
    /// Tensors of any names.
    Tensors {
        /// The matrix, outputs by inputs.
        weight: String,
        /// The bias, if there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bias: Option<String>,
    },
}

/// The policy head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyHead {
    /// The output with the move logits.
    pub output: String,
    /// The id of the move vocabulary.
    pub vocabulary: String,
    /// The output with the promotion logits, for vocabularies with a separate promotion head: one per piece, or one per file
    /// and piece.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promotion_output: Option<String>,
    /// Whether the output has the chances of each bin of winning probability after one move, which is an input.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub action_values: bool,
}

/// The value head, and what its number means.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ValueHead {
    /// The output with the number.
    pub output: String,
    /// The index of the value among several numbers per position; without it there must be one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<usize>,
    /// What it measures.
    pub unit: Unit,
    /// Whose point of view it takes.
    pub perspective: Perspective,
}

/// The win/draw/loss head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WdlHead {
    /// The output with the three numbers.
    pub output: String,
    /// Whether the numbers are probabilities or logits.
    pub scale: WdlScale,
    /// Whose win it is.
    pub perspective: Side,
    /// The order of the three numbers.
    #[serde(default, skip_serializing_if = "is_default")]
    pub order: OutcomeOrder,
}

fn is_default(order: &OutcomeOrder) -> bool {
    *order == OutcomeOrder::default()
}

/// What the three numbers of a WDL head are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WdlScale {
    /// Probabilities.
    Probabilities,
    /// Logits.
    Logits,
}

/// The think-time head: a probability for each [bin](tabia_encoding::time_bin).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThinkTimeHead {
    /// The output with the probabilities.
    pub output: String,
}

/// White or the side to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// White.
    White,
    /// The side to move.
    Mover,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Side::White => "White",
            Side::Mover => "the side to move",
        })
    }
}

/// An invalid card.
#[derive(Clone, Debug, thiserror::Error)]
#[error("model card: {0}")]
pub struct CardError(pub String);

impl ModelCard {
    /// A card with only an encoding.
    pub fn of_encoding(encoding: &str) -> Self {
        ModelCard { version: CARD_VERSION, encoding: encoding.to_owned(), ..ModelCard::default() }
    }

    /// The card as JSON text.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a card holds only strings, numbers and plain enums")
    }

    /// The encoding of a (partial) card.
    pub(crate) fn declared_encoding(card: &str) -> Result<Option<String>, CardError> {
        let id = object(card)?.get("encoding").and_then(|id| id.as_str().map(str::to_owned));
        Ok(id)
    }

    /// The merged `state_dict` of (partial) cards.
    pub(crate) fn declared_state_dict(cards: &[&str]) -> Result<Option<StateDict>, CardError> {
        let mut merged = serde_json::Value::Null;
        for card in cards {
            if let Some(declared) = object(card)?.get("state_dict") {
                merge(&mut merged, declared.clone());
            }
        }
        serde_json::from_value(merged).map_err(|e| CardError(format!("state_dict: {e}")))
    }

    /// This card with the fields of the JSON object `overlay` replaced.
    pub fn overlaid(&self, overlay: &str) -> Result<ModelCard, CardError> {
        let overlay = object(overlay)?;
        if let Some(version) = overlay.get("version").and_then(serde_json::Value::as_u64)
            && version > u64::from(CARD_VERSION)
        {
            return Err(CardError(format!("version {version} (expected at most {CARD_VERSION})")));
        }
        let mut merged = serde_json::to_value(self).map_err(|e| CardError(e.to_string()))?;
        merge(&mut merged, overlay);
        let card: ModelCard = serde_json::from_value(merged).map_err(|e| CardError(e.to_string()))?;
        card.strength.as_ref().map_or(Ok(()), Strength::check)?;
        Ok(card)
    }
}

impl ModelCard {
    /// Whether the value head compares the position with a reference.
    pub(crate) fn compares(&self) -> bool {
        self.value.as_ref().is_some_and(|head| head.perspective == Perspective::Comparison)
    }
}

impl ValueHead {
    /// The score in centipawns of the head's number, with `turn` to move and `context_turn` to move in the context.
    pub fn read(&self, raw: f32, turn: Color, context_turn: Color) -> ForMover<f32> {
        let centipawns = match self.unit {
            Unit::Centipawns(scale) => raw * scale,
            Unit::Expectation => expectation_to_centipawns(raw),
            Unit::Probability(scale) => (raw - 0.5) * scale,
        };
        match self.perspective {
            Perspective::Mover => ForMover(centipawns),
            Perspective::White => ForWhite(centipawns).for_mover(turn),
            Perspective::ContextMover => ForMover(centipawns).for_white(context_turn).for_mover(turn),
            Perspective::Comparison => ForWhite(2.0 * centipawns).for_mover(turn),
        }
    }

    /// The inverse of [`read`](ValueHead::read).
    pub fn number(&self, score: ForMover<f32>, turn: Color, context_turn: Color) -> f32 {
        let centipawns = match self.perspective {
            Perspective::Mover => score.0,
            Perspective::White => score.for_white(turn).0,
            Perspective::ContextMover => score.for_white(turn).for_mover(context_turn).0,
            Perspective::Comparison => score.for_white(turn).0 / 2.0,
        };
        match self.unit {
            Unit::Centipawns(scale) => centipawns / scale,
            Unit::Expectation => centipawns_to_expectation(centipawns),
            Unit::Probability(scale) => centipawns / scale + 0.5,
        }
    }
}

/// Leela's conversion of an expected result to centipawns.
fn expectation_to_centipawns(q: f32) -> f32 {
    90.0 * (1.563_754_2 * q.clamp(-1.0, 1.0)).tan()
}

fn centipawns_to_expectation(centipawns: f32) -> f32 {
    (centipawns / 90.0).atan() / 1.563_754_2
}

fn object(text: &str) -> Result<serde_json::Value, CardError> {
    let json: serde_json::Value =
        serde_json::from_str(text).map_err(|e| CardError(format!("not JSON: {e}")))?;
    if json.is_object() { Ok(json) } else { Err(CardError("not a JSON object".to_owned())) }
}

fn merge(base: &mut serde_json::Value, overlay: serde_json::Value) {
    match (base, overlay) {
        (serde_json::Value::Object(base), serde_json::Value::Object(overlay)) => {
            for (key, value) in overlay {
                // `unit` is an enum in the form of a one-key object: variants replace each other.
                if key != "unit" && base.contains_key(&key) {
                    merge(base.get_mut(&key).expect("just found"), value);
                } else {
                    base.insert(key, value);
                }
            }
        }
        (base, overlay) => *base = overlay,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair_card() -> ModelCard {
        ModelCard {
            value: Some(ValueHead {
                output: "out".into(),
                index: None,
                unit: Unit::Probability(1000.0),
                perspective: Perspective::ContextMover,
            }),
            ..ModelCard::of_encoding("pair-769")
        }
    }

    #[test]
    fn cards_round_trip_through_json() {
        let card = pair_card();
        let blank = ModelCard::of_encoding("challenge-768");
        assert_eq!(blank.overlaid(&card.to_json()).unwrap(), card);
    }

    #[test]
    fn partial_sidecars_keep_other_fields() {
        let card =
            pair_card().overlaid(r#"{"licence": "MIT", "value": {"perspective": "comparison"}}"#).unwrap();
        assert_eq!(card.licence.as_deref(), Some("MIT"));
        let value = card.value.unwrap();
        assert_eq!(value.perspective, Perspective::Comparison);
        assert_eq!(value.unit, Unit::Probability(1000.0));
    }

    #[test]
    fn units_are_replaced_as_a_whole() {
        let card = pair_card().overlaid(r#"{"value": {"unit": {"centipawns": 100}}}"#).unwrap();
        assert_eq!(card.value.unwrap().unit, Unit::Centipawns(100.0));
    }

    #[test]
    fn number_is_the_inverse_of_read() {
        let units = [Unit::Centipawns(100.0), Unit::Expectation, Unit::Probability(1000.0)];
        let perspectives =
            [Perspective::White, Perspective::Mover, Perspective::ContextMover, Perspective::Comparison];
        for (unit, perspective) in units.into_iter().flat_map(|unit| perspectives.map(|p| (unit, p))) {
            let head = ValueHead { output: String::new(), index: None, unit, perspective };
            for (turn, context_turn) in [(Color::White, Color::Black), (Color::Black, Color::White)] {
                let again = head.number(head.read(0.3, turn, context_turn), turn, context_turn);
                assert!((again - 0.3).abs() < 1e-5, "{unit:?} {perspective:?}: {again}");
            }
        }
    }

    #[test]
    fn training_round_trips_through_json() {
        let figures = Figures { top1: Some(0.5), ..Figures::default() };
        let mut card = pair_card();
        card.training = Some(Training { positions: 10, minutes: 0.5, ..Training::default() });
        card.held_out = vec![HeldOut { group: "all".to_owned(), positions: 3, figures }];
        let accuracy = Accuracy {
            positions: 3,
            trained: figures,
            written: figures,
            other_choices: Some(0.0),
            value_difference: None,
        };
        card.rounding = Some(Rounding { weights: "int8".to_owned(), accuracy: Some(accuracy) });
        assert_eq!(ModelCard::of_encoding("pair-769").overlaid(&card.to_json()).unwrap(), card);
    }

    #[test]
    fn invalid_cards_are_rejected() {
        let error = pair_card().overlaid(r#"{"licnece": "MIT"}"#).unwrap_err();
        assert!(error.to_string().contains("licnece"), "{error}");
        let error = pair_card().overlaid(r#"{"version": 9}"#).unwrap_err();
        assert!(error.to_string().contains("version 9"), "{error}");
        assert!(pair_card().overlaid("[]").is_err());
        assert!(pair_card().overlaid("{").is_err());
    }
}
