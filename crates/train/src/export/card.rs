use tabia_encoding::{Encoding, encoding};
use tabia_model::{Figures, ModelCard, PolicyHead, Side, ThinkTimeHead, Unit, ValueHead, WdlHead, WdlScale};

use super::Provenance;
use crate::nets::{ChallengeConfig, NnueActivation};
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
    card.architecture = Some(architecture(net));
    if let Some(vocabulary) = net.vocabulary() {
        let (output, promotion_output) = match net {
            NetConfig::Human(_) => ("move_logits", Some("promotion_logits")),
            NetConfig::Humchess(_) => ("move_logits", Some("promo_logits")),
            _ => ("policy", None),
        };
        card.policy = Some(PolicyHead {
            output: output.to_owned(),
            vocabulary: vocabulary.to_owned(),
            promotion_output: promotion_output.map(str::to_owned),
        });
    } else {
        let centipawns = Unit::Centipawns(provenance.value_unit_cp.unwrap_or(100.0));
        let convention = encoding(net.encoding()).map(Encoding::value_convention).unwrap_or_default();
        let unit = match convention.unit {
            Unit::Centipawns(_) => centipawns,
            other => other,
        };
        let perspective = convention.perspective;
        card.value = Some(ValueHead { output: "value".to_owned(), index: None, unit, perspective });
    }
    if let NetConfig::Human(_) = net {
        card.wdl = Some(WdlHead {
            output: "wdl".to_owned(),
            scale: WdlScale::Probabilities,
            perspective: Side::Mover,
        });
        card.think_time = Some(ThinkTimeHead { output: "think_time".to_owned() });
    }
    card
}

fn architecture(net: &NetConfig) -> String {
    match net {
        NetConfig::Human(c) => format!(
            "human transformer: {} layers, width {}, {} heads, inner width {}, moves by square pairs of width {}",
            c.layers, c.width, c.heads, c.inner, c.pair
        ),
        NetConfig::Humchess(c) => format!(
            "HumChess transformer: {} layers, width {}, {} heads, inner width {}, {:?} tokens, moves by {:?}",
            c.layers, c.width, c.heads, c.inner, c.tokens, c.moves
        ),
        NetConfig::PolicyCnn(c) => format!(
            "policy CNN: {} residual blocks, {} channels, kernel {}, {:?} head",
            c.blocks, c.channels, c.kernel, c.head
        ),
        NetConfig::PolicyMlp(c) => format!("policy MLP, hidden layers {:?}", c.hidden),
        NetConfig::ValueMlp(c) => format!("value MLP, hidden layers {:?}", c.hidden),
        NetConfig::Nnue(c) => {
            let squared = match c.activation {
                NnueActivation::Clipped => "",
                NnueActivation::SquaredClipped => ", squared",
            };
            format!("perspective network (768 -> {}) x 2 -> 1, {} buckets{squared}", c.width, c.buckets)
        }
        NetConfig::ValueCnn(c) => format!("value CNN: {} residual blocks, {} channels", c.blocks, c.channels),
        NetConfig::Pair(c) => format!("two inputs of 769, {} each, then {:?}", c.first, c.hidden),
        NetConfig::Challenge(c) => format!("Chess Challenge entry, {}", challenge_body(c)),
    }
}

fn challenge_body(body: &ChallengeConfig) -> String {
    match body {
        ChallengeConfig::Dense { hidden } => format!("dense, hidden layers {hidden:?}"),
        ChallengeConfig::Conv { channels, blocks, .. } => {
            format!("convolutions: {blocks} residual blocks, {channels} channels")
        }
        ChallengeConfig::Attention(c) => {
            let shared = match c.distinct {
                Some(distinct) if distinct < c.layers => format!(" with the weights of {distinct}"),
                _ => String::new(),
            };
            format!(
                "attention over the squares: {} layers{shared}, width {}, {} heads, inner width {}",
                c.layers, c.width, c.heads, c.inner
            )
        }
        ChallengeConfig::Perspective(c) => architecture(&NetConfig::Nnue(*c)),
    }
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
