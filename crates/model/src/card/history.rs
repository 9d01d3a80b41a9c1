use serde::{Deserialize, Serialize};

/// How a network was trained, as far as it takes to do it again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Training {
    /// The commands, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// What it was trained on: a processor or a graphics card.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// The seed of weights, order and dropout.
    pub seed: u64,
    /// Optimiser steps.
    pub steps: u64,
    /// Positions seen, each as often as it was.
    pub positions: u64,
    /// Minutes of training.
    pub minutes: f64,
}

/// How well a network foretells positions it was not trained on; what does not apply is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figures {
    /// Cross entropy of the move, over legal moves alone, in nats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_loss: Option<f64>,
    /// Share of positions whose move is the network's first choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top1: Option<f64>,
    /// Share of positions whose move is among its first five.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top5: Option<f64>,
    /// Cross entropy of win, draw and loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_loss: Option<f64>,
    /// Cross entropy of the think-time bin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think_loss: Option<f64>,
    /// What was minimised of the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_loss: Option<f64>,
    /// Mean distance between the value and its target, in the target's units: pawns or chances.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_error: Option<f64>,
    /// Correlation of the value with its target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_correlation: Option<f64>,
    /// Share of positions, of those that are not even, whose better side the value names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_sign: Option<f64>,
    /// Share of positions in which no move is better than the one that looks best one ply ahead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best_move: Option<f64>,
    /// How many centipawns that choice gives away on average.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub move_loss_cp: Option<f64>,
}

/// The figures of one group of held-out positions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeldOut {
    /// Which positions; `all` is every one of them.
    pub group: String,
    /// How many.
    pub positions: u64,
    /// What the network made of them.
    pub figures: Figures,
}

/// How exact the numbers of a file are, and what that cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rounding {
    /// What the weights are: `f32`, `f16` or `int8`.
    pub weights: String,
    /// The network as trained and as the file has it, on the same held-out positions. Absent: nobody measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<Accuracy>,
}

/// Two versions of a network on the same held-out positions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accuracy {
    /// How many positions.
    pub positions: u64,
    /// The network as trained, in 32 bits.
    pub trained: Figures,
    /// The file, as a player loads it.
    pub written: Figures,
    /// Share of positions whose likeliest move is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_choices: Option<f64>,
    /// Mean distance between the two values, in the network's units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_difference: Option<f64>,
}
