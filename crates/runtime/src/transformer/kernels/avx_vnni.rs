//! AVX-VNNI: the instruction of AVX-512 VNNI on registers of half the size.
#![expect(unsafe_code, reason = "vector instructions; `scalar` is the reference and the tests compare them")]

use std::arch::x86_64::*;

use super::avx2::halves;
use super::{Dots, Group, Layout};

/// Proof that the processor has AVX-VNNI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transformer) struct AvxVnniDots(());

impl AvxVnniDots {
    pub(in crate::transformer) fn detect() -> Option<Self> {
        is_x86_feature_detected!("avxvnni").then_some(AvxVnniDots(()))
    }
}

impl Dots for AvxVnniDots {
    type Ints = [__m256i; 2];
    const ROWS: usize = 4;
    const FLOAT_ROWS: usize = 4;
    const LAYOUT: Layout = Layout::Quads;

    #[inline(always)]
    fn dots<const R: usize, const N: usize, const NARROW: bool>(
        self,
        words: &[[u32; N]; R],
        groups: &[Group; N],
    ) -> [[__m256i; 2]; R] {
        // SAFETY: `self` proves AVX-VNNI, which includes AVX2.
        unsafe {
            let mut sums = [[_mm256_setzero_si256(); 2]; R];
            for (i, group) in groups.iter().enumerate() {
                let weights = halves(group);
                for r in 0..R {
                    let inputs = _mm256_set1_epi32(words[r][i].cast_signed());
                    for h in 0..2 {
                        sums[r][h] = _mm256_dpbusd_avx_epi32(sums[r][h], inputs, weights[h]);
                    }
                }
            }
            sums
        }
    }
}
