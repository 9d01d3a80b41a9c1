//! AVX-512: one register for the sixteen lanes.
#![expect(unsafe_code, reason = "vector instructions; `scalar` is the reference and the tests compare them")]

use std::arch::x86_64::*;

use crate::accumulator::block::LANES;

detected!(Avx512, is_x86_feature_detected, ["avx512f" "popcnt"]);

lanes! {
    Avx512: [__m512; 1], [__m512i; _], registers 0;
    splat(x) = _mm512_set1_ps(x);
    load(p) = _mm512_loadu_ps(p);
    store(p, x) = _mm512_storeu_ps(p, x);
    nonzero(x) = _mm512_cmp_ps_mask::<_CMP_NEQ_UQ>(x, _mm512_setzero_ps());
    load_ints(p) = _mm512_loadu_si512(p.cast());
    store_ints(p, x) = _mm512_storeu_si512(p.cast(), x);
    to_floats(x) = _mm512_cvtepi32_ps(x);
    floats {
        add(a, b) = _mm512_add_ps(a, b);
        mul(a, b) = _mm512_mul_ps(a, b);
        at_least(x, low) = _mm512_max_ps(x, low);
        at_most(x, high) = _mm512_min_ps(x, high);
        positive_or(x, other) =
            _mm512_mask_mov_ps(other, _mm512_cmp_ps_mask::<_CMP_GT_OQ>(x, _mm512_setzero_ps()), x);
    }
    ints {
        add_ints(a, b) = _mm512_add_epi32(a, b);
        sub_ints(a, b) = _mm512_sub_epi32(a, b);
    }
}
