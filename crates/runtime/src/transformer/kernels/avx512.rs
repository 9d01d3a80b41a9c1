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

    #[inline(always)]
    fn panels<const R: usize, const N: usize, const P: usize>(
        self,
        words: &[[u32; N]; R],
        groups: [&[Group; N]; P],
    ) -> [[[__m512i; 1]; R]; P] {
        // SAFETY: `self` proves AVX-512F and VNNI, and a group is 64 bytes on a boundary of 64.
        unsafe {
            // Two sums of each output, or instructions would wait for each other.
            let mut sums = [[[_mm512_setzero_si512(); 2]; R]; P];
            for i in 0..N {
                let mut weights = [_mm512_setzero_si512(); P];
                for p in 0..P {
                    weights[p] = _mm512_load_si512(groups[p][i].0.as_ptr().cast());
                }
                for r in 0..R {
                    let inputs = _mm512_set1_epi32(words[r][i].cast_signed());
                    for p in 0..P {
                        sums[p][r][i % 2] = _mm512_dpbusd_epi32(sums[p][r][i % 2], inputs, weights[p]);
                    }
                }
            }
            let mut totals = [[[_mm512_setzero_si512()]; R]; P];
            for p in 0..P {
                for r in 0..R {
                    totals[p][r] = [_mm512_add_epi32(sums[p][r][0], sums[p][r][1])];
                }
            }
            totals
        }
    }
}

impl Dots for VnniDots {
    type Ints = [__m512i; 1];
    const ROWS: usize = 4;
    const FLOAT_ROWS: usize = 8;
    const TWO_PANELS: bool = true;
    const LAYOUT: Layout = Layout::Quads;

    #[inline(always)]
    fn dots<const R: usize, const N: usize, const NARROW: bool>(
        self,
        words: &[[u32; N]; R],
        groups: &[Group; N],
    ) -> [[__m512i; 1]; R] {
        let [sums] = self.panels(words, [groups]);
        sums
    }

    #[inline(always)]
    fn dots_of_two<const R: usize, const N: usize>(
        self,
        words: &[[u32; N]; R],
        groups: [&[Group; N]; 2],
    ) -> [[[__m512i; 1]; R]; 2] {
        self.panels(words, groups)
    }
}
