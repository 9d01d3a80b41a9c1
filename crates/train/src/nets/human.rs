use candle_core::Result;
use serde::{Deserialize, Serialize};

use super::attention::{Attention, check_sizes};
use super::layers::{Heads, Layers};
use crate::parameters::{Decay, Initial, ParameterTable};

pub(super) const ENCODING: &str = "tabia-human-1";
pub(super) const VOCABULARY: &str = "from-to-4096-mirrored";

/// Numbers a square.
const SQUARE_INPUTS: usize = 32;
/// Numbers a game.
const GAME_INPUTS: usize = 80;
/// Bins of think time.
const THINK_BINS: usize = tabia_encoding::TIME_BINS;
const SQUARES: usize = 64;
const PROMOTIONS: usize = 4;
const OUTCOMES: usize = 3;
const LAST_RANK: usize = 56;
const EPS: f32 = 1e-6;

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
    /// Numbers a square is represented by.
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
}

impl Default for HumanConfig {
    fn default() -> Self {
        HumanConfig { width: 256, heads: 8, layers: 8, inner: 512, pair: 256, hidden: 128 }
    }
}

impl HumanConfig {
    /// Numbers a head works on.
    pub fn head_width(&self) -> usize {
        self.width / self.heads
    }

    pub(super) fn check(&self) -> std::result::Result<(), String> {
        check_sizes(self.width, self.heads, &[self.layers, self.inner, self.pair, self.hidden])
    }

    /// The parameters. `w1` and `w3` are neighbours, and so are `from_head` and `to_head`: products with both may be made
    /// at once where the sizes leave no gap between them.
    pub(super) fn table(&self) -> ParameterTable {
        let HumanConfig { width: d, layers, inner, pair, hidden, .. } = *self;
        let fan = |inputs: usize| Initial::Normal(1.0 / (inputs as f32).sqrt());
        // What a block adds starts small, so that the sum over all blocks does not grow with their number.
        let residual = |inputs: usize| Initial::Normal(1.0 / ((inputs * 2 * layers) as f32).sqrt());
        let mut table = ParameterTable::new();
        table.push("squares.weight", &[d, SQUARE_INPUTS], Initial::Normal(0.2), Decay::Exempt);
        table.push("position.weight", &[SQUARES, d], Initial::Normal(0.1), Decay::Exempt);
        table.push("game.weight", &[d, GAME_INPUTS], Initial::Normal(0.05), Decay::Exempt);
        let attention = self.attention();
        for i in 0..layers {
            let name = |part: &str| format!("blocks.{i}.{part}");
            attention.push_parameters(&mut table, i, residual(d));
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
        table.push("time_head.weight", &[THINK_BINS, hidden], fan(hidden), Decay::Decayed);
        table.push("time_head.bias", &[THINK_BINS], Initial::Zeros, Decay::Exempt);
        table
    }

    fn attention(&self) -> Attention {
        Attention { width: self.width, heads: self.heads, tokens: SQUARES, eps: EPS }
    }

    pub(super) fn forward<L: Layers>(&self, net: &mut L) -> Result<Heads<L::Value>> {
        let squares = net.input(0)?;
        let game = net.input(1)?;
        let squares = net.project(&squares, "squares.weight")?;
        let places = net.parameter("position.weight")?;
        let mut x = net.add(&squares, &places)?;
        let game = net.reshape(&game, &[1, GAME_INPUTS])?;
        let game = net.project(&game, "game.weight")?;
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
        let pooled = net.mean(&y, 1)?;
        let hidden = net.linear(&pooled, "value_hidden")?;
        let hidden = net.silu(&hidden)?;
        let outcome = net.linear(&hidden, "wdl_head")?;
        let think = net.linear(&hidden, "time_head")?;
        Ok(Heads {
            policy: Some(policy),
            promotion: Some(promotion),
            outcome: Some(outcome),
            think: Some(think),
            value: None,
        })
    }
}

/// The logit of every pair of squares, from the vectors of both.
pub(super) fn square_pairs<L: Layers>(net: &mut L, squares: &L::Value, pair: usize) -> Result<L::Value> {
    let from = net.project(squares, "from_head.weight")?;
    let to = net.project(squares, "to_head.weight")?;
    let to = net.permute(&to, &[0, 2, 1])?;
    let pairs = net.matmul(&from, &to)?;
    let pairs = net.scale(&pairs, 1.0 / (pair as f32).sqrt())?;
    net.reshape(&pairs, &[SQUARES * SQUARES])
}
