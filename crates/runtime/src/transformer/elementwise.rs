//! Row operations between the products, sixteen lanes at a time.
//!
//! Loops over blocks use [`Lanes`]: compilers vectorise plain ones across blocks, with gathers and scatters.

use super::exponential::{exp, gelu, silu};
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

/// The sum of sixteen lanes, in the same order everywhere.
#[inline(always)]
fn sum_lanes<L: Lanes>(lanes: L, x: L::Floats) -> f32 {
    let mut stored = [0.0; LANES];
    lanes.store(x, &mut stored);
    sum(stored)
}

/// The reciprocal root mean square of a row.
#[inline(always)]
pub(super) fn norm<L: Lanes>(lanes: L, row: &[[f32; LANES]], eps: f32) -> f32 {
    let mut squares = lanes.splat(0.0);
    for block in row {
        let x = lanes.load(block);
        squares = lanes.add(squares, lanes.mul(x, x));
    }
    1.0 / (sum_lanes(lanes, squares) / (row.len() * LANES) as f32 + eps).sqrt()
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
    fn run<L: Lanes, D: Dots<Ints = L::Ints>>(self, lanes: L, _: D) {
        let blocks = self.weight.len();
        for (from, to) in self.from.chunks_exact(blocks).zip(self.to.chunks_exact_mut(blocks)) {
            let norm = lanes.splat(norm(lanes, from, self.eps));
            for ((from, weight), to) in from.iter().zip(self.weight).zip(to) {
                let unit = lanes.mul(lanes.load(from), norm);
                lanes.store(lanes.mul(unit, lanes.load(weight)), to);
            }
        }
    }
}

/// A norm of rows with its weights.
#[derive(Debug)]
pub(super) enum Norm {
    /// `x / sqrt(mean(x^2) + eps) * weight`.
    Rms { weight: Vec<[f32; LANES]>, eps: f32 },
    /// `(x - mean(x)) / sqrt(variance(x) + eps) * weight + bias`.
    Layer { weight: Vec<[f32; LANES]>, bias: Vec<[f32; LANES]>, eps: f32 },
}

/// The norm of `x + shift` for each row `x`, in place; an empty `shift` is zero.
pub(super) struct Normalise<'a> {
    pub(super) rows: &'a mut [[f32; LANES]],
    pub(super) shift: &'a [[f32; LANES]],
    pub(super) norm: &'a Norm,
}

impl Kernel for Normalise<'_> {
    #[inline(always)]
    fn run<L: Lanes, D: Dots<Ints = L::Ints>>(self, lanes: L, _: D) {
        let Normalise { rows, shift, norm: of } = self;
        let (Norm::Rms { weight, .. } | Norm::Layer { weight, .. }) = of;
        for row in rows.chunks_exact_mut(weight.len()) {
            for (block, shift) in row.iter_mut().zip(shift) {
                lanes.store(lanes.add(lanes.load(block), lanes.load(shift)), block);
            }
            match of {
                Norm::Rms { weight, eps } => {
                    let norm = lanes.splat(norm(lanes, row, *eps));
                    for (block, weight) in row.iter_mut().zip(weight) {
                        let unit = lanes.mul(lanes.load(block), norm);
                        lanes.store(lanes.mul(unit, lanes.load(weight)), block);
                    }
                }
                Norm::Layer { weight, bias, eps } => {
                    let sums =
                        row.iter().fold(lanes.splat(0.0), |sums, block| lanes.add(sums, lanes.load(block)));
                    let mean = sum_lanes(lanes, sums) / (row.len() * LANES) as f32;
                    for block in &mut *row {
                        lanes.store(lanes.add(lanes.load(block), lanes.splat(-mean)), block);
                    }
                    let norm = lanes.splat(norm(lanes, row, *eps));
                    for ((block, weight), bias) in row.iter_mut().zip(weight).zip(bias) {
                        let unit = lanes.mul(lanes.load(block), norm);
                        lanes.store(lanes.add(lanes.mul(unit, lanes.load(weight)), lanes.load(bias)), block);
                    }
                }
            }
        }
    }
}

/// `gelu(x + shift)` for each row `x`, in place.
pub(super) struct Gelu<'a> {
    pub(super) rows: &'a mut [[f32; LANES]],
    pub(super) shift: &'a [[f32; LANES]],
}

impl Kernel for Gelu<'_> {
    #[inline(always)]
    fn run<L: Lanes, D: Dots<Ints = L::Ints>>(self, _: L, _: D) {
        for row in self.rows.chunks_exact_mut(self.shift.len()) {
            for (block, shift) in row.iter_mut().zip(self.shift) {
                for lane in 0..LANES {
                    block[lane] = gelu(block[lane] + shift[lane]);
                }
            }
        }
    }
}

/// The mean of all rows of `from`, each as long as `to`.
pub(super) struct Mean<'a> {
    pub(super) from: &'a [[f32; LANES]],
    pub(super) to: &'a mut [[f32; LANES]],
}

impl Kernel for Mean<'_> {
    #[inline(always)]
    fn run<L: Lanes, D: Dots<Ints = L::Ints>>(self, lanes: L, _: D) {
        let Mean { from, to } = self;
        to.fill([0.0; LANES]);
        for row in from.chunks_exact(to.len()) {
            for (sums, block) in to.iter_mut().zip(row) {
                lanes.store(lanes.add(lanes.load(sums), lanes.load(block)), sums);
            }
        }
        let share = lanes.splat(to.len() as f32 / from.len() as f32);
        for sums in to {
            lanes.store(lanes.mul(lanes.load(sums), share), sums);
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
    fn run<L: Lanes, D: Dots<Ints = L::Ints>>(self, lanes: L, _: D) {
        let blocks = self.second.len();
        for (first, to) in self.first.chunks_exact(blocks).zip(self.to.chunks_exact_mut(blocks)) {
            for ((first, second), to) in first.iter().zip(self.second).zip(to) {
                lanes.store(lanes.add(lanes.load(first), lanes.load(second)), to);
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
    fn run<L: Lanes, D: Dots<Ints = L::Ints>>(self, lanes: L, _: D) {
        for (i, row) in self.rows.chunks_exact_mut(self.blocks).enumerate() {
            if let Some(bias) = self.bias {
                for (block, bias) in row.iter_mut().zip(&bias[i * self.blocks..]) {
                    lanes.store(lanes.add(lanes.load(block), lanes.load(bias)), block);
                }
            }
            for x in row.as_flattened_mut().iter_mut().skip(self.width) {
                *x = f32::NEG_INFINITY;
            }
            let mut tops = lanes.splat(f32::NEG_INFINITY);
            for block in &*row {
                tops = lanes.at_least(lanes.load(block), tops);
            }
            let mut stored = [0.0; LANES];
            lanes.store(tops, &mut stored);
            let top = reduce(stored, |a, b| if b > a { b } else { a });
            let mut sums = lanes.splat(0.0);
            for block in &mut *row {
                let mut below = [0.0; LANES];
                lanes.store(lanes.add(lanes.load(block), lanes.splat(-top)), &mut below);
                for x in &mut below {
                    *x = exp(*x);
                }
                *block = below;
                sums = lanes.add(sums, lanes.load(block));
            }
            let share = lanes.splat(1.0 / sum_lanes(lanes, sums));
            for block in row {
                lanes.store(lanes.mul(lanes.load(block), share), block);
            }
        }
    }
}
