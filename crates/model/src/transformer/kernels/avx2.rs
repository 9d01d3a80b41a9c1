//! AVX2: products in pairs of 16 bits, the pairs in sums of 32.
#![expect(unsafe_code, reason = "vector instructions; `scalar` is the safe twin and the tests compare them")]

use std::arch::x86_64::*;

use super::{Dots, Group, Layout};
use crate::dense::kernels::avx2::Avx2;

/// Made of the proof that the processor has AVX2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transformer) struct Avx2Dots(pub(in crate::transformer) Avx2);

impl Dots for Avx2Dots {
    type Ints = [__m256i; 2];
    type Weights = [__m256i; 2];
    const ROWS: usize = 4;
    const LAYOUT: Layout = Layout::Quads;

    #[inline(always)]
    fn weights(self, group: &Group) -> [__m256i; 2] {
        let halves = group.0.as_ptr().cast::<__m256i>();
        // SAFETY: `self` proves AVX2, and a group is 64 bytes on a boundary of 64.
        unsafe { [_mm256_load_si256(halves), _mm256_load_si256(halves.add(1))] }
    }

    #[inline(always)]
    fn dot(self, sums: [__m256i; 2], inputs: u32, weights: [__m256i; 2]) -> [__m256i; 2] {
        // SAFETY: `self` proves AVX2.
        unsafe {
            let inputs = _mm256_set1_epi32(inputs.cast_signed());
            let quads =
                |weights| _mm256_madd_epi16(_mm256_maddubs_epi16(inputs, weights), _mm256_set1_epi16(1));
            [_mm256_add_epi32(sums[0], quads(weights[0])), _mm256_add_epi32(sums[1], quads(weights[1]))]
        }
    }
}
