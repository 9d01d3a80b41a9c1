//! The human network: a transformer over the 64 squares that predicts a person's move, the game's result and the think time.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use serde::{Deserialize, Serialize};
use tabia_encoding::TIME_BINS;

use crate::attention::{Attention, BlockSizes, check_sizes, square_pairs};
use crate::detect::{DetectError, Detected, Detector, Hints, NamedTensors, contains, dims};
use crate::parameters::{Decay, Initial, ParameterTable};
use crate::{Architecture, Heads, Layers, NetConfig, Output, Outputs};

pub(crate) const DETECTOR: Detector = Detector { name: "the transformer of human players", fits, detect };

/// Squares, which are the tokens.
pub const SQUARES: usize = 64;
/// Inputs per square.
pub const SQUARE_INPUTS: usize = 32;
/// Inputs per game of `tabia-human-1`.
const GAME_INPUTS: usize = 80;
/// Inputs per game of `tabia-human-2`.
const GAME_INPUTS_WITH_SITES: usize = 82;
/// The first square of the last rank, as the mover sees the board.
pub const LAST_RANK: usize = 56;
/// Pieces to promote to.
pub const PROMOTIONS: usize = 4;
/// Win, draw, loss.
pub const OUTCOMES: usize = 3;
/// What the norms add to the mean square.
pub const EPS: f32 = 1e-6;

/// The sizes of the human network.
///
/// With `x[s] = squares.weight * square[s] + position.weight[s] + game.weight * game`, each block adds attention over the
/// 64 squares (`attn.bias` is added to the scaled products, queries and keys are normed per head) and a gated layer
/// `w2(silu(w1 h) * w3 h)`; norms are RMS with eps 1e-6. After `norm_final` the logit of a move is
/// `(from_head y[from]) . (to_head y[to]) / sqrt(pair)`, of a promotion piece `promotion_head y[to]` for squares of the
/// last rank, and win/draw/loss and think time are read from `silu(value_hidden mean(y) + bias)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HumanConfig {
    /// Width of a square's vector.
    pub width: usize,
    /// Attention heads; they divide the width.
    pub heads: usize,
    /// Blocks.
    pub layers: usize,
    /// Inner width of the gated layer.
    pub inner: usize,
    /// Width of the vectors whose products score pairs of squares.
    pub pair: usize,
    /// Hidden width of the heads on the pooled board.
    pub hidden: usize,
    /// Whether it is told which server ratings are from: its encoding is `tabia-human-2`, else `tabia-human-1`.
    pub sites: bool,
}

impl Default for HumanConfig {
    fn default() -> Self {
        HumanConfig { width: 256, heads: 8, layers: 8, inner: 512, pair: 256, hidden: 128, sites: false }
    }
}

impl HumanConfig {
    /// Numbers per head.
    pub fn head_width(&self) -> usize {
        self.width / self.heads
    }

    /// Inputs per game.
    pub fn game_inputs(&self) -> usize {
        if self.sites { GAME_INPUTS_WITH_SITES } else { GAME_INPUTS }
    }

    fn attention(&self) -> Attention {
        Attention { width: self.width, heads: self.heads, tokens: SQUARES, eps: EPS }
    }

    /// The sizes of the network that `tensors` are the parameters of.
    ///
    /// # Errors
    /// If a tensor they are read off from is missing or has another rank.
    pub fn detect(tensors: &dyn NamedTensors) -> Result<Self, DetectError> {
        let [width, _] = dims(tensors, "squares.weight")?;
        let BlockSizes { heads, layers, inner } = BlockSizes::detect(tensors, width, "norm")?;
        let [pair, _] = dims(tensors, "from_head.weight")?;
        let judges = contains(tensors, "wdl_head.weight") || contains(tensors, "time_head.weight");
        let [hidden, _] = if judges { dims(tensors, "value_hidden.weight")? } else { [0, 0] };
        let [_, game] = dims(tensors, "game.weight")?;
        let sites = game == GAME_INPUTS_WITH_SITES;
        Ok(HumanConfig { width, heads, layers, inner, pair, hidden, sites })
    }

    /// The parameters that a file with these tensors has to have: heads on the pooled board are optional, and so are biases.
    pub fn table_of(&self, tensors: &dyn NamedTensors) -> ParameterTable {
        let table = self.table();
        let is_there = |layer: &str| contains(tensors, &format!("{layer}.weight"));
        table.filtered(|entry| {
            let name = &*entry.name;
            let head = ["wdl_head", "time_head"].into_iter().find(|head| name.starts_with(head));
            match head {
                _ if table.is_linear_bias(name) => contains(tensors, name),
                Some(head) => is_there(head),
                None if name.starts_with("value_hidden") => is_there("wdl_head") || is_there("time_head"),
                None => true,
            }
        })
    }
}

fn fits(tensors: &dyn NamedTensors) -> bool {
    contains(tensors, "squares.weight") && contains(tensors, "blocks.0.attn.qkv.weight")
}

fn detect(tensors: &dyn NamedTensors, _: &Hints) -> Result<Detected, DetectError> {
    let config = HumanConfig::detect(tensors)?;
    Ok(Detected::new(NetConfig::Human(config), config.table_of(tensors)))
}

impl Architecture for HumanConfig {
    fn graph_name(&self) -> &'static str {
        "tabia-human"
    }

    fn encoding(&self) -> &str {
        if self.sites { "tabia-human-2" } else { "tabia-human-1" }
    }

    fn vocabulary(&self) -> Option<&'static str> {
        Some("from-to-4096-mirrored")
    }

    fn check(&self) -> Result<(), String> {
        check_sizes(self.width, self.heads, &[self.layers, self.inner, self.pair, self.hidden])
    }

    /// The parameters. `w1` and `w3` are neighbours, and so are `from_head` and `to_head`: products with both may be made
    /// at once where the sizes leave no gap between them.
    fn table(&self) -> ParameterTable {
        let HumanConfig { width: d, layers, inner, pair, hidden, .. } = *self;
        let fan = |inputs: usize| Initial::Normal(1.0 / (inputs as f32).sqrt());
        // What a block adds starts small, so that the sum over all blocks does not grow with their number.
        let residual = |inputs: usize| Initial::Normal(1.0 / (inputs as f32 * 2.0 * layers as f32).sqrt());
        let mut table = ParameterTable::new();
        table.push("squares.weight", &[d, SQUARE_INPUTS], Initial::Normal(0.2), Decay::Exempt);
        table.push("position.weight", &[SQUARES, d], Initial::Normal(0.1), Decay::Exempt);
        table.push("game.weight", &[d, self.game_inputs()], Initial::Normal(0.05), Decay::Exempt);
        let attention = self.attention();
        let bias = [self.heads, SQUARES, SQUARES];
        for i in 0..layers {
            let name = |part: &str| format!("blocks.{i}.{part}");
            attention.push_parameters(&mut table, i, "norm", residual(d), Some(&bias));
            table.push_body(name("ffn.w1.weight"), [inner, d], fan(d), 1);
            table.push_body(name("ffn.w3.weight"), [inner, d], fan(d), 1);
            table.push_body(name("ffn.w2.weight"), [d, inner], residual(inner), 1);
        }
        table.push("norm_final.weight", &[d], Initial::Ones, Decay::Exempt);
        table.push("from_head.weight", &[pair, d], fan(d), Decay::Decayed);
        table.push("to_head.weight", &[pair, d], fan(d), Decay::Decayed);
        table.push("promotion_head.weight", &[PROMOTIONS, d], fan(d), Decay::Decayed);
        table.push("value_hidden.weight", &[hidden, d], fan(d), Decay::Decayed);
        table.push("value_hidden.bias", &[hidden], Initial::Zeros, Decay::Exempt);
        table.push("wdl_head.weight", &[OUTCOMES, hidden], fan(hidden), Decay::Decayed);
        table.push("wdl_head.bias", &[OUTCOMES], Initial::Zeros, Decay::Exempt);
        table.push("time_head.weight", &[TIME_BINS, hidden], fan(hidden), Decay::Decayed);
        table.push("time_head.bias", &[TIME_BINS], Initial::Zeros, Decay::Exempt);
        table
    }

    fn forward<L: Layers>(&self, net: &mut L) -> Result<Heads<L::Value>, L::Error> {
        let squares = net.input(0)?;
        let game = net.input(1)?;
        let squares = net.project(&squares, "squares.weight")?;
        let places = net.parameter("position.weight")?;
        let mut x = net.add(&squares, &places)?;
        let game = net.project(&game, "game.weight")?;
        let game = net.reshape(&game, &[1, self.width])?;
        x = net.add(&x, &game)?;

        let attention = self.attention();
        for i in 0..self.layers {
            let name = |part: &str| format!("blocks.{i}.{part}");
            let h = net.rms_norm(&x, &name("norm1.weight"), EPS)?;
            let bias = net.parameter(&name("attn.bias"))?;
            let h = attention.on(net, &name("attn"), &h, Some(&bias))?;
            x = net.add(&x, &h)?;
            let h = net.rms_norm(&x, &name("norm2.weight"), EPS)?;
            let gate = net.project(&h, &name("ffn.w1.weight"))?;
            let gate = net.silu(&gate)?;
            let inner = net.project(&h, &name("ffn.w3.weight"))?;
            let inner = net.mul(&gate, &inner)?;
            let inner = net.project(&inner, &name("ffn.w2.weight"))?;
            x = net.add(&x, &inner)?;
        }
        let y = net.rms_norm(&x, "norm_final.weight", EPS)?;

        let policy = square_pairs(net, &y, self.pair)?;
        let last_rank = net.slice(&y, 1, LAST_RANK, SQUARES)?;
        let promotion = net.project(&last_rank, "promotion_head.weight")?;
        let mut heads = Heads { policy: Some(policy), promotion: Some(promotion), ..Heads::default() };
        let (outcome, think) = (net.has("wdl_head.weight"), net.has("time_head.weight"));
        if outcome || think {
            let pooled = net.mean(&y, 1)?;
            let hidden = net.linear(&pooled, "value_hidden")?;
            let hidden = net.silu(&hidden)?;
            heads.outcome = outcome.then(|| net.linear(&hidden, "wdl_head")).transpose()?;
            heads.think = think.then(|| net.linear(&hidden, "time_head")).transpose()?;
        }
        Ok(heads)
    }

    fn outputs(&self) -> Outputs {
        Outputs {
            policy: Some(Output { name: "move_logits", width: SQUARES * SQUARES }),
            promotion: Some(Output { name: "promotion_logits", width: 8 * PROMOTIONS }),
            outcome: Some(Output { name: "wdl", width: OUTCOMES }),
            think: Some(Output { name: "think_time", width: TIME_BINS }),
            ..Outputs::default()
        }
    }

    fn describe(&self, table: &ParameterTable) -> String {
        let HumanConfig { width, heads, layers, inner, pair, .. } = *self;
        let said = |head: &str, words| if table.get(head).is_some() { words } else { "" };
        format!(
            "human transformer: {layers} layers, width {width}, {heads} heads, inner width {inner}, moves by square \
             pairs of width {pair}{}{}",
            said("wdl_head.weight", ", win/draw/loss"),
            said("time_head.weight", ", thinking time")
        )
    }
}
