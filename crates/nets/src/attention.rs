//! Self-attention with normalised queries and keys, as all our transformers have it.

use crate::Layers;
use crate::detect::{DetectError, NamedTensors, dims};
use crate::parameters::{Decay, Initial, ParameterTable};

/// The sizes of an attention layer in which every token attends to every token. `heads` divides `width`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attention {
    /// Numbers per token.
    pub width: usize,
    /// Heads.
    pub heads: usize,
    /// Tokens.
    pub tokens: usize,
    /// What the norms add to the mean square.
    pub eps: f32,
}

impl Attention {
    /// Adds the parameters of block `i` up to its feed-forward layer. Norms are named `{norm}1` and `{norm}2`; `out` initialises
    /// the layer that adds to the residual stream; `bias` is the shape of the attention bias, if there is one.
    pub(crate) fn push_parameters(
        &self,
        table: &mut ParameterTable,
        i: usize,
        norm: &str,
        out: Initial,
        bias: Option<&[usize]>,
    ) {
        let Attention { width: d, heads, .. } = *self;
        let inputs = Initial::Normal(1.0 / (d as f32).sqrt());
        let name = |part: &str| format!("blocks.{i}.{part}");
        table.push(name(&format!("{norm}1.weight")), &[d], Initial::Ones, Decay::Exempt);
        table.push_body(name("attn.qkv.weight"), [3 * d, d], inputs, 3);
        table.push(name("attn.q_norm.weight"), &[d / heads], Initial::Ones, Decay::Exempt);
        table.push(name("attn.k_norm.weight"), &[d / heads], Initial::Ones, Decay::Exempt);
        if let Some(shape) = bias {
            table.push(name("attn.bias"), shape, Initial::Zeros, Decay::Exempt);
        }
        table.push_body(name("attn.out.weight"), [d, d], out, 1);
        table.push(name(&format!("{norm}2.weight")), &[d], Initial::Ones, Decay::Exempt);
    }

    /// Adds the gains of block `i`, which shares the weights of another block.
    pub(crate) fn push_gains(&self, table: &mut ParameterTable, i: usize) {
        for (part, len) in [
            ("norm1.weight", self.width),
            ("attn.q_norm.weight", self.width / self.heads),
            ("attn.k_norm.weight", self.width / self.heads),
            ("norm2.weight", self.width),
        ] {
            table.push(format!("blocks.{i}.{part}"), &[len], Initial::Ones, Decay::Exempt);
        }
    }

    /// `{layer}.{qkv,q_norm,k_norm,out}.weight` on `[batch, tokens, width]`; `bias` is added to the scaled scores.
    pub(crate) fn on<L: Layers>(
        &self,
        net: &mut L,
        layer: &str,
        x: &L::Value,
        bias: Option<&L::Value>,
    ) -> Result<L::Value, L::Error> {
        self.on_with_gains(net, layer, layer, x, bias)
    }

    /// The same with the norms `{gains}.{q_norm,k_norm}.weight`.
    pub(crate) fn on_with_gains<L: Layers>(
        &self,
        net: &mut L,
        layer: &str,
        gains: &str,
        x: &L::Value,
        bias: Option<&L::Value>,
    ) -> Result<L::Value, L::Error> {
        let qkv = net.project(x, &format!("{layer}.qkv.weight"))?;
        let mixed = net.attend(&qkv, gains, self, bias)?;
        net.project(&mixed, &format!("{layer}.out.weight"))
    }

    /// [`Layers::attend`] in primitive operations.
    ///
    /// # Errors
    /// Those of the backend.
    pub fn in_parts<L: Layers>(
        &self,
        net: &mut L,
        qkv: &L::Value,
        layer: &str,
        bias: Option<&L::Value>,
    ) -> Result<L::Value, L::Error> {
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
        scaled_attention(net, &q, &k, &v, [tokens, heads, head], bias)
    }
}

/// Attention without norms of queries and keys, between its two projections: from `[batch, tokens, 3 width]` to
/// `[batch, tokens, width]`. The sizes are tokens, heads and the width of a head; `bias` is added to the scaled scores.
pub(crate) fn split_heads_attention<L: Layers>(
    net: &mut L,
    qkv: &L::Value,
    [tokens, heads, head]: [usize; 3],
    bias: &L::Value,
) -> Result<L::Value, L::Error> {
    let width = heads * head;
    let part = |net: &mut L, index: usize| {
        let part = net.slice(qkv, 2, index * width, (index + 1) * width)?;
        net.reshape(&part, &[tokens, heads, head])
    };
    let (q, k, v) = (part(net, 0)?, part(net, 1)?, part(net, 2)?);
    let q = net.permute(&q, &[0, 2, 1, 3])?;
    scaled_attention(net, &q, &k, &v, [tokens, heads, head], Some(bias))
}

/// Attention of the queries `[batch, heads, tokens, head]` to the keys and values `[batch, tokens, heads, head]`.
pub(crate) fn scaled_attention<L: Layers>(
    net: &mut L,
    q: &L::Value,
    k: &L::Value,
    v: &L::Value,
    [tokens, heads, head]: [usize; 3],
    bias: Option<&L::Value>,
) -> Result<L::Value, L::Error> {
    let k = net.permute(k, &[0, 2, 3, 1])?;
    let v = net.permute(v, &[0, 2, 1, 3])?;
    let scores = net.matmul(q, &k)?;
    let mut scores = net.scale(&scores, 1.0 / (head as f32).sqrt())?;
    if let Some(bias) = bias {
        scores = net.add(&scores, bias)?;
    }
    let weights = net.softmax(&scores)?;
    let mixed = net.matmul(&weights, &v)?;
    let mixed = net.permute(&mixed, &[0, 2, 1, 3])?;
    net.reshape(&mixed, &[tokens, heads * head])
}

/// The sizes of a transformer's blocks, from the tensors of a file.
pub(crate) struct BlockSizes {
    pub(crate) heads: usize,
    pub(crate) layers: usize,
    pub(crate) inner: usize,
}

impl BlockSizes {
    /// # Errors
    /// If a tensor is missing, or the size of a head does not divide `width`.
    pub(crate) fn detect(
        tensors: &dyn NamedTensors,
        width: usize,
        norm: &str,
    ) -> Result<BlockSizes, DetectError> {
        let name = "blocks.0.attn.q_norm.weight";
        let [head] = dims(tensors, name)?;
        if !width.is_multiple_of(head) {
            return Err(DetectError::shape(
                name,
                format!("heads of {head} do not divide a width of {width}"),
            ));
        }
        let [inner, _] = dims(tensors, "blocks.0.ffn.w1.weight")?;
        let layers =
            (0..).take_while(|i| tensors.shape(&format!("blocks.{i}.{norm}1.weight")).is_some()).count();
        Ok(BlockSizes { heads: width / head, layers, inner })
    }
}

/// What is wrong with the sizes of a transformer, if anything.
pub(crate) fn check_sizes(width: usize, heads: usize, others: &[usize]) -> Result<(), String> {
    if width == 0 || heads == 0 || others.contains(&0) {
        return Err("has a size of zero".to_owned());
    }
    if !width.is_multiple_of(heads) {
        return Err(format!("has {heads} heads, which do not divide a width of {width}"));
    }
    Ok(())
}

/// The logit of every pair of squares: the scaled product of one square's vector as origin and the other's as target.
pub(crate) fn square_pairs<L: Layers>(
    net: &mut L,
    squares: &L::Value,
    pair: usize,
) -> Result<L::Value, L::Error> {
    let from = net.project(squares, "from_head.weight")?;
    let to = net.project(squares, "to_head.weight")?;
    let to = net.permute(&to, &[0, 2, 1])?;
    let pairs = net.matmul(&from, &to)?;
    let pairs = net.scale(&pairs, 1.0 / (pair as f32).sqrt())?;
    net.reshape(&pairs, &[64 * 64])
}
