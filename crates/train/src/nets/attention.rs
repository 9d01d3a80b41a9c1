use candle_core::Result;

use super::layers::Layers;
use crate::parameters::{Decay, Initial, ParameterTable};

/// Attention of every token to every token, with queries and keys normed per head.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Attention {
    pub(crate) width: usize,
    pub(crate) heads: usize,
    pub(crate) tokens: usize,
    pub(crate) eps: f32,
}

impl Attention {
    /// The parameters of block `i` up to its feed-forward layer, with a bias for every pair of tokens; `out` is what the
    /// layer that adds to the trunk starts with.
    pub(super) fn push_parameters(&self, table: &mut ParameterTable, i: usize, out: Initial) {
        self.push_with_bias(table, i, out, Some(&[self.heads, self.tokens, self.tokens]));
    }

    /// The same with a bias of another shape, or none.
    pub(super) fn push_with_bias(
        &self,
        table: &mut ParameterTable,
        i: usize,
        out: Initial,
        bias: Option<&[usize]>,
    ) {
        let Attention { width: d, heads, .. } = *self;
        let inputs = Initial::Normal(1.0 / (d as f32).sqrt());
        let name = |part: &str| format!("blocks.{i}.{part}");
        table.push(name("norm1.weight"), &[d], Initial::Ones, Decay::Exempt);
        table.push_body(name("attn.qkv.weight"), [3 * d, d], inputs, 3);
        table.push(name("attn.q_norm.weight"), &[d / heads], Initial::Ones, Decay::Exempt);
        table.push(name("attn.k_norm.weight"), &[d / heads], Initial::Ones, Decay::Exempt);
        if let Some(shape) = bias {
            table.push(name("attn.bias"), shape, Initial::Zeros, Decay::Exempt);
        }
        table.push_body(name("attn.out.weight"), [d, d], out, 1);
        table.push(name("norm2.weight"), &[d], Initial::Ones, Decay::Exempt);
    }

    /// The gains of block `i`, whose weights are another block's.
    pub(super) fn push_gains(&self, table: &mut ParameterTable, i: usize) {
        let name = |part: &str| format!("blocks.{i}.{part}");
        for (part, len) in [
            ("norm1.weight", self.width),
            ("attn.q_norm.weight", self.width / self.heads),
            ("attn.k_norm.weight", self.width / self.heads),
            ("norm2.weight", self.width),
        ] {
            table.push(name(part), &[len], Initial::Ones, Decay::Exempt);
        }
    }

    /// `{layer}.{qkv,q_norm,k_norm,out}.weight` on `[batch, tokens, width]`; `bias` is added to the scaled products.
    pub(super) fn on<L: Layers>(
        &self,
        net: &mut L,
        layer: &str,
        x: &L::Value,
        bias: Option<&L::Value>,
    ) -> Result<L::Value> {
        self.on_with_gains(net, layer, layer, x, bias)
    }

    /// The same with `{gains}.{q_norm,k_norm}.weight`.
    pub(super) fn on_with_gains<L: Layers>(
        &self,
        net: &mut L,
        layer: &str,
        gains: &str,
        x: &L::Value,
        bias: Option<&L::Value>,
    ) -> Result<L::Value> {
        let qkv = net.project(x, &format!("{layer}.qkv.weight"))?;
        let mixed = net.attend(&qkv, gains, self, bias)?;
        net.project(&mixed, &format!("{layer}.out.weight"))
    }

    /// What every token makes of the others, from `qkv` `[batch, tokens, 3 width]`, out of primitive layers.
    pub(crate) fn in_parts<L: Layers>(
        &self,
        net: &mut L,
        qkv: &L::Value,
        layer: &str,
        bias: Option<&L::Value>,
    ) -> Result<L::Value> {
        let &Attention { width, heads, tokens, eps } = self;
        let head = width / heads;
        let part = |net: &mut L, index: usize| {
            let part = net.slice(qkv, 2, index * width, (index + 1) * width)?;
            net.reshape(&part, &[tokens, heads, head])
        };
        let (q, k, v) = (part(net, 0)?, part(net, 1)?, part(net, 2)?);
        let q = net.rms_norm(&q, &format!("{layer}.q_norm.weight"), eps)?;
        let k = net.rms_norm(&k, &format!("{layer}.k_norm.weight"), eps)?;
        let q = net.permute(&q, &[0, 2, 1, 3])?;
        let k = net.permute(&k, &[0, 2, 3, 1])?;
        let v = net.permute(&v, &[0, 2, 1, 3])?;
        let scores = net.matmul(&q, &k)?;
        let mut scores = net.scale(&scores, 1.0 / (head as f32).sqrt())?;
        if let Some(bias) = bias {
            scores = net.add(&scores, bias)?;
        }
        let weights = net.softmax(&scores)?;
        let mixed = net.matmul(&weights, &v)?;
        let mixed = net.permute(&mixed, &[0, 2, 1, 3])?;
        net.reshape(&mixed, &[tokens, width])
    }
}

/// What is wrong with the sizes of a transformer, if anything.
pub(super) fn check_sizes(width: usize, heads: usize, others: &[usize]) -> std::result::Result<(), String> {
    if width == 0 || heads == 0 || others.contains(&0) {
        return Err("has a size of zero".to_owned());
    }
    if !width.is_multiple_of(heads) {
        return Err(format!("has {heads} heads, which do not divide a width of {width}"));
    }
    Ok(())
}
