use serde::{Deserialize, Serialize};

/// How a network was trained, to be reproduced.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Training {
    /// The commands, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// The device: a CPU or GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// The seed of weights, order and dropout.
    pub seed: u64,
    /// Optimiser steps.
    pub steps: u64,
    /// Positions seen, counting repetitions.
    pub positions: u64,
    /// Minutes of training.
    pub minutes: f64,
}

/// Accuracy on positions the network was not trained on; figures that do not apply are absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figures {
    /// Cross entropy of the move over legal moves, in nats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_loss: Option<f64>,
    /// Top-1 move-prediction accuracy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top1: Option<f64>,
    /// Top-5 move-prediction accuracy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top5: Option<f64>,
    /// Cross entropy of win, draw and loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_loss: Option<f64>,
    /// Cross entropy of the think-time bin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think_loss: Option<f64>,
    /// The value loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_loss: Option<f64>,
    /// Mean absolute error of the value, in the target's unit: pawns or probability.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_error: Option<f64>,
    /// Correlation of the value with its target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_correlation: Option<f64>,
    /// Share of unequal positions where the value has the right sign.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_sign: Option<f64>,
    /// Share of positions where the best move after one ply is a best move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best_move: Option<f64>,
    /// Average centipawn loss of that move.
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
    /// The figures.
    pub figures: Figures,
}

/// The precision of the stored weights, and its cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rounding {
    /// `f32`, `f16` or `int8`.
    pub weights: String,
    /// The trained and the stored network on the same held-out positions, if measured.
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
    /// Share of positions with a different most likely move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_choices: Option<f64>,
    /// Mean distance between the two values, in the network's units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_difference: Option<f64>,
}
