//! NEON: products in 16 bits, neighbours added, the pairs in sums of 32.
#![expect(unsafe_code, reason = "vector instructions; `scalar` is the safe twin and the tests compare them")]

use std::arch::aarch64::*;
use std::array;

use super::{Dots, Group, Layout};
use crate::dense::kernels::neon::Neon;

/// Made of the proof that the processor has NEON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transformer) struct NeonDots(pub(in crate::transformer) Neon);

impl Dots for NeonDots {
    type Ints = [int32x4_t; 4];
    type Weights = [int8x16_t; 4];
    const ROWS: usize = 4;
    const LAYOUT: Layout = Layout::Quads;

    #[inline(always)]
    fn weights(self, group: &Group) -> [int8x16_t; 4] {
        // SAFETY: `self` proves NEON, and a group is 64 bytes.
        unsafe { array::from_fn(|i| vld1q_s8(group.0.as_ptr().add(16 * i).cast())) }
    }

    #[inline(always)]
    fn dot(self, sums: [int32x4_t; 4], inputs: u32, weights: [int8x16_t; 4]) -> [int32x4_t; 4] {
        // SAFETY: `self` proves NEON.
        unsafe {
            let inputs = vreinterpretq_s8_u32(vdupq_n_u32(inputs));
            array::from_fn(|i| {
                let low = vmull_s8(vget_low_s8(weights[i]), vget_low_s8(inputs));
                let high = vmull_high_s8(weights[i], inputs);
                vpadalq_s16(sums[i], vpaddq_s16(low, high))
            })
        }
    }
}
