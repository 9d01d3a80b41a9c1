//! Matrix products, where nearly all the time goes.
//!
//! Weights are in panels of sixteen outputs. A tile of rows at a time passes those of two panels, which stay in L1, and asks for a
//! part of the next two: networks that do not fit the second-level cache are read from memory while others compute. Every output
//! is one sum in the order of its inputs, so tiling changes no bit.

use super::exponential::{gelu, silu};
use super::kernels::{Dots, Group, Layout};
use super::level::Kernel;
use super::quantise::{QuantParams, QuantisedRows, SPAN};
use crate::accumulator::block::{Block, LANES};
use crate::accumulator::kernels::Lanes;

/// What happens to the sums of a product.
#[derive(Clone, Copy, Debug)]
pub(super) enum Store<'a> {
    /// They overwrite the destination.
    Replace,
    /// They are added to the destination.
    Add,
    /// `gelu(sum + bias)` of each output overwrites the destination.
    Gelu(&'a [[f32; LANES]]),
    /// `silu(a) * b` overwrites the destination, where `a` is in the first half of the outputs and `b` in the second.
    SwiGlu,
}

impl Store<'_> {
    /// Two panels each, whose outputs are stored together, and the two after them. The last pair may be one panel twice, and
    /// follows itself.
    #[inline(always)]
    fn pairs(self, panels: usize) -> impl Iterator<Item = ([usize; 2], [usize; 2])> {
        let (step, apart) = match self {
            Store::SwiGlu => (1, panels / 2),
            _ => (2, 1),
        };
        let pairs = panels.div_ceil(2);
        let pair = move |i: usize| [step * i, (step * i + apart).min(panels - 1)];
        (0..pairs).map(move |i| (pair(i), pair((i + 1).min(pairs - 1))))
    }

    /// Whether sums are stored as they are: then they need not pass through memory.
    #[inline(always)]
    fn is_plain(self) -> bool {
        matches!(self, Store::Replace | Store::Add)
    }

    /// Stores plain sums.
    #[inline(always)]
    fn put_plain<L: Lanes>(self, lanes: L, sums: L::Floats, to: &mut [f32; LANES]) {
        let sums = if let Store::Add = self { lanes.add(lanes.load(to), sums) } else { sums };
        lanes.store(sums, to);
    }

    /// Stores the sums of two panels in as many rows of `to` as there are.
    #[expect(clippy::needless_range_loop, reason = "iterators move arrays of registers through memory")]
    #[inline(always)]
    fn put_tile<L: Lanes, D: Dots, const R: usize>(
        self,
        lanes: L,
        panels: [usize; 2],
        sums: [[L::Floats; R]; 2],
        to: &mut [[f32; LANES]],
        stride: usize,
    ) {
        if self.is_plain() {
            for r in 0..R {
                let Some(to) = to.get_mut(r * stride..) else { return };
                if to.is_empty() {
                    return;
                }
                self.put_plain(lanes, sums[0][r], &mut to[panels[0]]);
                if panels[0] != panels[1] {
                    self.put_plain(lanes, sums[1][r], &mut to[panels[1]]);
                }
            }
            return;
        }
        // Through memory, or the rows of the product would have to fit the registers with those of the activations.
        let mut stored = [[[0.0; LANES]; R]; 2];
        for p in 0..2 {
            for r in 0..R {
                lanes.store(sums[p][r], &mut stored[p][r]);
            }
        }
        if D::TWO_PANELS && R.is_multiple_of(ABREAST) {
            self.put_rows::<L, ABREAST>(lanes, panels, [&stored[0], &stored[1]], to, stride);
        } else {
            self.put_rows::<L, 1>(lanes, panels, [&stored[0], &stored[1]], to, stride);
        }
    }

    /// Stores the sums of two panels in as many rows of `to` as there are, and computes the activations of `N` rows side by side.
    #[inline(always)]
    fn put_rows<L: Lanes, const N: usize>(
        self,
        lanes: L,
        panels: [usize; 2],
        sums: [&[[f32; LANES]]; 2],
        to: &mut [[f32; LANES]],
        stride: usize,
    ) {
        let rows = sums[0].as_chunks::<N>().0.iter().zip(sums[1].as_chunks::<N>().0);
        for ((first, second), to) in rows.zip(to.chunks_mut(N * stride)) {
            if let Store::SwiGlu = self {
                let (mut values, gates) = (load_rows(lanes, first), load_rows(lanes, second));
                values = silu(lanes, values);
                for i in 0..N {
                    values[i] = lanes.mul(values[i], gates[i]);
                }
                store_rows(lanes, values, panels[0], to, stride);
                continue;
            }
            let both = if panels[0] == panels[1] { 1 } else { 2 };
            for (&p, sums) in panels.iter().zip([first, second]).take(both) {
                let mut values = load_rows(lanes, sums);
                match self {
                    Store::Add => {
                        for (value, to) in values.iter_mut().zip(to.chunks(stride)) {
                            *value = lanes.add(lanes.load(&to[p]), *value);
                        }
                    }
                    Store::Gelu(bias) => {
                        for value in &mut values {
                            *value = lanes.add(*value, lanes.load(&bias[p]));
                        }
                        values = gelu(lanes, values);
                    }
                    Store::Replace | Store::SwiGlu => {}
                }
                store_rows(lanes, values, p, to, stride);
            }
        }
    }
}

/// Rows whose activations are computed side by side where the registers allow it.
const ABREAST: usize = 4;

#[inline(always)]
fn load_rows<L: Lanes, const N: usize>(lanes: L, from: &[[f32; LANES]; N]) -> [L::Floats; N] {
    let mut rows = [lanes.splat(0.0); N];
    for i in 0..N {
        rows[i] = lanes.load(&from[i]);
    }
    rows
}

/// Stores the values of panel `p` in as many rows as there are.
#[inline(always)]
fn store_rows<L: Lanes, const N: usize>(
    lanes: L,
    values: [L::Floats; N],
    p: usize,
    to: &mut [[f32; LANES]],
    stride: usize,
) {
    for (value, to) in values.into_iter().zip(to.chunks_mut(stride)) {
        lanes.store(value, &mut to[p]);
    }
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
    /// For each row `stride` blocks: one for each panel, or half as many.
    pub(super) to: &'a mut [[f32; LANES]],
    pub(super) stride: usize,
    pub(super) then: Store<'a>,
}

impl Kernel for QuantisedProduct<'_> {
    #[inline(always)]
    fn run<L: Lanes, D: Dots<Ints = L::Ints>>(self, lanes: L, dots: D) {
        match (D::ROWS, D::LAYOUT) {
            (4, Layout::Quads) => self.laid_out::<4, QUADS>().run(lanes, dots),
            (4, Layout::Pairs) => self.laid_out::<4, PAIRS>().run(lanes, dots),
            _ => self.laid_out::<1, QUADS>().run(lanes, dots),
        }
    }
}

impl<'a> QuantisedProduct<'a> {
    #[inline(always)]
    fn laid_out<const R: usize, const N: usize>(self) -> LaidOut<'a, R, N> {
        let QuantisedProduct { inputs, weights, to, stride, then } = self;
        let (words, _) = inputs.words.as_chunks::<N>();
        LaidOut {
            words: words.as_chunks::<R>().0,
            params: inputs.params.as_chunks::<R>().0,
            groups: weights.groups.as_chunks::<N>().0,
            spans: weights.sums.len() / weights.scales.len(),
            weights,
            to,
            stride,
            then,
        }
    }
}

/// A product of tiles of `R` rows and spans of `N` words.
struct LaidOut<'a, const R: usize, const N: usize> {
    /// The spans of each tile.
    words: &'a [[[u32; N]; R]],
    params: &'a [[QuantParams; R]],
    /// The spans of each panel.
    groups: &'a [[Group; N]],
    spans: usize,
    weights: &'a QuantisedWeights,
    to: &'a mut [[f32; LANES]],
    stride: usize,
    then: Store<'a>,
}

impl<const R: usize, const N: usize> LaidOut<'_, R, N> {
    #[inline(always)]
    fn run<L: Lanes, D: Dots<Ints = L::Ints>>(self, lanes: L, dots: D) {
        if D::HAS_NARROW_SUMS { self.span_by_span(lanes, dots) } else { self.tile_by_tile(lanes, dots) }
    }

    /// For each tile of rows, all spans of two panels; the sums stay in registers.
    #[expect(clippy::needless_range_loop, reason = "iterators move arrays of registers through memory")]
    #[inline(always)]
    fn tile_by_tile<L: Lanes, D: Dots<Ints = L::Ints>>(self, lanes: L, dots: D) {
        let LaidOut { words, params, groups, spans, weights, to, stride, then } = self;
        let tiles = params.len() / spans;
        for (pair, next) in then.pairs(weights.scales.len()) {
            let scales = pair.map(|p| &weights.scales[p].0);
            let panels = pair.map(|p| (&groups[p * spans..][..spans], &weights.sums[p * spans..][..spans]));
            let next = next.map(|p| &groups[p * spans..][..spans]);
            let rows = words.chunks_exact(spans).zip(params.chunks_exact(spans));
            for (t, ((words, params), to)) in rows.zip(to.chunks_mut(R * stride)).enumerate() {
                // This tile's part of each span of the next panels.
                let ahead = N * t / tiles..N * (t + 1) / tiles;
                let mut values = [[lanes.splat(0.0); R]; 2];
                if D::TWO_PANELS {
                    let [(first, first_sums), (second, second_sums)] = panels;
                    for s in 0..spans {
                        for i in ahead.clone() {
                            lanes.prefetch(&next[0][s][i]);
                            lanes.prefetch(&next[1][s][i]);
                        }
                        let dots = dots.dots_of_two::<R, N>(&words[s], [&first[s], &second[s]]);
                        add_span(lanes, &mut values[0], dots[0], &params[s], lanes.load(&first_sums[s].0));
                        add_span(lanes, &mut values[1], dots[1], &params[s], lanes.load(&second_sums[s].0));
                    }
                } else {
                    for p in 0..2 {
                        let (groups, sums) = panels[p];
                        // A copy stays in registers.
                        let mut own = values[p];
                        for s in 0..spans {
                            for i in ahead.clone() {
                                lanes.prefetch(&next[p][s][i]);
                            }
                            let dots = dots.dots::<R, N, false>(&words[s], &groups[s]);
                            add_span(lanes, &mut own, dots, &params[s], lanes.load(&sums[s].0));
                        }
                        values[p] = own;
                    }
                }
                for p in 0..2 {
                    let scale = lanes.load(scales[p]);
                    for r in 0..R {
                        values[p][r] = lanes.mul(values[p][r], scale);
                    }
                }
                // The last tile may be partial.
                then.put_tile::<L, D, R>(lanes, pair, values, to, stride);
            }
        }
    }

    /// For each span of a panel, all tiles of rows: whether sums are narrow changes less often, which helps branch prediction.
    #[inline(always)]
    fn span_by_span<L: Lanes, D: Dots<Ints = L::Ints>>(self, lanes: L, dots: D) {
        let LaidOut { words, params, groups, spans, weights, to, stride, then } = self;
        let tiles = spans * ROWS_PER_PASS / R;
        let parts = words.chunks(tiles).zip(params.chunks(tiles)).zip(to.chunks_mut(ROWS_PER_PASS * stride));
        let mut values = [[[0.0; LANES]; ROWS_PER_PASS]; 2];
        for ((words, params), to) in parts {
            for (pair, _) in then.pairs(weights.scales.len()) {
                for (p, values) in pair.into_iter().zip(&mut values) {
                    values.fill([0.0; LANES]);
                    for s in 0..spans {
                        let at = p * spans + s;
                        let span =
                            Span { words, params, spans, s, groups: &groups[at], sum: &weights.sums[at].0 };
                        if weights.narrow[at] {
                            span.add::<L, D, true>(lanes, dots, values);
                        } else {
                            span.add::<L, D, false>(lanes, dots, values);
                        }
                    }
                    let scale = lanes.load(&weights.scales[p].0);
                    for value in values {
                        lanes.store(lanes.mul(lanes.load(value), scale), value);
                    }
                }
                then.put_rows::<L, 1>(lanes, pair, [&values[0], &values[1]], to, stride);
            }
        }
    }
}

/// One span of all rows, and the weights of sixteen outputs.
struct Span<'a, const R: usize, const N: usize> {
    words: &'a [[[u32; N]; R]],
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

/// Adds the dequantised sums of a span to the `values` of a tile, given the sum of the weights.
#[inline(always)]
fn add_span<L: Lanes, const R: usize>(
    lanes: L,
    values: &mut [L::Floats; R],
    dots: [L::Ints; R],
    params: &[QuantParams; R],
    sum: L::Floats,
) {
    for r in 0..R {
        values[r] = lanes.add(values[r], dequantise(lanes, dots[r], params[r], sum));
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
    /// For each row, a block for each panel or half as many, `to_stride` blocks from one row to the next.
    pub(super) to: &'a mut [[f32; LANES]],
    pub(super) to_stride: usize,
    pub(super) then: Store<'a>,
}

impl Kernel for FloatProduct<'_> {
    #[inline(always)]
    fn run<L: Lanes, D: Dots<Ints = L::Ints>>(mut self, lanes: L, _: D) {
        for (pair, next) in self.then.pairs(self.panels.len() / self.depth) {
            let mut row = 0;
            if D::FLOAT_ROWS >= 8 {
                row = self.tiles::<L, D, 8>(lanes, pair, next, row);
            }
            if D::FLOAT_ROWS >= 4 {
                row = self.tiles::<L, D, 4>(lanes, pair, next, row);
            }
            if D::FLOAT_ROWS >= 2 {
                row = self.tiles::<L, D, 2>(lanes, pair, next, row);
            }
            self.tiles::<L, D, 1>(lanes, pair, next, row);
        }
    }
}

impl FloatProduct<'_> {
    /// All whole tiles from row `first` on; returns the next row.
    #[inline(always)]
    fn tiles<L: Lanes, D: Dots, const R: usize>(
        &mut self,
        lanes: L,
        pair: [usize; 2],
        next: [usize; 2],
        first: usize,
    ) -> usize {
        let panels = pair.map(|p| &self.panels[p * self.depth..][..self.depth]);
        let next = next.map(|p| &self.panels[p * self.depth..][..self.depth]);
        let mut row = first;
        while row + R <= self.rows {
            let mut inputs: [&[f32]; R] = [&[]; R];
            for (r, inputs) in inputs.iter_mut().enumerate() {
                *inputs = &self.inputs[(row + r) * self.stride..][..self.depth];
            }
            let to = &mut self.to[row * self.to_stride..];
            let then = self.then;
            // Its part of the next panels, if there are as many tiles as parts.
            let part = self.depth / INPUTS_PER_LINE;
            let next = next.map(|panel| &panel[row / R % INPUTS_PER_LINE * part..][..part]);
            if D::TWO_PANELS {
                let sums = float_sums(lanes, inputs, panels, next);
                then.put_tile::<L, D, R>(lanes, pair, sums, &mut to[..], self.to_stride);
            } else {
                // Slower than memory: the requests would only take time.
                let [first] = float_sums(lanes, inputs, [panels[0]], [&[]]);
                let [second] = float_sums(lanes, inputs, [panels[1]], [&[]]);
                then.put_tile::<L, D, R>(lanes, pair, [first, second], &mut to[..], self.to_stride);
            }
            row += R;
        }
        row
    }
}

/// Inputs of a tile for each line that is prefetched meanwhile. Asking for it with each of them costs less than counting them.
const INPUTS_PER_LINE: usize = 8;

/// The sums of `R` rows and `P` panels; prefetches the blocks of `next` meanwhile. Closures might not be inlined into a level's
/// function.
#[inline(always)]
fn float_sums<L: Lanes, const R: usize, const P: usize>(
    lanes: L,
    inputs: [&[f32]; R],
    panels: [&[Block<f32>]; P],
    next: [&[Block<f32>]; P],
) -> [[L::Floats; R]; P] {
    let mut sums = [[lanes.splat(0.0); R]; P];
    for k in 0..panels[0].len() {
        let mut weights = [lanes.splat(0.0); P];
        for p in 0..P {
            if let Some(line) = next[p].get(k / INPUTS_PER_LINE) {
                lanes.prefetch(line);
            }
            weights[p] = lanes.load(&panels[p][k].0);
        }
        for r in 0..R {
            let input = lanes.splat(inputs[r][k]);
            for p in 0..P {
                sums[p][r] = lanes.add(sums[p][r], lanes.mul(input, weights[p]));
            }
        }
    }
    sums
}

/// 8-bit weights with a scale per output, for one row of floats.
#[derive(Debug)]
pub(super) struct RowWeights {
    /// For each panel, sixteen weights for each input.
    pub(super) weights: Vec<[i8; LANES]>,
    /// The scale of each output.
    pub(super) scales: Vec<Block<f32>>,
}

/// One row of floats times weights that are widened on the way: the products of [`FloatProduct`] with a quarter of the memory's
/// traffic.
pub(super) struct RowProduct<'a> {
    pub(super) inputs: &'a [f32],
    pub(super) weights: &'a RowWeights,
    /// A block for each panel, or half as many.
    pub(super) to: &'a mut [[f32; LANES]],
    pub(super) then: Store<'a>,
}

impl Kernel for RowProduct<'_> {
    #[inline(always)]
    fn run<L: Lanes, D: Dots<Ints = L::Ints>>(self, lanes: L, _: D) {
        let RowProduct { inputs, weights: RowWeights { weights, scales }, to, then } = self;
        for (pair, _) in then.pairs(scales.len()) {
            let panels = pair.map(|p| &weights[p * inputs.len()..][..inputs.len()]);
            let mut factors = [lanes.splat(0.0); 2];
            for p in 0..2 {
                factors[p] = lanes.load(&scales[pair[p]].0);
            }
            let mut sums = [[lanes.splat(0.0)]; 2];
            for (k, &input) in inputs.iter().enumerate() {
                let input = lanes.splat(input);
                for p in 0..2 {
                    let whole = lanes.to_floats(lanes.load_ints(&panels[p][k].map(i32::from)));
                    sums[p][0] = lanes.add(sums[p][0], lanes.mul(input, lanes.mul(whole, factors[p])));
                }
            }
            let stride = to.len();
            then.put_tile::<L, D, 1>(lanes, pair, sums, to, stride);
        }
    }
}

/// The words of a number of input blocks, in whole spans.
pub(super) fn words_of(layout: Layout, blocks: usize) -> usize {
    blocks.next_multiple_of(SPAN) * LANES / layout.inputs()
}
