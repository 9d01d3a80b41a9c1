//! Matrix products, where nearly all the time goes.
//!
//! Weights are in panels of sixteen outputs. Those of a span of inputs stay in L1 while all rows pass, a tile of rows at a time.
//! Every output is one sum in the order of its inputs, so tiling changes no bit.

use super::kernels::{Dots, Group, Layout};
use super::level::Kernel;
use super::quantise::{QuantParams, QuantisedRows, SPAN};
use crate::accumulator::block::{Block, LANES};
use crate::accumulator::kernels::Lanes;

/// How a product is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Store {
    /// Overwrite.
    Replace,
    /// Add to the destination.
    Add,
}

/// 8-bit weights with a scale per output.
#[derive(Debug)]
pub(super) struct QuantisedWeights {
    /// The groups of each panel, in whole [spans](SPAN).
    pub(super) groups: Vec<Group>,
    /// The scale of each output.
    pub(super) scales: Vec<Block<f32>>,
    /// The sum of each output's quantised weights over each [span](SPAN) of inputs, by panel.
    pub(super) sums: Vec<Block<f32>>,
    /// Whether the weights of a panel over each span [fit narrow sums](super::kernels::fits_narrow_sums).
    pub(super) narrow: Vec<bool>,
}

/// Words of a span with four inputs a word, and with two.
pub(super) const QUADS: usize = SPAN * LANES / 4;
pub(super) const PAIRS: usize = SPAN * LANES / 2;

/// Rows per pass, whose sums stay in L1. A multiple of the tile.
const ROWS_PER_PASS: usize = 64;

/// Quantised rows times quantised weights.
pub(super) struct QuantisedProduct<'a> {
    pub(super) inputs: &'a QuantisedRows,
    pub(super) weights: &'a QuantisedWeights,
    /// For each row, a block for each panel.
    pub(super) to: &'a mut [[f32; LANES]],
    pub(super) then: Store,
}

impl Kernel for QuantisedProduct<'_> {
    #[inline(always)]
    fn run<L: Lanes, D: Dots<Ints = L::Ints>>(self, lanes: L, dots: D) {
        match (D::ROWS, D::LAYOUT) {
            (8, _) => self.laid_out::<8, QUADS>().run(lanes, dots),
            (4, Layout::Quads) => self.laid_out::<4, QUADS>().run(lanes, dots),
            (4, Layout::Pairs) => self.laid_out::<4, PAIRS>().run(lanes, dots),
            _ => self.laid_out::<1, QUADS>().run(lanes, dots),
        }
    }
}

impl<'a> QuantisedProduct<'a> {
    #[inline(always)]
    fn laid_out<const R: usize, const N: usize>(self) -> LaidOut<'a, R, N> {
        let QuantisedProduct { inputs, weights, to, then } = self;
        let panels = weights.scales.len();
        let (words, _) = inputs.words.as_chunks::<R>();
        LaidOut {
            words: words.as_chunks::<N>().0,
            params: inputs.params.as_chunks::<R>().0,
            groups: weights.groups.as_chunks::<N>().0,
            spans: weights.sums.len() / panels,
            panels,
            weights,
            to,
            then,
        }
    }
}

/// A product of tiles of `R` rows and spans of `N` words.
struct LaidOut<'a, const R: usize, const N: usize> {
    /// The spans of each tile.
    words: &'a [[[u32; R]; N]],
    params: &'a [[QuantParams; R]],
    /// The spans of each panel.
    groups: &'a [[Group; N]],
    spans: usize,
    panels: usize,
    weights: &'a QuantisedWeights,
    to: &'a mut [[f32; LANES]],
    then: Store,
}

impl<const R: usize, const N: usize> LaidOut<'_, R, N> {
    #[inline(always)]
    fn run<L: Lanes, D: Dots<Ints = L::Ints>>(self, lanes: L, dots: D) {
        if D::HAS_NARROW_SUMS { self.span_by_span(lanes, dots) } else { self.tile_by_tile(lanes, dots) }
    }

    /// For each tile of rows, all spans of a panel; the sums stay in registers.
    #[inline(always)]
    fn tile_by_tile<L: Lanes, D: Dots<Ints = L::Ints>>(self, lanes: L, dots: D) {
        let LaidOut { words, params, groups, spans, panels, weights, to, then } = self;
        for p in 0..panels {
            let scale = lanes.load(&weights.scales[p].0);
            let (groups, sums) = (&groups[p * spans..][..spans], &weights.sums[p * spans..][..spans]);
            let tiles = words.chunks_exact(spans).zip(params.chunks_exact(spans));
            for (t, (words, params)) in tiles.enumerate() {
                let mut values = [lanes.splat(0.0); R];
                for (((words, params), groups), sum) in words.iter().zip(params).zip(groups).zip(sums) {
                    let sums = dots.dots::<R, N, false>(words, groups);
                    let sum = lanes.load(&sum.0);
                    for r in 0..R {
                        values[r] = lanes.add(values[r], dequantise(lanes, sums[r], params[r], sum));
                    }
                }
                for (r, value) in values.into_iter().enumerate() {
                    // The last tile may be partial.
                    let Some(to) = to.get_mut((t * R + r) * panels + p) else { break };
                    put(lanes, lanes.mul(value, scale), to, then);
                }
            }
        }
    }

    /// For each span of a panel, all tiles of rows: whether sums are narrow changes less often, which helps branch prediction.
    #[inline(always)]
    fn span_by_span<L: Lanes, D: Dots<Ints = L::Ints>>(self, lanes: L, dots: D) {
        let LaidOut { words, params, groups, spans, panels, weights, to, then } = self;
        let tiles = spans * ROWS_PER_PASS / R;
        let parts = words.chunks(tiles).zip(params.chunks(tiles)).zip(to.chunks_mut(ROWS_PER_PASS * panels));
        let mut values = [[0.0; LANES]; ROWS_PER_PASS];
        for ((words, params), to) in parts {
            for p in 0..panels {
                values.fill([0.0; LANES]);
                for s in 0..spans {
                    let at = p * spans + s;
                    let span =
                        Span { words, params, spans, s, groups: &groups[at], sum: &weights.sums[at].0 };
                    if weights.narrow[at] {
                        span.add::<L, D, true>(lanes, dots, &mut values);
                    } else {
                        span.add::<L, D, false>(lanes, dots, &mut values);
                    }
                }
                let scale = lanes.load(&weights.scales[p].0);
                for (value, to) in values.iter().zip(to.iter_mut().skip(p).step_by(panels)) {
                    put(lanes, lanes.mul(lanes.load(value), scale), to, then);
                }
            }
        }
    }
}

/// One span of all rows, and the weights of sixteen outputs.
struct Span<'a, const R: usize, const N: usize> {
    words: &'a [[[u32; R]; N]],
    params: &'a [[QuantParams; R]],
    spans: usize,
    /// The index of the span.
    s: usize,
    groups: &'a [Group; N],
    /// The sum of each output's weights.
    sum: &'a [f32; LANES],
}

impl<const R: usize, const N: usize> Span<'_, R, N> {
    /// Adds the products to the `values` of every row.
    #[inline(always)]
    fn add<L: Lanes, D: Dots<Ints = L::Ints>, const NARROW: bool>(
        self,
        lanes: L,
        dots: D,
        values: &mut [[f32; LANES]; ROWS_PER_PASS],
    ) {
        let sum = lanes.load(self.sum);
        let tiles = self.words.chunks_exact(self.spans).zip(self.params.chunks_exact(self.spans));
        for ((words, params), values) in tiles.zip(values.as_chunks_mut::<R>().0) {
            let sums = dots.dots::<R, N, NARROW>(&words[self.s], self.groups);
            for ((value, sums), params) in values.iter_mut().zip(sums).zip(params[self.s]) {
                lanes.store(lanes.add(lanes.load(value), dequantise(lanes, sums, params, sum)), value);
            }
        }
    }
}

/// Dequantises integer sums, given the sum of the weights.
#[inline(always)]
fn dequantise<L: Lanes>(
    lanes: L,
    sums: L::Ints,
    QuantParams { min, scale }: QuantParams,
    sum: L::Floats,
) -> L::Floats {
    lanes.add(lanes.mul(lanes.to_floats(sums), lanes.splat(scale)), lanes.mul(lanes.splat(min), sum))
}

#[inline(always)]
fn put<L: Lanes>(lanes: L, value: L::Floats, to: &mut [f32; LANES], then: Store) {
    let value = match then {
        Store::Replace => value,
        Store::Add => lanes.add(lanes.load(to), value),
    };
    lanes.store(value, to);
}

/// Rows of floats times panels of floats.
pub(super) struct FloatProduct<'a> {
    pub(super) rows: usize,
    /// The rows, `stride` numbers from one to the next.
    pub(super) inputs: &'a [f32],
    pub(super) stride: usize,
    /// For each panel, a block for each input.
    pub(super) panels: &'a [Block<f32>],
    /// Inputs of a row.
    pub(super) depth: usize,
    /// For each row, a block for each panel, `to_stride` blocks from one row to the next.
    pub(super) to: &'a mut [[f32; LANES]],
    pub(super) to_stride: usize,
    pub(super) then: Store,
}

impl Kernel for FloatProduct<'_> {
    #[inline(always)]
    fn run<L: Lanes, D: Dots<Ints = L::Ints>>(mut self, lanes: L, _: D) {
        let panels = self.panels;
        for (p, panel) in panels.chunks_exact(self.depth).enumerate() {
            let mut row = 0;
            if D::FLOAT_ROWS >= 8 {
                row = self.tiles::<L, 8>(lanes, panel, p, row);
            }
            if D::FLOAT_ROWS >= 4 {
                row = self.tiles::<L, 4>(lanes, panel, p, row);
            }
            if D::FLOAT_ROWS >= 2 {
                row = self.tiles::<L, 2>(lanes, panel, p, row);
            }
            self.tiles::<L, 1>(lanes, panel, p, row);
        }
    }
}

impl FloatProduct<'_> {
    /// All whole tiles from row `first` on; returns the next row.
    #[inline(always)]
    fn tiles<L: Lanes, const R: usize>(
        &mut self,
        lanes: L,
        panel: &[Block<f32>],
        p: usize,
        first: usize,
    ) -> usize {
        let mut row = first;
        while row + R <= self.rows {
            let mut inputs: [&[f32]; R] = [&[]; R];
            for (r, inputs) in inputs.iter_mut().enumerate() {
                *inputs = &self.inputs[(row + r) * self.stride..][..panel.len()];
            }
            let mut sums = [lanes.splat(0.0); R];
            for (k, weights) in panel.iter().enumerate() {
                let weights = lanes.load(&weights.0);
                for r in 0..R {
                    sums[r] = lanes.add(sums[r], lanes.mul(lanes.splat(inputs[r][k]), weights));
                }
            }
            for (r, sums) in sums.into_iter().enumerate() {
                put(lanes, sums, &mut self.to[(row + r) * self.to_stride + p], self.then);
            }
            row += R;
        }
        row
    }
}

/// The words of a number of input blocks, in whole spans.
pub(super) fn words_of(layout: Layout, blocks: usize) -> usize {
    blocks.next_multiple_of(SPAN) * LANES / layout.inputs()
}
