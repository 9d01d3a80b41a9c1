//! AVX-512 VNNI: four products and their sum in one instruction.
#![expect(unsafe_code, reason = "vector instructions; `scalar` is the safe twin and the tests compare them")]

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
    type Ints = __m512i;
    type Weights = __m512i;
    const ROWS: usize = 8;
    const LAYOUT: Layout = Layout::Quads;

    #[inline(always)]
    fn weights(self, group: &Group) -> __m512i {
        // SAFETY: `self` proves AVX-512F, and a group is 64 bytes on a boundary of 64.
        unsafe { _mm512_load_si512(group.0.as_ptr().cast()) }
    }

    #[inline(always)]
    fn dot(self, sums: __m512i, inputs: u32, weights: __m512i) -> __m512i {
        // SAFETY: `self` proves AVX-512F and VNNI.
        unsafe { _mm512_dpbusd_epi32(sums, _mm512_set1_epi32(inputs.cast_signed()), weights) }
    }
}
