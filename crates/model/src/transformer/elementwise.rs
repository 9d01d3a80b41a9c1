//! Row operations between the products, sixteen lanes at a time.

use super::exponential::{exp, silu};
use super::kernels::Dots;
use super::level::Kernel;
use crate::accumulator::block::LANES;
use crate::accumulator::kernels::Lanes;

/// A reduction of sixteen lanes by halves, in the same order everywhere.
#[inline(always)]
pub(super) fn reduce(mut lanes: [f32; LANES], join: impl Fn(f32, f32) -> f32) -> f32 {
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            lanes[lane] = join(lanes[lane], lanes[lane + width]);
        }
        width /= 2;
    }
    lanes[0]
}

/// The sum of sixteen lanes, in the same order everywhere.
#[inline(always)]
fn sum(lanes: [f32; LANES]) -> f32 {
    reduce(lanes, |a, b| a + b)
}

/// The reciprocal root mean square of a row.
#[inline(always)]
pub(super) fn norm(row: &[[f32; LANES]], eps: f32) -> f32 {
    let mut squares = [0.0; LANES];
    for block in row {
        for (square, x) in squares.iter_mut().zip(block) {
            *square += x * x;
        }
    }
    1.0 / (sum(squares) / (row.len() * LANES) as f32 + eps).sqrt()
}

/// `x / sqrt(mean(x^2) + eps) * weight` for each row `x`, which is as long as `weight`.
pub(super) struct RmsNorm<'a> {
    pub(super) from: &'a [[f32; LANES]],
    pub(super) weight: &'a [[f32; LANES]],
    pub(super) eps: f32,
    pub(super) to: &'a mut [[f32; LANES]],
}

impl Kernel for RmsNorm<'_> {
    #[inline(always)]
    fn run<L: Lanes, D: Dots<Ints = L::Ints>>(self, _: L, _: D) {
        let blocks = self.weight.len();
        for (from, to) in self.from.chunks_exact(blocks).zip(self.to.chunks_exact_mut(blocks)) {
            let norm = norm(from, self.eps);
            for ((from, weight), to) in from.iter().zip(self.weight).zip(to) {
                for lane in 0..LANES {
                    to[lane] = from[lane] * norm * weight[lane];
                }
            }
        }
    }
}

/// `silu(a) * b` for rows of `blocks` blocks of `a` and as many of `b`.
pub(super) struct SwiGlu<'a> {
    pub(super) from: &'a [[f32; LANES]],
    pub(super) blocks: usize,
    pub(super) to: &'a mut [[f32; LANES]],
}

impl Kernel for SwiGlu<'_> {
    #[inline(always)]
    fn run<L: Lanes, D: Dots<Ints = L::Ints>>(self, _: L, _: D) {
        let rows = self.from.chunks_exact(2 * self.blocks);
        for (from, to) in rows.zip(self.to.chunks_exact_mut(self.blocks)) {
            let (gates, values) = from.split_at(self.blocks);
            for ((gate, value), to) in gates.iter().zip(values).zip(to) {
                for lane in 0..LANES {
                    to[lane] = silu(gate[lane]) * value[lane];
                }
            }
        }
    }
}

/// `silu` of every number.
pub(super) struct Silu<'a>(pub(super) &'a mut [[f32; LANES]]);

impl Kernel for Silu<'_> {
    #[inline(always)]
    fn run<L: Lanes, D: Dots<Ints = L::Ints>>(self, _: L, _: D) {
        for block in self.0 {
            for x in block {
                *x = silu(*x);
            }
        }
    }
}

/// `first + second` for each row, where all rows share `second`.
pub(super) struct AddBroadcast<'a> {
    pub(super) first: &'a [[f32; LANES]],
    pub(super) second: &'a [[f32; LANES]],
    pub(super) to: &'a mut [[f32; LANES]],
}

impl Kernel for AddBroadcast<'_> {
    #[inline(always)]
    fn run<L: Lanes, D: Dots<Ints = L::Ints>>(self, _: L, _: D) {
        let blocks = self.second.len();
        for (first, to) in self.first.chunks_exact(blocks).zip(self.to.chunks_exact_mut(blocks)) {
            for ((first, second), to) in first.iter().zip(self.second).zip(to) {
                for lane in 0..LANES {
                    to[lane] = first[lane] + second[lane];
                }
            }
        }
    }
}

/// A softmax over the first `width` elements of each row of `blocks` blocks, after adding the bias. The padding becomes nearly
/// zero.
pub(super) struct Softmax<'a> {
    pub(super) rows: &'a mut [[f32; LANES]],
    pub(super) bias: Option<&'a [[f32; LANES]]>,
    pub(super) blocks: usize,
    pub(super) width: usize,
}

impl Kernel for Softmax<'_> {
    #[inline(always)]
    fn run<L: Lanes, D: Dots<Ints = L::Ints>>(self, _: L, _: D) {
        for (i, row) in self.rows.chunks_exact_mut(self.blocks).enumerate() {
            if let Some(bias) = self.bias {
                for (block, bias) in row.iter_mut().zip(&bias[i * self.blocks..]) {
                    for lane in 0..LANES {
                        block[lane] += bias[lane];
                    }
                }
            }
            for x in row.as_flattened_mut().iter_mut().skip(self.width) {
                *x = f32::NEG_INFINITY;
            }
            let mut tops = [f32::NEG_INFINITY; LANES];
            for block in &*row {
                for lane in 0..LANES {
                    tops[lane] = if block[lane] > tops[lane] { block[lane] } else { tops[lane] };
                }
            }
            let top = reduce(tops, |a, b| if b > a { b } else { a });
            let mut sums = [0.0; LANES];
            for block in &mut *row {
                for lane in 0..LANES {
                    block[lane] = exp(block[lane] - top);
                    sums[lane] += block[lane];
                }
            }
            let share = 1.0 / sum(sums);
            for block in row {
                for x in block {
                    *x *= share;
                }
            }
        }
    }
}
