//! Self-attention in floats, head by head.

use std::ops::Range;

use super::elementwise::{Softmax, norm};
use super::kernels::Dots;
use super::level::{Kernel, Level};
use super::product::{FloatProduct, Store};
use crate::accumulator::block::{Block, LANES};
use crate::accumulator::kernels::Lanes;

/// An attention layer besides its products.
#[derive(Debug)]
pub(super) struct Attention {
    pub(super) tokens: usize,
    /// Blocks of a head.
    pub(super) dimensions: usize,
    pub(super) scaling: Scaling,
}

/// What happens to queries and keys before they meet.
#[derive(Debug)]
pub(super) enum Scaling {
    /// Both are normalised.
    Norms {
        /// Divided by the square root of the head width.
        q_norm: Vec<[f32; LANES]>,
        k_norm: Vec<[f32; LANES]>,
        eps: f32,
    },
    /// Queries are multiplied by this.
    Factor(f32),
}

/// Buffers for one head.
#[derive(Debug)]
pub(super) struct HeadBuffers {
    queries: Vec<[f32; LANES]>,
    /// Panels over tokens, with a block per dimension of the head.
    keys: Vec<Block<f32>>,
    /// Panels over the dimensions of the head, with a block per token.
    values: Vec<Block<f32>>,
    scores: Vec<[f32; LANES]>,
}

impl HeadBuffers {
    /// For `tokens` tokens and heads of `head` numbers, a multiple of 16.
    pub(super) fn new(tokens: usize, head: usize) -> Self {
        let (dimensions, others) = (head / LANES, tokens.div_ceil(LANES));
        HeadBuffers {
            queries: vec![[0.0; LANES]; tokens * dimensions],
            keys: vec![Block([0.0; LANES]); others * head],
            values: vec![Block([0.0; LANES]); dimensions * tokens],
            scores: vec![[0.0; LANES]; tokens * others],
        }
    }
}

impl Attention {
    /// Attends with some of the heads: each row of `qkv` has the queries, keys and values of all heads of a token, each row of `to`
    /// the outputs of all heads. `bias` is that of each pair of tokens: for each head and query a row of blocks.
    pub(super) fn run(
        &self,
        level: Level,
        heads: Range<usize>,
        qkv: &[[f32; LANES]],
        bias: &[[f32; LANES]],
        buffers: &mut HeadBuffers,
        to: &mut [[f32; LANES]],
    ) {
        let &Attention { tokens, dimensions, .. } = self;
        let head = dimensions * LANES;
        let width = qkv.len() / tokens / 3;
        let others = tokens.div_ceil(LANES);
        for h in heads {
            let HeadBuffers { queries, keys, values, scores } = buffers;
            let at = h * dimensions;
            level.run(SplitHead { layer: self, qkv, width, at, queries, keys, values });
            level.run(FloatProduct {
                rows: tokens,
                inputs: queries.as_flattened(),
                stride: head,
                panels: keys,
                depth: head,
                to: scores,
                to_stride: others,
                then: Store::Replace,
            });
            let bias = Some(&bias[h * scores.len()..][..scores.len()]);
            level.run(Softmax { rows: scores, bias, blocks: others, width: tokens });
            level.run(FloatProduct {
                rows: tokens,
                inputs: scores.as_flattened(),
                stride: others * LANES,
                panels: values,
                depth: tokens,
                to: &mut to[at..],
                to_stride: width,
                then: Store::Replace,
            });
        }
    }
}

/// Splits off queries, keys and values of the head whose blocks start `at`.
struct SplitHead<'a> {
    layer: &'a Attention,
    qkv: &'a [[f32; LANES]],
    /// Blocks of all queries of a token.
    width: usize,
    at: usize,
    queries: &'a mut [[f32; LANES]],
    keys: &'a mut [Block<f32>],
    values: &'a mut [Block<f32>],
}

impl Kernel for SplitHead<'_> {
    #[inline(always)]
    fn run<L: Lanes, D: Dots<Ints = L::Ints>>(self, lanes: L, _: D) {
        let SplitHead { layer, qkv, width, at, queries, keys, values } = self;
        let &Attention { tokens, dimensions, .. } = layer;
        let part = |t: usize, index: usize| &qkv[(3 * t + index) * width + at..][..dimensions];
        // Keys are turned sixteen tokens at a time.
        for (first, panel) in (0..tokens).step_by(LANES).zip(keys.chunks_exact_mut(dimensions * LANES)) {
            let own = first..tokens.min(first + LANES);
            let mut key_units = [1.0; LANES];
            for (t, key_unit) in own.clone().zip(&mut key_units) {
                let query = part(t, 0);
                let to = &mut queries[t * dimensions..][..dimensions];
                match &layer.scaling {
                    Scaling::Norms { q_norm, eps, .. } => {
                        let unit = lanes.splat(norm(lanes, query, *eps));
                        for ((block, weight), to) in query.iter().zip(q_norm).zip(to) {
                            let query = lanes.mul(lanes.load(block), unit);
                            lanes.store(lanes.mul(query, lanes.load(weight)), to);
                        }
                        *key_unit = norm(lanes, part(t, 1), *eps);
                    }
                    Scaling::Factor(factor) => {
                        for (block, to) in query.iter().zip(to) {
                            lanes.store(lanes.mul(lanes.load(block), lanes.splat(*factor)), to);
                        }
                    }
                }
                for (d, block) in part(t, 2).iter().enumerate() {
                    values[d * tokens + t].0 = *block;
                }
            }
            for (d, panel) in panel.chunks_exact_mut(LANES).enumerate() {
                let mut rows = [[0.0; LANES]; LANES];
                for ((t, row), unit) in own.clone().zip(&mut rows).zip(key_units) {
                    let key = lanes.load(&part(t, 1)[d]);
                    let key = match &layer.scaling {
                        Scaling::Norms { k_norm, .. } => {
                            lanes.mul(lanes.mul(key, lanes.splat(unit)), lanes.load(&k_norm[d]))
                        }
                        Scaling::Factor(_) => key,
                    };
                    lanes.store(key, row);
                }
                for (lane, block) in panel.iter_mut().enumerate() {
                    for (to, row) in block.0.iter_mut().zip(&rows) {
                        *to = row[lane];
                    }
                }
            }
        }
    }
}
