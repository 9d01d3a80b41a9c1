use tabia_encoding::{Encoding, encoding};
use tabia_model::{
    Figures, ModelCard, OutcomeOrder, PolicyHead, Side, ThinkTimeHead, Unit, ValueHead, WdlHead, WdlScale,
};

use super::Provenance;
use crate::{GroupScore, NetConfig};

/// The card of an exported network.
pub(super) fn card(net: &NetConfig, provenance: &Provenance) -> ModelCard {
    let filled = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let mut card = ModelCard::of_encoding(net.encoding());
    card.name = filled(&provenance.name);
    card.authors = filled(&provenance.authors);
    card.training_data = filled(&provenance.data);
    card.licence = filled(&provenance.licence);
    card.training.clone_from(&provenance.training);
    card.held_out.clone_from(&provenance.held_out);
    card.notes = filled(&provenance.notes);
    card.architecture = Some(net.describe(&net.table()));
    let outputs = net.outputs();
    if let Some((policy, vocabulary)) = outputs.policy.zip(net.vocabulary()) {
        card.policy = Some(PolicyHead {
            output: policy.name.to_owned(),
            vocabulary: vocabulary.to_owned(),
            promotion_output: outputs.promotion.map(|output| output.name.to_owned()),
            action_values: false,
        });
    }
    if let Some(value) = outputs.value {
        let centipawns = Unit::Centipawns(provenance.value_unit_cp.unwrap_or(100.0));
        let convention = encoding(net.encoding()).map(Encoding::value_convention).unwrap_or_default();
        let unit = match convention.unit {
            Unit::Centipawns(_) => centipawns,
            other => other,
        };
        let perspective = convention.perspective;
        card.value = Some(ValueHead { output: value.name.to_owned(), index: None, unit, perspective });
    }
    if let Some(outcome) = outputs.outcome {
        card.wdl = Some(WdlHead {
            output: outcome.name.to_owned(),
            scale: WdlScale::Probabilities,
            perspective: Side::Mover,
            order: OutcomeOrder::WinDrawLoss,
        });
    }
    card.think_time = outputs.think.map(|think| ThinkTimeHead { output: think.name.to_owned() });
    card
}

/// A score as a card has it.
pub(super) fn figures(score: &GroupScore) -> Figures {
    let digits = |value: Option<f64>| value.map(rounded);
    Figures {
        log_loss: digits(score.policy),
        top1: digits(score.top1),
        top5: digits(score.top5),
        result_loss: digits(score.outcome),
        think_loss: digits(score.think),
        value_loss: digits(score.value),
        value_error: digits(score.value_error),
        value_correlation: digits(score.value_correlation),
        value_sign: digits(score.value_sign),
        best_move: digits(score.best_move),
        move_loss_cp: digits(score.move_loss_cp),
    }
}

/// As many digits as mean something.
pub(super) fn rounded(value: f64) -> f64 {
    (value * 1e5).round() / 1e5
}
