//! The loops of a perspective network, plain Rust that each level's compilation turns into vector instructions.

use super::{
    ActivationPower, Nnue,
    block::{Block, LANES},
    net::{Output, SQUARE_SHIFT},
};
use crate::accumulator::kernels::{Kernel, Lanes};

/// Blocks summed in registers while the rows of a long list are walked through.
const TILE: usize = 4;

/// One view's sums `from`, plus the rows `added`, minus the rows `removed`.
pub(super) struct Update<'a> {
    pub(super) net: &'a Nnue,
    pub(super) from: &'a [Block],
    pub(super) added: &'a [u16],
    pub(super) removed: &'a [u16],
    pub(super) to: &'a mut [Block],
}

impl Kernel for Update<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, _: L) {
        // A quiet move, a capture, castling.
        match (self.added, self.removed) {
            (&[a], &[r]) => self.fused([a], [r]),
            (&[a], &[r, s]) => self.fused([a], [r, s]),
            (&[a, b], &[r, s]) => self.fused([a, b], [r, s]),
            _ => self.generic(),
        }
    }
}

impl Update<'_> {
    #[inline(always)]
    fn fused<const A: usize, const R: usize>(self, added: [u16; A], removed: [u16; R]) {
        let added = added.map(|feature| self.net.row(feature));
        let removed = removed.map(|feature| self.net.row(feature));
        for (block, (from, to)) in self.from.iter().zip(self.to).enumerate() {
            let mut sum = from.0;
            for row in added {
                add(&mut sum, &row[block]);
            }
            for row in removed {
                subtract(&mut sum, &row[block]);
            }
            to.0 = sum;
        }
    }

    #[inline(always)]
    fn generic(self) {
        let (from_tiles, from_rest) = self.from.as_chunks::<TILE>();
        let (to_tiles, to_rest) = self.to.as_chunks_mut::<TILE>();
        for (tile, (from, to)) in from_tiles.iter().zip(to_tiles).enumerate() {
            generic_tile(self.net, tile * TILE, from, self.added, self.removed, to);
        }
        let done = from_tiles.len() * TILE;
        for (block, (from, to)) in from_rest.iter().zip(to_rest).enumerate() {
            let (from, to) = (std::array::from_ref(from), std::array::from_mut(to));
            generic_tile(self.net, done + block, from, self.added, self.removed, to);
        }
    }
}

#[inline(always)]
fn generic_tile<const W: usize>(
    net: &Nnue,
    first: usize,
    from: &[Block; W],
    added: &[u16],
    removed: &[u16],
    to: &mut [Block; W],
) {
    let mut sums = *from;
    for &feature in added {
        let row = &net.row(feature)[first..][..W];
        for (sum, weights) in sums.iter_mut().zip(row) {
            add(&mut sum.0, weights);
        }
    }
    for &feature in removed {
        let row = &net.row(feature)[first..][..W];
        for (sum, weights) in sums.iter_mut().zip(row) {
            subtract(&mut sum.0, weights);
        }
    }
    *to = sums;
}

#[inline(always)]
fn add(sum: &mut [i16; LANES], weights: &Block) {
    for (sum, weight) in sum.iter_mut().zip(&weights.0) {
        *sum = sum.wrapping_add(*weight);
    }
}

#[inline(always)]
fn subtract(sum: &mut [i16; LANES], weights: &Block) {
    for (sum, weight) in sum.iter_mut().zip(&weights.0) {
        *sum = sum.wrapping_sub(*weight);
    }
}

/// The output layer on both views' sums.
pub(super) struct OutputLayer<'a> {
    pub(super) net: &'a Nnue,
    pub(super) output: &'a Output,
    /// The mover's sums and the opponent's.
    pub(super) sums: [&'a [Block]; 2],
    pub(super) to: &'a mut i32,
}

impl Kernel for OutputLayer<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, _: L) {
        match self.net.power {
            ActivationPower::One => self.products::<1>(),
            ActivationPower::Two => self.products::<2>(),
        }
    }
}

impl OutputLayer<'_> {
    #[inline(always)]
    fn products<const POWER: u32>(self) {
        let mut products = [0_i32; LANES];
        let halves = self.output.weights.chunks_exact(self.net.blocks());
        for (sums, weights) in self.sums.into_iter().zip(halves) {
            for ((sums, ceilings), weights) in sums.iter().zip(&self.net.ceilings).zip(weights) {
                let lanes = sums.0.iter().zip(&ceilings.0).zip(&weights.0);
                for (product, ((sum, ceiling), weight)) in products.iter_mut().zip(lanes) {
                    let clipped = (*sum).max(0).min(*ceiling);
                    let value = if POWER == 2 {
                        let shifted = i32::from(clipped << SQUARE_SHIFT);
                        ((shifted * shifted) >> 16) as i16
                    } else {
                        clipped
                    };
                    *product += i32::from(value) * i32::from(*weight);
                }
            }
        }
        // The weights are scaled such that no part of this sum leaves its 32 bits.
        *self.to = products.iter().sum::<i32>() + self.output.bias;
    }
}
