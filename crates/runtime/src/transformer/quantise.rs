//! Dynamic quantisation of activations to 7 bits, with a minimum and a scale for each group of a row.

use super::kernels::{Dots, Layout, QUANT_MAX};
use super::level::{Kernel, Level};
use super::product::{PAIRS, QUADS, words_of};
use crate::accumulator::block::LANES;
use crate::accumulator::kernels::Lanes;

/// Blocks of one quantisation group, here called a span. Rows have a few outliers, which make the steps of their whole span
/// coarse; shorter spans cost more time than they gain.
pub(super) const SPAN: usize = 2;

/// Adding this to a number from 0 to 255 rounds it: [`Lanes::bytes`] has the rest.
const TO_BYTE: f32 = 8_388_608.0;

/// The range of spans with a smaller one, whose reciprocal may be infinite.
const MIN_RANGE: f32 = 1e-30;

/// The quantisation parameters of a span: a byte `q` stands for `min + q * scale`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct QuantParams {
    pub(super) min: f32,
    pub(super) scale: f32,
}

/// Quantised rows in the order in which products read them: tiles of rows, and in a tile for each span the words of one row after
/// another.
#[derive(Debug, Default)]
pub(super) struct QuantisedRows {
    pub(super) words: Vec<u32>,
    /// In a tile, those of all rows for each span.
    pub(super) params: Vec<QuantParams>,
}

impl QuantisedRows {
    /// Makes room for `rows` rows of `blocks` blocks; capacity is kept when it shrinks.
    pub(super) fn resize(&mut self, level: Level, rows: usize, blocks: usize) {
        let rows = rows.next_multiple_of(level.rows());
        self.words.resize(rows * words_of(level.layout(), blocks), 0);
        self.params.resize(rows * blocks.div_ceil(SPAN), QuantParams::default());
    }
}

/// Quantises every row of `from`, which has `blocks` blocks a row.
pub(super) struct Quantise<'a> {
    pub(super) from: &'a [[f32; LANES]],
    pub(super) blocks: usize,
    pub(super) to: &'a mut QuantisedRows,
}

impl Kernel for Quantise<'_> {
    #[inline(always)]
    fn run<L: Lanes, D: Dots<Ints = L::Ints>>(self, lanes: L, _: D) {
        match D::LAYOUT {
            Layout::Quads => self.rows::<L, D, QUADS>(lanes, |bytes, words| {
                let (quads, _) = bytes.as_chunks::<4>();
                for (word, quad) in words.iter_mut().zip(quads) {
                    *word = u32::from_le_bytes(*quad);
                }
            }),
            Layout::Pairs => self.rows::<L, D, PAIRS>(lanes, |bytes, words| {
                let (pairs, _) = bytes.as_chunks::<2>();
                for (word, &[first, second]) in words.iter_mut().zip(pairs) {
                    *word = u32::from(first) | u32::from(second) << 16;
                }
            }),
        }
    }
}

impl Quantise<'_> {
    /// `pack` puts the bytes of a block into words.
    #[inline(always)]
    fn rows<L: Lanes, D: Dots, const N: usize>(self, lanes: L, pack: impl Fn([u8; LANES], &mut [u32])) {
        let Quantise { from, blocks, to } = self;
        let spans = blocks.div_ceil(SPAN);
        let (words, _) = to.words.as_chunks_mut::<N>();
        for (row, values) in from.chunks_exact(blocks).enumerate() {
            let first = row / D::ROWS * D::ROWS * spans + row % D::ROWS;
            for (part, values) in (0..spans).step_by(SPANS).zip(values.chunks(SPAN * SPANS)) {
                let params = SpanParams::of(lanes, values);
                for (i, span) in spans_of(values).enumerate() {
                    let at = first + (part + i) * D::ROWS;
                    to.params[at] = QuantParams { min: params.min[i], scale: params.scale[i] };
                    let (low, steps) = (lanes.splat(-params.min[i]), lanes.splat(params.steps[i]));
                    for (block, words) in span.into_iter().zip(words[at].chunks_exact_mut(N / SPAN)) {
                        let above = lanes.mul(lanes.add(lanes.load(block), low), steps);
                        pack(lanes.bytes(lanes.add(above, lanes.splat(TO_BYTE))), words);
                    }
                }
            }
        }
    }
}

/// The spans of a row. A last one of one block has it twice: the weights of the second are zeros.
#[inline(always)]
fn spans_of(values: &[[f32; LANES]]) -> impl Iterator<Item = [&[f32; LANES]; SPAN]> {
    let (whole, rest) = values.as_chunks::<SPAN>();
    whole.iter().map(<[_; SPAN]>::each_ref).chain(rest.first().map(|block| [block; SPAN]))
}

/// Spans whose bounds fill the lanes: they are reduced and divided side by side.
const SPANS: usize = LANES / 2;

/// The parameters of up to as many spans.
struct SpanParams {
    min: [f32; LANES],
    scale: [f32; LANES],
    /// The reciprocal of the scale.
    steps: [f32; LANES],
}

impl SpanParams {
    #[inline(always)]
    fn of<L: Lanes>(lanes: L, values: &[[f32; LANES]]) -> SpanParams {
        let mut bounds = [lanes.splat(0.0); LANES];
        let (lows, highs) = bounds.split_at_mut(SPANS);
        for (([first, second], low), high) in spans_of(values).zip(lows).zip(highs) {
            let (first, second) = (lanes.load(first), lanes.load(second));
            *low = lanes.lesser(first, second);
            *high = lanes.mul(lanes.greater(first, second), lanes.splat(-1.0));
        }
        let min = lanes.least(bounds);
        let mut range = [0.0; LANES];
        for i in 0..SPANS {
            range[i] = -min[SPANS + i] - min[i];
        }
        let (mut scale, mut steps) = ([0.0; LANES], [0.0; LANES]);
        let (range, most) = (lanes.load(&range), lanes.splat(QUANT_MAX));
        lanes.store(lanes.div(range, most), &mut scale);
        lanes.store(lanes.div(most, lanes.at_least(range, lanes.splat(MIN_RANGE))), &mut steps);
        SpanParams { min, scale, steps }
    }
}
