//! Self-attention in floats, head by head.
//!
//! Scores are kept with a row for each key and the queries side by side, so that the softmax of sixteen queries runs in as many
//! lanes.

use std::ops::Range;

use super::elementwise::{SoftmaxOfColumns, units};
use super::kernels::Dots;
use super::level::{Kernel, Level};
use super::product::{FloatProduct, Store};
use super::rows::Rows;
use crate::accumulator::block::{Block, LANES};
use crate::accumulator::kernels::Lanes;

/// An attention layer besides its products.
#[derive(Debug)]
pub(super) struct Attention {
    /// A multiple of 16.
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
    /// Panels over tokens, with a block per dimension of the head.
    queries: Vec<Block<f32>>,
    /// A row per token.
    keys: Rows,
    values: Rows,
    /// For each key a row over the queries.
    scores: Rows,
}

impl HeadBuffers {
    /// For `tokens` tokens and heads of `head` numbers, both multiples of 16.
    pub(super) fn new(tokens: usize, head: usize) -> Self {
        HeadBuffers {
            queries: vec![Block([0.0; LANES]); tokens / LANES * head],
            keys: Rows::zeros(tokens * head / LANES),
            values: Rows::zeros(tokens * head / LANES),
            scores: Rows::zeros(tokens * tokens / LANES),
        }
    }
}

impl Attention {
    /// Attends with some of the heads: each row of `qkv` has the queries, keys and values of all heads of a token, each row of `to`
    /// the outputs of all heads. `bias` is that of each pair of tokens: for each head and key a row over the queries.
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
        for h in heads {
            let HeadBuffers { queries, keys, values, scores } = buffers;
            let at = h * dimensions;
            level.run(SplitHead { layer: self, qkv, width, at, queries, keys, values });
            level.run(FloatProduct {
                rows: tokens,
                inputs: keys.as_flattened(),
                stride: head,
                panels: queries,
                depth: head,
                to: scores,
                to_stride: tokens / LANES,
                then: Store::Replace,
            });
            let bias = &bias[h * scores.len()..][..scores.len()];
            level.run(SoftmaxOfColumns { rows: scores, bias, blocks: tokens / LANES });
            level.run(Mix { scores, tokens, values, dimensions, to: &mut to[at..], stride: width });
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
    queries: &'a mut [Block<f32>],
    keys: &'a mut [[f32; LANES]],
    values: &'a mut [[f32; LANES]],
}

impl Kernel for SplitHead<'_> {
    #[inline(always)]
    fn run<L: Lanes, D: Dots<Ints = L::Ints>>(self, lanes: L, _: D) {
        let SplitHead { layer, qkv, width, at, queries, keys, values } = self;
        let dimensions = layer.dimensions;
        // Queries are turned sixteen tokens at a time.
        for ((first, queries), (keys, values)) in (0..layer.tokens)
            .step_by(LANES)
            .zip(queries.chunks_exact_mut(dimensions * LANES))
            .zip(keys.chunks_exact_mut(dimensions * LANES).zip(values.chunks_exact_mut(dimensions * LANES)))
        {
            let part = |t: usize, index: usize| &qkv[(3 * (first + t) + index) * width + at..][..dimensions];
            for (t, values) in values.chunks_exact_mut(dimensions).enumerate() {
                values.copy_from_slice(part(t, 2));
            }
            match &layer.scaling {
                Scaling::Norms { q_norm, k_norm, eps } => {
                    let key_units = units(lanes, |t| part(t, 1), *eps);
                    for ((t, keys), unit) in keys.chunks_exact_mut(dimensions).enumerate().zip(key_units) {
                        let unit = lanes.splat(unit);
                        for ((to, key), weight) in keys.iter_mut().zip(part(t, 1)).zip(k_norm) {
                            lanes.store(lanes.mul(lanes.mul(lanes.load(key), unit), lanes.load(weight)), to);
                        }
                    }
                    let units = units(lanes, |t| part(t, 0), *eps);
                    for (d, (to, weight)) in
                        queries.as_chunks_mut::<LANES>().0.iter_mut().zip(q_norm).enumerate()
                    {
                        let weight = lanes.load(weight);
                        let mut rows = [[0.0; LANES]; LANES];
                        for ((t, row), unit) in rows.iter_mut().enumerate().zip(units) {
                            let query = lanes.mul(lanes.load(&part(t, 0)[d]), lanes.splat(unit));
                            lanes.store(lanes.mul(query, weight), row);
                        }
                        lanes.transpose(&rows, to);
                    }
                }
                Scaling::Factor(factor) => {
                    for (t, keys) in keys.chunks_exact_mut(dimensions).enumerate() {
                        keys.copy_from_slice(part(t, 1));
                    }
                    for (d, to) in queries.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
                        let mut rows = [[0.0; LANES]; LANES];
                        for (t, row) in rows.iter_mut().enumerate() {
                            lanes.store(lanes.mul(lanes.load(&part(t, 0)[d]), lanes.splat(*factor)), row);
                        }
                        lanes.transpose(&rows, to);
                    }
                }
            }
        }
    }
}

/// Sums the values of all tokens for each query, weighted by its scores.
struct Mix<'a> {
    /// For each key a row over the queries.
    scores: &'a [[f32; LANES]],
    tokens: usize,
    /// For each key a row.
    values: &'a [[f32; LANES]],
    dimensions: usize,
    /// For each query a row, `stride` blocks from one to the next.
    to: &'a mut [[f32; LANES]],
    stride: usize,
}

impl Kernel for Mix<'_> {
    #[inline(always)]
    fn run<L: Lanes, D: Dots<Ints = L::Ints>>(mut self, lanes: L, _: D) {
        let mut first = 0;
        if D::TWO_PANELS {
            while first + 2 <= self.dimensions {
                self.blocks::<L, 4, 2>(lanes, first);
                first += 2;
            }
        }
        for block in first..self.dimensions {
            match D::FLOAT_ROWS {
                4.. => self.blocks::<L, 4, 1>(lanes, block),
                2 => self.blocks::<L, 2, 1>(lanes, block),
                _ => self.blocks::<L, 1, 1>(lanes, block),
            }
        }
    }
}

impl Mix<'_> {
    /// `P` blocks of all queries, `R` queries at a time.
    #[expect(clippy::needless_range_loop, reason = "iterators move arrays of registers through memory")]
    #[inline(always)]
    fn blocks<L: Lanes, const R: usize, const P: usize>(&mut self, lanes: L, first: usize) {
        for query in (0..self.tokens).step_by(R) {
            let mut sums = [[lanes.splat(0.0); P]; R];
            let scores = self.scores.as_flattened().chunks_exact(self.tokens);
            for (scores, values) in scores.zip(self.values.chunks_exact(self.dimensions)) {
                let (scores, values) = (&scores[query..][..R], &values[first..][..P]);
                let mut loaded = [lanes.splat(0.0); P];
                for p in 0..P {
                    loaded[p] = lanes.load(&values[p]);
                }
                for r in 0..R {
                    let score = lanes.splat(scores[r]);
                    for p in 0..P {
                        sums[r][p] = lanes.add(sums[r][p], lanes.mul(score, loaded[p]));
                    }
                }
            }
            for r in 0..R {
                for p in 0..P {
                    lanes.store(sums[r][p], &mut self.to[(query + r) * self.stride + first + p]);
                }
            }
        }
    }
}
