use crate::accumulator::{kernels::Lanes, update::SumBlock};

/// 16-bit numbers on a cache line.
pub(super) const LANES: usize = 32;

/// A cache line of sums or weights.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Block(pub(super) [i16; LANES]);

pub(super) const ZERO: Block = Block([0; LANES]);

/// The number of blocks for `len` numbers.
pub(super) fn blocks(len: usize) -> usize {
    len.div_ceil(LANES)
}

/// Plain loops, auto-vectorised for each level.
impl SumBlock for Block {
    type Sum<L: Lanes> = [i16; LANES];

    #[inline(always)]
    fn load<L: Lanes>(&self, _: L) -> [i16; LANES] {
        self.0
    }

    #[inline(always)]
    fn add<L: Lanes>(_: L, sum: &mut [i16; LANES], weights: &Self) {
        for (sum, weight) in sum.iter_mut().zip(&weights.0) {
            *sum = sum.wrapping_add(*weight);
        }
    }

    #[inline(always)]
    fn sub<L: Lanes>(_: L, sum: &mut [i16; LANES], weights: &Self) {
        for (sum, weight) in sum.iter_mut().zip(&weights.0) {
            *sum = sum.wrapping_sub(*weight);
        }
    }

    #[inline(always)]
    fn store<L: Lanes>(&mut self, _: L, sum: [i16; LANES]) {
        self.0 = sum;
    }
}
