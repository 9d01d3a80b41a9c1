//! The output layer, in plain Rust that is auto-vectorised for each level.

use super::{
    ActivationPower, Nnue,
    block::{Block, LANES},
    net::{Output, SQUARE_SHIFT},
};
use crate::accumulator::kernels::{Kernel, Lanes};

/// The output layer over both accumulators.
pub(super) struct OutputLayer<'a> {
    pub(super) net: &'a Nnue,
    pub(super) output: &'a Output,
    /// The accumulators of the side to move and of the opponent.
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
