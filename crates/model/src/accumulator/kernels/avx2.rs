//! AVX2: two registers for the sixteen lanes.
#![expect(unsafe_code, reason = "vector instructions; `scalar` is the safe twin and the tests compare them")]

use std::arch::x86_64::*;

use super::{Kernel, Lanes};
use crate::accumulator::block::LANES;

/// Proof that the processor has AVX2 and POPCNT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Avx2(());

impl Avx2 {
    pub(crate) fn detect() -> Option<Self> {
        let has = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt");
        has.then_some(Avx2(()))
    }

    #[inline]
    pub(super) fn run(self, kernel: impl Kernel) {
        #[target_feature(enable = "avx2,popcnt")]
        fn compiled(lanes: Avx2, kernel: impl Kernel) {
            kernel.run(lanes);
        }
        // SAFETY: `self` proves AVX2 and POPCNT.
        unsafe { compiled(self, kernel) }
    }
}

impl Lanes for Avx2 {
    type Floats = [__m256; 2];
    type Ints = [__m256i; 2];

    #[inline(always)]
    fn splat(self, x: f32) -> [__m256; 2] {
        // SAFETY: `self` proves AVX2.
        unsafe { [_mm256_set1_ps(x); 2] }
    }

    #[inline(always)]
    fn load(self, from: &[f32; LANES]) -> [__m256; 2] {
        // SAFETY: `self` proves AVX2, and the array holds sixteen numbers.
        unsafe {
            let p = from.as_ptr();
            [_mm256_loadu_ps(p), _mm256_loadu_ps(p.add(8))]
        }
    }

    #[inline(always)]
    fn store(self, x: [__m256; 2], to: &mut [f32; LANES]) {
        // SAFETY: `self` proves AVX2, and the array holds sixteen numbers.
        unsafe {
            let p = to.as_mut_ptr();
            _mm256_storeu_ps(p, x[0]);
            _mm256_storeu_ps(p.add(8), x[1]);
        }
    }

    #[inline(always)]
    fn add(self, a: [__m256; 2], b: [__m256; 2]) -> [__m256; 2] {
        // SAFETY: `self` proves AVX2.
        unsafe { [_mm256_add_ps(a[0], b[0]), _mm256_add_ps(a[1], b[1])] }
    }

    #[inline(always)]
    fn mul(self, a: [__m256; 2], b: [__m256; 2]) -> [__m256; 2] {
        // SAFETY: `self` proves AVX2.
        unsafe { [_mm256_mul_ps(a[0], b[0]), _mm256_mul_ps(a[1], b[1])] }
    }

    #[inline(always)]
    fn at_least(self, x: [__m256; 2], low: [__m256; 2]) -> [__m256; 2] {
        // SAFETY: `self` proves AVX2.
        unsafe { [_mm256_max_ps(x[0], low[0]), _mm256_max_ps(x[1], low[1])] }
    }

    #[inline(always)]
    fn at_most(self, x: [__m256; 2], high: [__m256; 2]) -> [__m256; 2] {
        // SAFETY: `self` proves AVX2.
        unsafe { [_mm256_min_ps(x[0], high[0]), _mm256_min_ps(x[1], high[1])] }
    }

    #[inline(always)]
    fn positive_or(self, x: [__m256; 2], other: [__m256; 2]) -> [__m256; 2] {
        // SAFETY: `self` proves AVX2.
        unsafe {
            let zero = _mm256_setzero_ps();
            let low = _mm256_cmp_ps::<_CMP_GT_OQ>(x[0], zero);
            let high = _mm256_cmp_ps::<_CMP_GT_OQ>(x[1], zero);
            [_mm256_blendv_ps(other[0], x[0], low), _mm256_blendv_ps(other[1], x[1], high)]
        }
    }

    #[inline(always)]
    fn nonzero(self, x: [__m256; 2]) -> u16 {
        // SAFETY: `self` proves AVX2.
        unsafe {
            let zero = _mm256_setzero_ps();
            let low = _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_NEQ_UQ>(x[0], zero));
            let high = _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_NEQ_UQ>(x[1], zero));
            (low | high << 8) as u16
        }
    }

    #[inline(always)]
    fn load_ints(self, from: &[i32; LANES]) -> [__m256i; 2] {
        // SAFETY: `self` proves AVX2, and the array holds sixteen numbers.
        unsafe {
            let p = from.as_ptr();
            [_mm256_loadu_si256(p.cast()), _mm256_loadu_si256(p.add(8).cast())]
        }
    }

    #[inline(always)]
    fn store_ints(self, x: [__m256i; 2], to: &mut [i32; LANES]) {
        // SAFETY: `self` proves AVX2, and the array holds sixteen numbers.
        unsafe {
            let p = to.as_mut_ptr();
            _mm256_storeu_si256(p.cast(), x[0]);
            _mm256_storeu_si256(p.add(8).cast(), x[1]);
        }
    }

    #[inline(always)]
    fn add_ints(self, a: [__m256i; 2], b: [__m256i; 2]) -> [__m256i; 2] {
        // SAFETY: `self` proves AVX2.
        unsafe { [_mm256_add_epi32(a[0], b[0]), _mm256_add_epi32(a[1], b[1])] }
    }

    #[inline(always)]
    fn sub_ints(self, a: [__m256i; 2], b: [__m256i; 2]) -> [__m256i; 2] {
        // SAFETY: `self` proves AVX2.
        unsafe { [_mm256_sub_epi32(a[0], b[0]), _mm256_sub_epi32(a[1], b[1])] }
    }

    #[inline(always)]
    fn to_floats(self, x: [__m256i; 2]) -> [__m256; 2] {
        // SAFETY: `self` proves AVX2.
        unsafe { [_mm256_cvtepi32_ps(x[0]), _mm256_cvtepi32_ps(x[1])] }
    }
}
