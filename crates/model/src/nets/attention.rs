//! Self-attention with normalised queries and keys, as all our transformers have it.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::layers::Layers;
use crate::onnx::build::Node;
use crate::tensors::TensorMap;
use crate::{LoadError, LoadErrorKind};

/// The sizes of an attention layer. `heads` divides `width`.
pub(super) struct Attention {
    pub(super) width: usize,
    pub(super) heads: usize,
    pub(super) tokens: usize,
    pub(super) pairs: PairBias,
    pub(super) eps: f32,
}

/// What is added to the score of a pair of tokens before the softmax.
#[derive(Clone, Copy)]
pub(super) enum PairBias {
    /// Nothing.
    None,
    /// A number for each head, asking and asked token: `{layer}.bias`.
    Learned,
}

/// How many heads there are, from the size of one in the first layer.
///
/// # Errors
/// If the size of a head does not divide `width`.
pub(super) fn heads(tensors: &TensorMap, width: usize) -> Result<usize, LoadError> {
    let name = "blocks.0.attn.q_norm.weight";
    let [head] = tensors.dims(name)?;
    if width.is_multiple_of(head) {
        return Ok(width / head);
    }
    let message = format!("heads of {head} do not divide a width of {width}");
    Err(tensors.error(LoadErrorKind::Shape, message).at_tensor(name))
}

impl Attention {
    /// The layer `layer` on a batch of `tokens` vectors.
    pub(super) fn on(&self, net: &mut Layers<'_>, layer: &str, x: &Node) -> Result<Node, LoadError> {
        let &Attention { width: d, heads, tokens, pairs, eps } = self;
        let head = d / heads;
        let per_head = [-1, tokens as i64, heads as i64, head as i64];
        let qkv = net.project(x, &format!("{layer}.qkv.weight"), 3 * d, d)?;
        let part = |net: &mut Layers<'_>, index: usize| {
            let part = net.slice(&qkv, 2, index * d, (index + 1) * d);
            net.reshape(&part, &per_head)
        };
        let (q, k, v) = (part(net, 0), part(net, 1), part(net, 2));
        let q = net.rms_norm(&q, &format!("{layer}.q_norm.weight"), &[head], eps)?;
        let k = net.rms_norm(&k, &format!("{layer}.k_norm.weight"), &[head], eps)?;

        let q = net.transpose(&q, &[0, 2, 1, 3]);
        let k = net.transpose(&k, &[0, 2, 3, 1]);
        let v = net.transpose(&v, &[0, 2, 1, 3]);
        let scores = net.binary("MatMul", &q, &k);
        let mut scores = net.scaled(&scores, 1.0 / (head as f32).sqrt());
        if let PairBias::Learned = pairs {
            let bias = net.weight(&format!("{layer}.bias"), &[heads, tokens, tokens])?;
            scores = net.binary("Add", &scores, &bias);
        }
        let weights = net.softmax(&scores);
        let mixed = net.binary("MatMul", &weights, &v);
        let mixed = net.transpose(&mixed, &[0, 2, 1, 3]);
        let mixed = net.reshape(&mixed, &[-1, tokens as i64, d as i64]);
        net.project(&mixed, &format!("{layer}.out.weight"), d, d)
    }
}
