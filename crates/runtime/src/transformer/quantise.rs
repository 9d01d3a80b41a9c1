//! Dynamic quantisation of activations to 7 bits, with a minimum and a scale for each group of a row.

use super::elementwise::reduce;
use super::kernels::{Dots, Layout, QUANT_MAX};
use super::level::{Kernel, Level};
use super::product::words_of;
use crate::accumulator::block::LANES;
use crate::accumulator::kernels::Lanes;

/// Blocks of one quantisation group, here called a span. Rows have a few outliers, which make the steps of their whole span
/// coarse; shorter spans cost more time than they gain.
pub(super) const SPAN: usize = 2;

/// Adding this to a number from 0 to 255 rounds it: [`Lanes::bytes`] has the rest.
const TO_BYTE: f32 = 8_388_608.0;

/// Spans with a smaller range are constant: the reciprocal of the range may be infinite.
const MIN_RANGE: f32 = 1e-30;

/// The quantisation parameters of a span: a byte `q` stands for `min + q * scale`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct QuantParams {
    pub(super) min: f32,
    pub(super) scale: f32,
}

/// Quantised rows in the order in which products read them: tiles of rows, and in a tile the words of all rows interleaved.
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
        let Quantise { from, blocks, to } = self;
        let tile = D::ROWS * words_of(D::LAYOUT, blocks);
        let spans = blocks.div_ceil(SPAN);
        for (row, values) in from.chunks_exact(blocks).enumerate() {
            let words = &mut to.words[row / D::ROWS * tile + row % D::ROWS..];
            let params = &mut to.params[row / D::ROWS * D::ROWS * spans + row % D::ROWS..];
            for (s, span) in values.chunks(SPAN).enumerate() {
                let (quant, steps) = quant_params(lanes, span);
                params[s * D::ROWS] = quant;
                let (low, steps) = (lanes.splat(-quant.min), lanes.splat(steps));
                for (b, block) in (SPAN * s..).zip(span) {
                    let above = lanes.mul(lanes.add(lanes.load(block), low), steps);
                    let bytes = lanes.bytes(lanes.add(above, lanes.splat(TO_BYTE)));
                    match D::LAYOUT {
                        Layout::Quads => {
                            for (q, quad) in bytes.as_chunks::<4>().0.iter().enumerate() {
                                words[(4 * b + q) * D::ROWS] = u32::from_le_bytes(*quad);
                            }
                        }
                        Layout::Pairs => {
                            for (q, &[first, second]) in bytes.as_chunks::<2>().0.iter().enumerate() {
                                words[(8 * b + q) * D::ROWS] = u32::from(first) | u32::from(second) << 16;
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The parameters of a span, and the reciprocal of its scale.
#[inline(always)]
fn quant_params<L: Lanes>(lanes: L, values: &[[f32; LANES]]) -> (QuantParams, f32) {
    let (mut low, mut high) = (lanes.splat(f32::INFINITY), lanes.splat(f32::NEG_INFINITY));
    for block in values {
        let block = lanes.load(block);
        low = lanes.lesser(block, low);
        high = lanes.greater(block, high);
    }
    let (mut lows, mut highs) = ([0.0; LANES], [0.0; LANES]);
    lanes.store(low, &mut lows);
    lanes.store(high, &mut highs);
    let min = reduce(lows, |a, b| if b < a { b } else { a });
    let max = reduce(highs, |a, b| if b > a { b } else { a });
    let range = max - min;
    if range > MIN_RANGE {
        (QuantParams { min, scale: range / QUANT_MAX }, QUANT_MAX / range)
    } else {
        (QuantParams { min, scale: 0.0 }, 0.0)
    }
}
