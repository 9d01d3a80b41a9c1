//! NEON: four registers for the sixteen lanes.
#![expect(unsafe_code, reason = "vector instructions; `scalar` is the safe twin and the tests compare them")]

use std::arch::aarch64::*;
use std::array;

use super::{Kernel, Lanes};
use crate::accumulator::block::LANES;

/// Proof that the processor has NEON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Neon(());

impl Neon {
    pub(crate) fn detect() -> Option<Self> {
        std::arch::is_aarch64_feature_detected!("neon").then_some(Neon(()))
    }

    #[inline]
    pub(super) fn run(self, kernel: impl Kernel) {
        #[target_feature(enable = "neon")]
        fn compiled(lanes: Neon, kernel: impl Kernel) {
            kernel.run(lanes);
        }
        // SAFETY: `self` proves NEON.
        unsafe { compiled(self, kernel) }
    }
}

impl Lanes for Neon {
    type Floats = [float32x4_t; 4];
    type Ints = [int32x4_t; 4];

    #[inline(always)]
    fn splat(self, x: f32) -> [float32x4_t; 4] {
        // SAFETY: `self` proves NEON.
        unsafe { [vdupq_n_f32(x); 4] }
    }

    #[inline(always)]
    fn load(self, from: &[f32; LANES]) -> [float32x4_t; 4] {
        // SAFETY: `self` proves NEON, and the array holds sixteen numbers.
        unsafe { array::from_fn(|i| vld1q_f32(from.as_ptr().add(4 * i))) }
    }

    #[inline(always)]
    fn store(self, x: [float32x4_t; 4], to: &mut [f32; LANES]) {
        // SAFETY: `self` proves NEON, and the array holds sixteen numbers.
        unsafe {
            for (i, x) in x.into_iter().enumerate() {
                vst1q_f32(to.as_mut_ptr().add(4 * i), x);
            }
        }
    }

    #[inline(always)]
    fn add(self, a: [float32x4_t; 4], b: [float32x4_t; 4]) -> [float32x4_t; 4] {
        // SAFETY: `self` proves NEON.
        unsafe { array::from_fn(|i| vaddq_f32(a[i], b[i])) }
    }

    #[inline(always)]
    fn mul(self, a: [float32x4_t; 4], b: [float32x4_t; 4]) -> [float32x4_t; 4] {
        // SAFETY: `self` proves NEON.
        unsafe { array::from_fn(|i| vmulq_f32(a[i], b[i])) }
    }

    #[inline(always)]
    fn at_least(self, x: [float32x4_t; 4], low: [float32x4_t; 4]) -> [float32x4_t; 4] {
        // SAFETY: `self` proves NEON.
        unsafe { array::from_fn(|i| vbslq_f32(vcgtq_f32(x[i], low[i]), x[i], low[i])) }
    }

    #[inline(always)]
    fn at_most(self, x: [float32x4_t; 4], high: [float32x4_t; 4]) -> [float32x4_t; 4] {
        // SAFETY: `self` proves NEON.
        unsafe { array::from_fn(|i| vbslq_f32(vcltq_f32(x[i], high[i]), x[i], high[i])) }
    }

    #[inline(always)]
    fn positive_or(self, x: [float32x4_t; 4], other: [float32x4_t; 4]) -> [float32x4_t; 4] {
        // SAFETY: `self` proves NEON.
        unsafe { array::from_fn(|i| vbslq_f32(vcgtzq_f32(x[i]), x[i], other[i])) }
    }

    #[inline(always)]
    fn nonzero(self, x: [float32x4_t; 4]) -> u16 {
        // SAFETY: `self` proves NEON.
        unsafe {
            let bits = vld1q_u32([1, 2, 4, 8].as_ptr());
            let mask = |x| vaddvq_u32(vbicq_u32(bits, vceqzq_f32(x))) as u16;
            mask(x[0]) | mask(x[1]) << 4 | mask(x[2]) << 8 | mask(x[3]) << 12
        }
    }

    #[inline(always)]
    fn load_ints(self, from: &[i32; LANES]) -> [int32x4_t; 4] {
        // SAFETY: `self` proves NEON, and the array holds sixteen numbers.
        unsafe { array::from_fn(|i| vld1q_s32(from.as_ptr().add(4 * i))) }
    }

    #[inline(always)]
    fn store_ints(self, x: [int32x4_t; 4], to: &mut [i32; LANES]) {
        // SAFETY: `self` proves NEON, and the array holds sixteen numbers.
        unsafe {
            for (i, x) in x.into_iter().enumerate() {
                vst1q_s32(to.as_mut_ptr().add(4 * i), x);
            }
        }
    }

    #[inline(always)]
    fn add_ints(self, a: [int32x4_t; 4], b: [int32x4_t; 4]) -> [int32x4_t; 4] {
        // SAFETY: `self` proves NEON.
        unsafe { array::from_fn(|i| vaddq_s32(a[i], b[i])) }
    }

    #[inline(always)]
    fn sub_ints(self, a: [int32x4_t; 4], b: [int32x4_t; 4]) -> [int32x4_t; 4] {
        // SAFETY: `self` proves NEON.
        unsafe { array::from_fn(|i| vsubq_s32(a[i], b[i])) }
    }

    #[inline(always)]
    fn to_floats(self, x: [int32x4_t; 4]) -> [float32x4_t; 4] {
        // SAFETY: `self` proves NEON.
        unsafe { array::from_fn(|i| vcvtq_f32_s32(x[i])) }
    }
}
