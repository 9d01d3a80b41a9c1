//! NEON: products in 16 bits, neighbours added, sums in 32 bits.
#![expect(unsafe_code, reason = "vector instructions; `scalar` is the reference and the tests compare them")]

use std::arch::aarch64::*;
use std::array;

use super::{Dots, Group, Layout};
use crate::accumulator::kernels::neon::Neon;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transformer) struct NeonDots(pub(in crate::transformer) Neon);

impl Dots for NeonDots {
    type Ints = [int32x4_t; 4];
    const ROWS: usize = 4;
    const FLOAT_ROWS: usize = 4;
    const LAYOUT: Layout = Layout::Quads;

    #[inline(always)]
    fn dots<const R: usize, const N: usize, const NARROW: bool>(
        self,
        words: &[[u32; R]; N],
        groups: &[Group; N],
    ) -> [[int32x4_t; 4]; R] {
        // SAFETY: `self` proves NEON, and a group is 64 bytes.
        unsafe {
            let mut sums = [[vdupq_n_s32(0); 4]; R];
            for (words, group) in words.iter().zip(groups) {
                let weights: [int8x16_t; 4] =
                    array::from_fn(|i| vld1q_s8(group.0.as_ptr().add(16 * i).cast()));
                for r in 0..R {
                    let inputs = vreinterpretq_s8_u32(vdupq_n_u32(words[r]));
                    for (sum, weights) in sums[r].iter_mut().zip(weights) {
                        let low = vmull_s8(vget_low_s8(weights), vget_low_s8(inputs));
                        let high = vmull_high_s8(weights, inputs);
                        *sum = vpadalq_s16(*sum, vpaddq_s16(low, high));
                    }
                }
            }
            sums
        }
    }
}
