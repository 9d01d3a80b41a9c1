//! AVX-512: one register for the sixteen lanes.
#![expect(unsafe_code, reason = "vector instructions; `scalar` is the safe twin and the tests compare them")]

use std::arch::x86_64::*;

use super::{Kernel, Lanes};
use crate::accumulator::block::LANES;

/// Proof that the processor has AVX-512F and POPCNT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Avx512(());

impl Avx512 {
    pub(crate) fn detect() -> Option<Self> {
        let has = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("popcnt");
        has.then_some(Avx512(()))
    }

    #[inline]
    pub(super) fn run(self, kernel: impl Kernel) {
        #[target_feature(enable = "avx512f,popcnt")]
        fn compiled(lanes: Avx512, kernel: impl Kernel) {
            kernel.run(lanes);
        }
        // SAFETY: `self` proves AVX-512F and POPCNT.
        unsafe { compiled(self, kernel) }
    }
}

impl Lanes for Avx512 {
    type Floats = __m512;
    type Ints = __m512i;

    #[inline(always)]
    fn splat(self, x: f32) -> __m512 {
        // SAFETY: `self` proves AVX-512F.
        unsafe { _mm512_set1_ps(x) }
    }

    #[inline(always)]
    fn load(self, from: &[f32; LANES]) -> __m512 {
        // SAFETY: `self` proves AVX-512F, and the array holds sixteen numbers.
        unsafe { _mm512_loadu_ps(from.as_ptr()) }
    }

    #[inline(always)]
    fn store(self, x: __m512, to: &mut [f32; LANES]) {
        // SAFETY: `self` proves AVX-512F, and the array holds sixteen numbers.
        unsafe { _mm512_storeu_ps(to.as_mut_ptr(), x) }
    }

    #[inline(always)]
    fn add(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: `self` proves AVX-512F.
        unsafe { _mm512_add_ps(a, b) }
    }

    #[inline(always)]
    fn mul(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: `self` proves AVX-512F.
        unsafe { _mm512_mul_ps(a, b) }
    }

    #[inline(always)]
    fn at_least(self, x: __m512, low: __m512) -> __m512 {
        // SAFETY: `self` proves AVX-512F.
        unsafe { _mm512_max_ps(x, low) }
    }

    #[inline(always)]
    fn at_most(self, x: __m512, high: __m512) -> __m512 {
        // SAFETY: `self` proves AVX-512F.
        unsafe { _mm512_min_ps(x, high) }
    }

    #[inline(always)]
    fn positive_or(self, x: __m512, other: __m512) -> __m512 {
        // SAFETY: `self` proves AVX-512F.
        unsafe { _mm512_mask_mov_ps(other, _mm512_cmp_ps_mask::<_CMP_GT_OQ>(x, _mm512_setzero_ps()), x) }
    }

    #[inline(always)]
    fn nonzero(self, x: __m512) -> u16 {
        // SAFETY: `self` proves AVX-512F.
        unsafe { _mm512_cmp_ps_mask::<_CMP_NEQ_UQ>(x, _mm512_setzero_ps()) }
    }

    #[inline(always)]
    fn load_ints(self, from: &[i32; LANES]) -> __m512i {
        // SAFETY: `self` proves AVX-512F, and the array holds sixteen numbers.
        unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
    }

    #[inline(always)]
    fn store_ints(self, x: __m512i, to: &mut [i32; LANES]) {
        // SAFETY: `self` proves AVX-512F, and the array holds sixteen numbers.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), x) }
    }

    #[inline(always)]
    fn add_ints(self, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: `self` proves AVX-512F.
        unsafe { _mm512_add_epi32(a, b) }
    }

    #[inline(always)]
    fn sub_ints(self, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: `self` proves AVX-512F.
        unsafe { _mm512_sub_epi32(a, b) }
    }

    #[inline(always)]
    fn to_floats(self, x: __m512i) -> __m512 {
        // SAFETY: `self` proves AVX-512F.
        unsafe { _mm512_cvtepi32_ps(x) }
    }
}
