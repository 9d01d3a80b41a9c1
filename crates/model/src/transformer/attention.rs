//! Self-attention with QK norm, in floats, head by head.

use super::elementwise::{Softmax, norm};
use super::kernels::Dots;
use super::level::{Kernel, Level};
use super::product::{FloatProduct, Store};
use crate::accumulator::block::{Block, LANES};
use crate::accumulator::kernels::Lanes;

/// The weights of an attention layer besides its products.
#[derive(Debug)]
pub(super) struct Attention {
    /// Divided by the square root of the head width.
    pub(super) q_norm: Vec<[f32; LANES]>,
    pub(super) k_norm: Vec<[f32; LANES]>,
    /// The bias of each pair of tokens: for each head and query a row of blocks.
    pub(super) bias: Vec<[f32; LANES]>,
    pub(super) eps: f32,
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
    /// Attends: each row of `qkv` has the queries, keys and values of all heads of a token, each row of `to` the outputs of all
    /// heads.
    pub(super) fn run(
        &self,
        level: Level,
        tokens: usize,
        qkv: &[[f32; LANES]],
        buffers: &mut HeadBuffers,
        to: &mut [[f32; LANES]],
    ) {
        let dimensions = self.q_norm.len();
        let head = dimensions * LANES;
        let width = qkv.len() / tokens / 3;
        let others = tokens.div_ceil(LANES);
        for h in 0..width / dimensions {
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
            let bias = Some(&self.bias[h * scores.len()..][..scores.len()]);
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
    fn run<L: Lanes, D: Dots<Ints = L::Ints>>(self, _: L, _: D) {
        let SplitHead { layer, qkv, width, at, queries, keys, values } = self;
        let dimensions = layer.q_norm.len();
        let tokens = qkv.len() / width / 3;
        for (t, row) in qkv.chunks_exact(3 * width).enumerate() {
            let part = |index: usize| &row[index * width + at..][..dimensions];
            let (query, key, value) = (part(0), part(1), part(2));
            let to_unit = norm(query, layer.eps);
            for (d, block) in query.iter().enumerate() {
                for lane in 0..LANES {
                    queries[t * dimensions + d][lane] = block[lane] * to_unit * layer.q_norm[d][lane];
                }
            }
            let to_unit = norm(key, layer.eps);
            let panel = &mut keys[t / LANES * dimensions * LANES..][..dimensions * LANES];
            for (d, block) in key.iter().enumerate() {
                let mut unit = [0.0; LANES];
                for lane in 0..LANES {
                    unit[lane] = block[lane] * to_unit * layer.k_norm[d][lane];
                }
                for lane in 0..LANES {
                    panel[d * LANES + lane].0[t % LANES] = unit[lane];
                }
            }
            for (d, block) in value.iter().enumerate() {
                values[d * tokens + t].0 = *block;
            }
        }
    }
}
