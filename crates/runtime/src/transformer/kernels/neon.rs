//! NEON: four products and their sum in one instruction; where it is missing, products in 16 bits, neighbours added, sums in 32.
#![expect(unsafe_code, reason = "vector instructions; `scalar` is the reference and the tests compare them")]

use std::arch::aarch64::*;
use std::arch::asm;
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
        words: &[[u32; N]; R],
        groups: &[Group; N],
    ) -> [[int32x4_t; 4]; R] {
        // SAFETY: `self` proves NEON, and a group is 64 bytes.
        unsafe {
            let mut sums = [[vdupq_n_s32(0); 4]; R];
            for (i, group) in groups.iter().enumerate() {
                let weights: [int8x16_t; 4] =
                    array::from_fn(|part| vld1q_s8(group.0.as_ptr().add(16 * part).cast()));
                for r in 0..R {
                    let inputs = vreinterpretq_s8_u32(vdupq_n_u32(words[r][i]));
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

/// Proof that the processor has NEON's dot product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transformer) struct NeonQuads(());

impl NeonQuads {
    pub(in crate::transformer) fn detect() -> Option<Self> {
        std::arch::is_aarch64_feature_detected!("dotprod").then_some(NeonQuads(()))
    }
}

impl Dots for NeonQuads {
    type Ints = [int32x4_t; 4];
    const ROWS: usize = 4;
    const FLOAT_ROWS: usize = 4;
    const LAYOUT: Layout = Layout::Quads;

    #[inline(always)]
    fn dots<const R: usize, const N: usize, const NARROW: bool>(
        self,
        words: &[[u32; N]; R],
        groups: &[Group; N],
    ) -> [[int32x4_t; 4]; R] {
        // SAFETY: `self` proves the dot product, and a group is 64 bytes.
        unsafe {
            let mut sums = [[vdupq_n_s32(0); 4]; R];
            for (i, group) in groups.iter().enumerate() {
                let weights: [int8x16_t; 4] =
                    array::from_fn(|part| vld1q_s8(group.0.as_ptr().add(16 * part).cast()));
                for r in 0..R {
                    let inputs = vreinterpretq_s8_u32(vdupq_n_u32(words[r][i]));
                    for (sum, weights) in sums[r].iter_mut().zip(weights) {
                        // The intrinsic is not stable yet.
                        asm!(
                            "sdot {0:v}.4s, {1:v}.16b, {2:v}.16b",
                            inout(vreg) *sum, in(vreg) weights, in(vreg) inputs,
                            options(pure, nomem, nostack, preserves_flags),
                        );
                    }
                }
            }
            sums
        }
    }
}
