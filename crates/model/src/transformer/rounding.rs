//! Rows of floats as whole numbers from 0 to 127, each span of a row over its own range.

use super::elementwise::reduce;
use super::kernels::{Dots, Layout, MOST};
use super::level::{Kernel, Level};
use super::product::words_of;
use crate::accumulator::block::LANES;
use crate::accumulator::kernels::Lanes;

/// Blocks of a row that share a range. A row has a few numbers far from the others, and those make the steps of their whole
/// span coarse; shorter spans would cost more time than they gain.
pub(super) const SPAN: usize = 2;

/// Adding this to a number from 0 to 255 rounds it: [`Lanes::bytes`] has the rest.
const TO_BYTE: f32 = 8_388_608.0;

/// Below this a span is taken for constant: the reciprocal of a smaller range may be infinite.
const NARROWEST: f32 = 1e-30;

/// What the whole numbers of a span stand for: `low + number * step`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Range {
    pub(super) low: f32,
    pub(super) step: f32,
}

/// Rounded rows as products take them: in tiles of rows, and in a tile for each word of inputs that of every row.
#[derive(Debug, Default)]
pub(super) struct RoundedRows {
    pub(super) words: Vec<u32>,
    /// In a tile, for each span that of every row.
    pub(super) ranges: Vec<Range>,
}

impl RoundedRows {
    /// Makes room for `rows` rows of `blocks` blocks; memory is kept when it becomes smaller.
    pub(super) fn resize(&mut self, level: Level, rows: usize, blocks: usize) {
        let rows = rows.next_multiple_of(level.rows());
        self.words.resize(rows * words_of(level.layout(), blocks), 0);
        self.ranges.resize(rows * blocks.div_ceil(SPAN), Range::default());
    }
}

/// Rounds every row of `from`, which has `blocks` blocks in a row.
pub(super) struct Round<'a> {
    pub(super) from: &'a [[f32; LANES]],
    pub(super) blocks: usize,
    pub(super) to: &'a mut RoundedRows,
}

impl Kernel for Round<'_> {
    #[inline(always)]
    fn run<L: Lanes, D: Dots<Ints = L::Ints>>(self, lanes: L, _: D) {
        let Round { from, blocks, to } = self;
        let tile = D::ROWS * words_of(D::LAYOUT, blocks);
        let spans = blocks.div_ceil(SPAN);
        for (row, values) in from.chunks_exact(blocks).enumerate() {
            let words = &mut to.words[row / D::ROWS * tile + row % D::ROWS..];
            let ranges = &mut to.ranges[row / D::ROWS * D::ROWS * spans + row % D::ROWS..];
            for (s, span) in values.chunks(SPAN).enumerate() {
                let (range, steps) = range_of(lanes, span);
                ranges[s * D::ROWS] = range;
                let (low, steps) = (lanes.splat(-range.low), lanes.splat(steps));
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

/// The range of a span, and how many steps there are to one.
#[inline(always)]
fn range_of<L: Lanes>(lanes: L, values: &[[f32; LANES]]) -> (Range, f32) {
    let (mut low, mut high) = (lanes.splat(f32::INFINITY), lanes.splat(f32::NEG_INFINITY));
    for block in values {
        let block = lanes.load(block);
        low = lanes.lesser(block, low);
        high = lanes.greater(block, high);
    }
    let (mut lows, mut highs) = ([0.0; LANES], [0.0; LANES]);
    lanes.store(low, &mut lows);
    lanes.store(high, &mut highs);
    let low = reduce(lows, |a, b| if b < a { b } else { a });
    let high = reduce(highs, |a, b| if b > a { b } else { a });
    let width = high - low;
    if width > NARROWEST {
        (Range { low, step: width / MOST }, MOST / width)
    } else {
        (Range { low, step: 0.0 }, 0.0)
    }
}
