//! Row operations between the products, sixteen lanes at a time.
//!
//! Loops over blocks use [`Lanes`]: compilers vectorise plain ones across blocks, with gathers and scatters.

use super::exponential::{exp, silu};
use super::kernels::Dots;
use super::level::Kernel;
use crate::accumulator::block::LANES;
use crate::accumulator::kernels::{Lanes, reduce};

/// Blocks whose exponentials are computed side by side where the registers allow it.
const ABREAST: usize = 4;

/// The sum of sixteen lanes, in the same order everywhere.
#[inline(always)]
fn sum_lanes<L: Lanes>(lanes: L, x: L::Floats) -> f32 {
    let mut stored = [0.0; LANES];
    lanes.store(x, &mut stored);
    reduce(stored, |a, b| a + b)
}

/// The sums of the squares of a row, by lanes.
#[inline(always)]
fn squares<L: Lanes>(lanes: L, row: &[[f32; LANES]]) -> L::Floats {
    row.iter().fold(lanes.splat(0.0), |squares, block| {
        let x = lanes.load(block);
        lanes.add(squares, lanes.mul(x, x))
    })
}

/// The reciprocal root mean square of a row.
#[inline(always)]
fn norm<L: Lanes>(lanes: L, row: &[[f32; LANES]], eps: f32) -> f32 {
    1.0 / (sum_lanes(lanes, squares(lanes, row)) / (row.len() * LANES) as f32 + eps).sqrt()
}

/// The reciprocal root mean squares of sixteen rows.
#[inline(always)]
pub(super) fn units<'a, L: Lanes>(
    lanes: L,
    row: impl Fn(usize) -> &'a [[f32; LANES]],
    eps: f32,
) -> [f32; LANES] {
    let mut means = [0.0; LANES];
    for (t, mean) in means.iter_mut().enumerate() {
        let row = row(t);
        *mean = sum_lanes(lanes, squares(lanes, row)) / (row.len() * LANES) as f32;
    }
    means.map(|mean| 1.0 / (mean + eps).sqrt())
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

/// `silu` of every number.
pub(super) struct Silu<'a>(pub(super) &'a mut [[f32; LANES]]);

impl Kernel for Silu<'_> {
    #[inline(always)]
    fn run<L: Lanes, D: Dots<Ints = L::Ints>>(self, lanes: L, _: D) {
        for block in self.0 {
            let [active] = silu(lanes, [lanes.load(block)]);
            lanes.store(active, block);
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

/// A softmax over the first `width` elements of a row. The padding becomes nearly zero.
pub(super) struct Softmax<'a> {
    pub(super) row: &'a mut [[f32; LANES]],
    pub(super) width: usize,
}

impl Kernel for Softmax<'_> {
    #[inline(always)]
    fn run<L: Lanes, D: Dots<Ints = L::Ints>>(self, lanes: L, _: D) {
        let Softmax { row, width } = self;
        row.as_flattened_mut()[width..].fill(f32::NEG_INFINITY);
        let mut tops = [f32::NEG_INFINITY; LANES];
        for block in &*row {
            lanes.store(lanes.at_least(lanes.load(block), lanes.load(&tops)), &mut tops);
        }
        let down = lanes.splat(-reduce(tops, |a, b| if b > a { b } else { a }));
        let mut sums = lanes.splat(0.0);
        for block in &mut *row {
            let [share] = exp(lanes, [lanes.add(lanes.load(block), down)]);
            lanes.store(share, block);
            sums = lanes.add(sums, share);
        }
        let share = lanes.splat(1.0 / sum_lanes(lanes, sums));
        for block in row {
            lanes.store(lanes.mul(lanes.load(block), share), block);
        }
    }
}

/// A softmax over each column, after adding the bias.
pub(super) struct SoftmaxOfColumns<'a> {
    pub(super) rows: &'a mut [[f32; LANES]],
    pub(super) bias: &'a [[f32; LANES]],
    /// Blocks of a row.
    pub(super) blocks: usize,
}

impl Kernel for SoftmaxOfColumns<'_> {
    #[inline(always)]
    fn run<L: Lanes, D: Dots<Ints = L::Ints>>(self, lanes: L, _: D) {
        let SoftmaxOfColumns { rows, bias, blocks } = self;
        let mut first = 0;
        if D::TWO_PANELS {
            while first + ABREAST <= blocks {
                softmax_of_columns::<L, ABREAST>(lanes, rows, bias, blocks, first);
                first += ABREAST;
            }
        }
        for block in first..blocks {
            softmax_of_columns::<L, 1>(lanes, rows, bias, blocks, block);
        }
    }
}

/// The softmax of `N` blocks of columns from `first` on.
#[expect(clippy::needless_range_loop, reason = "iterators move arrays of registers through memory")]
#[inline(always)]
fn softmax_of_columns<L: Lanes, const N: usize>(
    lanes: L,
    rows: &mut [[f32; LANES]],
    bias: &[[f32; LANES]],
    blocks: usize,
    first: usize,
) {
    let mut tops = [lanes.splat(f32::NEG_INFINITY); N];
    for (row, bias) in rows.chunks_exact_mut(blocks).zip(bias.chunks_exact(blocks)) {
        let (row, bias) = (&mut row[first..][..N], &bias[first..][..N]);
        for i in 0..N {
            let score = lanes.add(lanes.load(&row[i]), lanes.load(&bias[i]));
            lanes.store(score, &mut row[i]);
            tops[i] = lanes.at_least(score, tops[i]);
        }
    }
    let mut down = tops;
    for i in 0..N {
        down[i] = lanes.mul(tops[i], lanes.splat(-1.0));
    }
    let mut sums = [lanes.splat(0.0); N];
    for row in rows.chunks_exact_mut(blocks) {
        let row = &mut row[first..][..N];
        let mut shares = sums;
        for i in 0..N {
            shares[i] = lanes.add(lanes.load(&row[i]), down[i]);
        }
        shares = exp(lanes, shares);
        for i in 0..N {
            lanes.store(shares[i], &mut row[i]);
            sums[i] = lanes.add(sums[i], shares[i]);
        }
    }
    for i in 0..N {
        sums[i] = lanes.div(lanes.splat(1.0), sums[i]);
    }
    for row in rows.chunks_exact_mut(blocks) {
        let row = &mut row[first..][..N];
        for i in 0..N {
            lanes.store(lanes.mul(lanes.load(&row[i]), sums[i]), &mut row[i]);
        }
    }
}
