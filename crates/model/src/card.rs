//! What a network is: the facts a player needs that the weights alone do not say.

mod history;
mod strength;

use std::fmt;

use serde::{Deserialize, Serialize};
use shakmaty::Color;
use tabia_encoding::{ForMover, ForWhite};
pub use tabia_encoding::{Perspective, Unit};

pub use self::history::{Accuracy, Figures, HeldOut, Rounding, Training};
pub use self::strength::{ShownRating, Strength, StrengthKnot};

/// The metadata key under which a card lies, as JSON, inside ONNX, safetensors and TFLite files.
pub const CARD_KEY: &str = "tabia.card";

/// The version of the card's layout.
pub const CARD_VERSION: u32 = 1;

/// What a network is: its inputs, its outputs and where it comes from.
///
/// A card is put together from three sources, later ones winning field by field: what names and shapes reveal,
/// the card inside the file ([`CARD_KEY`]), and a sidecar `FILE.card.json`. Both may be partial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelCard {
    /// Version of this layout, [`CARD_VERSION`].
    pub version: u32,
    /// What people call the network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The architecture, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
    /// The id of the encoding of its inputs.
    pub encoding: String,
    /// How the weights of a file without a graph make a network, where names and shapes do not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_dict: Option<StateDict>,
    /// The move head, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<PolicyHead>,
    /// The evaluation head, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<ValueHead>,
    /// The win/draw/loss head, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wdl: Option<WdlHead>,
    /// The head that says how long a person would think, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think_time: Option<ThinkTimeHead>,
    /// Licence of the weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub licence: Option<String>,
    /// Who made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authors: Option<String>,
    /// What it was trained on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub training_data: Option<String>,
    /// How it was trained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub training: Option<Training>,
    /// What it reached on positions it was not trained on, by group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held_out: Vec<HeldOut>,
    /// How exact the file's numbers are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounding: Option<Rounding>,
    /// How it is played at a rating asked for, if somebody has measured that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strength: Option<Strength>,
    /// Anything else worth knowing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
}

/// How the tensors of a state dict make a network, where names and shapes do not tell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateDict {
    /// The linear layers of an MLP from the first to the last, with ReLU between them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<LinearLayer>,
    /// What the RMSNorms of a HumChess network add to the mean square.
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
        /// The bias; without one there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bias: Option<String>,
    },
}

/// Where the move logits are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyHead {
    /// The output with the logits of moves.
    pub output: String,
    /// The id of the vocabulary that numbers them.
    pub vocabulary: String,
    /// The output with the logits of promotion pieces, for vocabularies that keep them apart: one for each piece, or
    /// one for each file a pawn promotes on and piece.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promotion_output: Option<String>,
}

/// Where the evaluation is, and what the number means.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ValueHead {
    /// The output with the number.
    pub output: String,
    /// Which number of the output it is, where there are several a position; without it there must be one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<usize>,
    /// What one of it is worth.
    pub unit: Unit,
    /// Who is better off when it grows.
    pub perspective: Perspective,
}

/// Where win, draw and loss are; always in that order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WdlHead {
    /// The output with the three numbers.
    pub output: String,
    /// Whether a softmax is still to be taken.
    pub scale: WdlScale,
    /// Whose win comes first.
    pub perspective: Side,
}

/// What the three numbers of a WDL head are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WdlScale {
    /// Probabilities that add up to one.
    Probabilities,
    /// Logits: take a softmax.
    Logits,
}

/// Where the chances of thinking times are: one for each [bin](tabia_encoding::time_bin), adding up to one.
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
    /// White, whoever is to move.
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

/// A card that cannot be used: bad JSON, an unknown field, or a fact that contradicts the network.
#[derive(Clone, Debug, thiserror::Error)]
#[error("model card: {0}")]
pub struct CardError(pub String);

impl ModelCard {
    /// A card with nothing but an encoding.
    pub fn of_encoding(encoding: &str) -> Self {
        ModelCard {
            version: CARD_VERSION,
            name: None,
            architecture: None,
            encoding: encoding.to_owned(),
            state_dict: None,
            policy: None,
            value: None,
            wdl: None,
            think_time: None,
            licence: None,
            authors: None,
            training_data: None,
            training: None,
            held_out: Vec::new(),
            rounding: None,
            strength: None,
            notes: None,
        }
    }

    /// The card as JSON text.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a card holds only strings, numbers and plain enums")
    }

    /// The encoding that a (partial) card names, if it names one.
    pub(crate) fn declared_encoding(card: &str) -> Result<Option<String>, CardError> {
        let id = object(card)?.get("encoding").and_then(|id| id.as_str().map(str::to_owned));
        Ok(id)
    }

    /// What (partial) cards say of a state dict, later ones winning.
    pub(crate) fn declared_state_dict(cards: &[&str]) -> Result<Option<StateDict>, CardError> {
        let mut merged = serde_json::Value::Null;
        for card in cards {
            if let Some(declared) = object(card)?.get("state_dict") {
                merge(&mut merged, declared.clone());
            }
        }
        serde_json::from_value(merged).map_err(|e| CardError(format!("state_dict: {e}")))
    }

    /// This card with every field that the JSON object `overlay` names replaced.
    pub fn overlaid(&self, overlay: &str) -> Result<ModelCard, CardError> {
        let overlay = object(overlay)?;
        if let Some(version) = overlay.get("version").and_then(serde_json::Value::as_u64)
            && version > u64::from(CARD_VERSION)
        {
            return Err(CardError(format!(
                "layout version {version}; this program knows up to {CARD_VERSION}"
            )));
        }
        let mut merged = serde_json::to_value(self).map_err(|e| CardError(e.to_string()))?;
        merge(&mut merged, overlay);
        let card: ModelCard = serde_json::from_value(merged).map_err(|e| CardError(e.to_string()))?;
        card.strength.as_ref().map_or(Ok(()), Strength::check)?;
        Ok(card)
    }
}

impl ModelCard {
    /// Whether the value head compares the position with a reference instead of judging it alone.
    pub(crate) fn compares(&self) -> bool {
        self.value.as_ref().is_some_and(|head| head.perspective == Perspective::Comparison)
    }
}

impl ValueHead {
    /// The head's number as a score in centipawns, where `turn` is to move, and `context_turn` in the context.
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

    /// The number that [`read`](ValueHead::read) takes for `score`.
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

/// The usual bridge between an expected result and centipawns, as Leela's users know it.
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
                // `unit` is an enum written as a one-key object: its variants replace each other.
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
    fn a_card_survives_its_own_json() {
        let card = pair_card();
        let blank = ModelCard::of_encoding("challenge-768");
        assert_eq!(blank.overlaid(&card.to_json()).unwrap(), card);
    }

    #[test]
    fn a_sidecar_may_name_only_what_it_changes() {
        let card =
            pair_card().overlaid(r#"{"licence": "MIT", "value": {"perspective": "comparison"}}"#).unwrap();
        assert_eq!(card.licence.as_deref(), Some("MIT"));
        let value = card.value.unwrap();
        assert_eq!(value.perspective, Perspective::Comparison);
        assert_eq!(value.unit, Unit::Probability(1000.0));
    }

    #[test]
    fn a_unit_is_replaced_as_a_whole() {
        let card = pair_card().overlaid(r#"{"value": {"unit": {"centipawns": 100}}}"#).unwrap();
        assert_eq!(card.value.unwrap().unit, Unit::Centipawns(100.0));
    }

    #[test]
    fn a_score_leads_back_to_the_number_it_was_read_from() {
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
    fn how_it_was_trained_is_part_of_the_card() {
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
    fn mistakes_are_named() {
        let error = pair_card().overlaid(r#"{"licnece": "MIT"}"#).unwrap_err();
        assert!(error.to_string().contains("licnece"), "{error}");
        let error = pair_card().overlaid(r#"{"version": 9}"#).unwrap_err();
        assert!(error.to_string().contains("version 9"), "{error}");
        assert!(pair_card().overlaid("[]").is_err());
        assert!(pair_card().overlaid("{").is_err());
    }
}
