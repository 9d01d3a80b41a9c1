//! AVX-512 VNNI: four products and their sum in one instruction.
#![expect(unsafe_code, reason = "vector instructions; `scalar` is the reference and the tests compare them")]

use std::arch::x86_64::*;

use super::{Dots, Group, Layout};

/// Proof that the processor has AVX-512F, BW, VL and VNNI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transformer) struct VnniDots(());

impl VnniDots {
    pub(in crate::transformer) fn detect() -> Option<Self> {
        let has = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vnni");
        has.then_some(VnniDots(()))
    }
}

impl Dots for VnniDots {
    type Ints = [__m512i; 1];
    const ROWS: usize = 8;
    const FLOAT_ROWS: usize = 8;
    const LAYOUT: Layout = Layout::Quads;

    #[inline(always)]
    fn dots<const R: usize, const N: usize, const NARROW: bool>(
        self,
        words: &[[u32; R]; N],
        groups: &[Group; N],
    ) -> [[__m512i; 1]; R] {
        // SAFETY: `self` proves AVX-512F and VNNI, and a group is 64 bytes on a boundary of 64.
        unsafe {
            let mut sums = [[_mm512_setzero_si512()]; R];
            for (words, group) in words.iter().zip(groups) {
                let weights = _mm512_load_si512(group.0.as_ptr().cast());
                for r in 0..R {
                    let inputs = _mm512_set1_epi32(words[r].cast_signed());
                    sums[r][0] = _mm512_dpbusd_epi32(sums[r][0], inputs, weights);
                }
            }
            sums
        }
    }
}
