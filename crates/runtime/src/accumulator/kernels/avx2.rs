//! AVX2: two registers for the sixteen lanes.
#![expect(unsafe_code, reason = "vector instructions; `scalar` is the reference and the tests compare them")]

use std::arch::x86_64::*;

use crate::accumulator::block::LANES;

detected!(Avx2, is_x86_feature_detected, ["avx2" "popcnt"]);

lanes! {
    Avx2: [__m256; 2], [__m256i; _], registers 0 1;
    splat(x) = _mm256_set1_ps(x);
    load(p) = _mm256_loadu_ps(p);
    store(p, x) = _mm256_storeu_ps(p, x);
    nonzero(x) = _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_NEQ_UQ>(x, _mm256_setzero_ps()));
    load_ints(p) = _mm256_loadu_si256(p.cast());
    store_ints(p, x) = _mm256_storeu_si256(p.cast(), x);
    to_floats(x) = _mm256_cvtepi32_ps(x);
    floats {
        add(a, b) = _mm256_add_ps(a, b);
        mul(a, b) = _mm256_mul_ps(a, b);
        div(a, b) = _mm256_div_ps(a, b);
        raise(x, power) = _mm256_castsi256_ps(_mm256_add_epi32(
            _mm256_castps_si256(x),
            _mm256_slli_epi32::<23>(_mm256_castps_si256(power)),
        ));
        at_least(x, low) = _mm256_max_ps(x, low);
        at_most(x, high) = _mm256_min_ps(x, high);
        positive_or(x, other) =
            _mm256_blendv_ps(other, x, _mm256_cmp_ps::<_CMP_GT_OQ>(x, _mm256_setzero_ps()));
    }
    ints {
        add_ints(a, b) = _mm256_add_epi32(a, b);
        sub_ints(a, b) = _mm256_sub_epi32(a, b);
    }
    #[inline(always)]
    fn prefetch<T>(self, line: &T) {
        // SAFETY: it reads nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(std::ptr::from_ref(line).cast()) };
    }
    #[inline(always)]
    fn bytes(self, x: [__m256; 2]) -> [u8; LANES] {
        let mut to = [0; LANES];
        // SAFETY: `self` proves AVX2, and the array holds sixteen bytes.
        unsafe {
            let lowest = _mm256_set1_epi32(0xff);
            let [a, b] = x.map(|x| _mm256_and_si256(_mm256_castps_si256(x), lowest));
            // Packing works on halves of a register, which interleaves those of `a` and `b`.
            let words = _mm256_permute4x64_epi64::<0b1101_1000>(_mm256_packus_epi32(a, b));
            let (low, high) = (_mm256_castsi256_si128(words), _mm256_extracti128_si256::<1>(words));
            _mm_storeu_si128(to.as_mut_ptr().cast(), _mm_packus_epi16(low, high));
        }
        to
    }
}
