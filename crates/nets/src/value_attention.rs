//! A transformer that evaluates a position: the attention body of a Chess Challenge entry.

use serde::{Deserialize, Serialize};

use crate::attention::{Attention, check_sizes};
use crate::parameters::{Decay, Initial, ParameterTable};
use crate::relative_bias::TABLE;
use crate::{Architecture, Heads, Layers, Outputs, progress};

const PLANES: usize = 12;
pub(crate) const SQUARES: usize = 64;
const EPS: f32 = 1e-6;
const SHARED_BIAS: &str = "attn.bias";

/// A transformer over the 64 squares of `challenge-768` that gives one number, read from the mean of all squares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ValueAttentionConfig {
    /// Width of a square's vector.
    pub width: usize,
    /// Attention heads; they divide the width.
    pub heads: usize,
    /// Blocks.
    pub layers: usize,
    /// How many blocks have weights of their own; those after them use the same weights again in turn, with gains of
    /// their own. A layer more then costs time but hardly any parameters. Not given, every block has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distinct: Option<usize>,
    /// Inner width of the feed-forward layer.
    pub inner: usize,
    /// Width of the hidden layer before the output.
    pub hidden: usize,
    /// What attention knows of the squares' places besides their own representations.
    #[serde(default)]
    pub bias: AttentionBias,
    /// Whether a term rewards progress of the side that is ahead: 5,633 parameters.
    #[serde(default, skip_serializing_if = "is_false")]
    pub progress: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// A number for each head and pair of squares, added to the logarithm of how much one attends to the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AttentionBias {
    /// Every block has its own: 4096 parameters a head and block.
    #[default]
    EachLayer,
    /// All blocks have the same: 4096 parameters a head.
    Shared,
    /// Every block has its own, which depends only on how far apart the squares are in files and ranks: 256 parameters a
    /// head and block.
    Relative,
    /// None.
    None,
}

impl ValueAttentionConfig {
    fn distinct(&self) -> usize {
        self.distinct.unwrap_or(self.layers)
    }

    fn attention(&self) -> Attention {
        Attention { width: self.width, heads: self.heads, tokens: SQUARES, eps: EPS }
    }
}

impl Architecture for ValueAttentionConfig {
    fn graph_name(&self) -> &'static str {
        "challenge"
    }

    fn encoding(&self) -> &str {
        "challenge-768"
    }

    fn check(&self) -> Result<(), String> {
        check_sizes(self.width, self.heads, &[self.layers, self.inner, self.hidden, self.distinct()])?;
        if self.distinct() > self.layers {
            return Err(format!("has {} distinct blocks, but {} layers", self.distinct(), self.layers));
        }
        Ok(())
    }

    fn table(&self) -> ParameterTable {
        let ValueAttentionConfig { width: d, layers, inner, hidden, .. } = *self;
        let fan = |inputs: usize| Initial::Normal(1.0 / (inputs as f32).sqrt());
        let residual = |inputs: usize| Initial::Normal(1.0 / (inputs as f32 * 2.0 * layers as f32).sqrt());
        let mut table = ParameterTable::new();
        table.push("squares.weight", &[d, PLANES], Initial::Normal(0.5), Decay::Exempt);
        table.push("position.weight", &[SQUARES, d], Initial::Normal(0.2), Decay::Exempt);
        let attention = self.attention();
        if self.bias == AttentionBias::Shared {
            table.push(SHARED_BIAS, &[self.heads, SQUARES, SQUARES], Initial::Zeros, Decay::Exempt);
        }
        let own_bias = match self.bias {
            AttentionBias::EachLayer => Some([self.heads, SQUARES, SQUARES]),
            AttentionBias::Relative => Some([self.heads, TABLE, TABLE]),
            AttentionBias::Shared | AttentionBias::None => None,
        };
        for i in 0..layers {
            let name = |part: &str| format!("blocks.{i}.{part}");
            if i >= self.distinct() {
                attention.push_gains(&mut table, i);
                continue;
            }
            let own_bias = own_bias.as_ref().map(|shape| &shape[..]);
            attention.push_parameters(&mut table, i, "norm", residual(d), own_bias);
            table.push_body(name("ffn.w1.weight"), [inner, d], fan(d), 1);
            table.push_body(name("ffn.w2.weight"), [d, inner], residual(inner), 1);
        }
        table.push("norm_final.weight", &[d], Initial::Ones, Decay::Exempt);
        table.push("hidden.weight", &[hidden, d], fan(d), Decay::Decayed);
        table.push("hidden.bias", &[hidden], Initial::Zeros, Decay::Exempt);
        table.push("output.weight", &[1, hidden], fan(hidden), Decay::Decayed);
        table.push("output.bias", &[1], Initial::Zeros, Decay::Exempt);
        if self.progress {
            progress::push_parameters(&mut table);
        }
        table
    }

    fn forward<L: Layers>(&self, net: &mut L) -> Result<Heads<L::Value>, L::Error> {
        let board = net.input(0)?;
        let squares = net.reshape(&board, &[PLANES, SQUARES])?;
        let squares = net.permute(&squares, &[0, 2, 1])?;
        let squares = net.project(&squares, "squares.weight")?;
        let places = net.parameter("position.weight")?;
        let mut x = net.add(&squares, &places)?;
        let attention = self.attention();
        for i in 0..self.layers {
            let block = format!("blocks.{}", i % self.distinct());
            let name = |part: &str| format!("{block}.{part}");
            let gain = |part: &str| format!("blocks.{i}.{part}");
            let h = net.rms_norm(&x, &gain("norm1.weight"), EPS)?;
            let bias = match self.bias {
                AttentionBias::EachLayer => Some(net.parameter(&name("attn.bias"))?),
                AttentionBias::Shared => Some(net.parameter(SHARED_BIAS)?),
                AttentionBias::Relative => Some(net.relative_bias(&name("attn.bias"))?),
                AttentionBias::None => None,
            };
            let h = attention.on_with_gains(net, &name("attn"), &gain("attn"), &h, bias.as_ref())?;
            x = net.add(&x, &h)?;
            let h = net.rms_norm(&x, &gain("norm2.weight"), EPS)?;
            let inner = net.project(&h, &name("ffn.w1.weight"))?;
            let inner = net.silu(&inner)?;
            let inner = net.project(&inner, &name("ffn.w2.weight"))?;
            x = net.add(&x, &inner)?;
        }
        let y = net.rms_norm(&x, "norm_final.weight", EPS)?;
        let pooled = net.mean(&y, 1)?;
        let hidden = net.linear(&pooled, "hidden")?;
        let hidden = net.silu(&hidden)?;
        let mut value = net.linear(&hidden, "output")?;
        if self.progress {
            value = progress::added_to(net, &value, &board)?;
        }
        Ok(Heads { value: Some(value), ..Heads::default() })
    }

    fn outputs(&self) -> Outputs {
        Outputs::value()
    }

    fn describe(&self, _: &ParameterTable) -> String {
        let shared = match self.distinct {
            Some(distinct) if distinct < self.layers => format!(" with the weights of {distinct}"),
            _ => String::new(),
        };
        let progress = if self.progress { ", a term for progress" } else { "" };
        format!(
            "attention over the squares: {} layers{shared}, width {}, {} heads, inner width {}{progress}",
            self.layers, self.width, self.heads, self.inner
        )
    }
}
