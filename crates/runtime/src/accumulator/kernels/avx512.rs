//! AVX-512: one register for the sixteen lanes.
#![expect(unsafe_code, reason = "vector instructions; `scalar` is the reference and the tests compare them")]

use std::arch::x86_64::*;

use crate::accumulator::block::{Block, LANES};

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
        div(a, b) = _mm512_div_ps(a, b);
        raise(x, power) = _mm512_castsi512_ps(_mm512_add_epi32(
            _mm512_castps_si512(x),
            _mm512_slli_epi32::<23>(_mm512_castps_si512(power)),
        ));
        at_least(x, low) = _mm512_max_ps(x, low);
        at_most(x, high) = _mm512_min_ps(x, high);
        positive_or(x, other) =
            _mm512_mask_mov_ps(other, _mm512_cmp_ps_mask::<_CMP_GT_OQ>(x, _mm512_setzero_ps()), x);
    }
    ints {
        add_ints(a, b) = _mm512_add_epi32(a, b);
        sub_ints(a, b) = _mm512_sub_epi32(a, b);
    }
    #[inline(always)]
    fn prefetch<T>(self, line: &T) {
        // SAFETY: it reads nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(std::ptr::from_ref(line).cast()) };
    }
    #[inline(always)]
    fn bytes(self, [x]: [__m512; 1]) -> [u8; LANES] {
        let mut to = [0; LANES];
        // SAFETY: `self` proves AVX-512F, and the array holds sixteen bytes.
        unsafe { _mm_storeu_si128(to.as_mut_ptr().cast(), _mm512_cvtepi32_epi8(_mm512_castps_si512(x))) };
        to
    }
    #[inline(always)]
    fn least(self, mut of: [[__m512; 1]; LANES]) -> [f32; LANES] {
        let mut least = [0.0; LANES];
        // SAFETY: `self` proves AVX-512F, and the array holds sixteen numbers.
        unsafe {
            halve::<8>(&mut of);
            halve::<4>(&mut of);
            halve::<2>(&mut of);
            halve::<1>(&mut of);
            _mm512_storeu_ps(least.as_mut_ptr(), of[0][0]);
        }
        least
    }
    #[inline(always)]
    fn transpose(self, rows: &[[f32; LANES]; LANES], to: &mut [Block<f32>; LANES]) {
        // SAFETY: `self` proves AVX-512F, and all arrays hold sixteen numbers.
        unsafe {
            let mut turned = [_mm512_setzero_ps(); LANES];
            for t in 0..LANES {
                turned[t] = _mm512_loadu_ps(rows[t].as_ptr());
            }
            turn::<1>(&mut turned);
            turn::<2>(&mut turned);
            turn::<4>(&mut turned);
            turn::<8>(&mut turned);
            for t in 0..LANES {
                _mm512_store_ps(to[t].0.as_mut_ptr(), turned[t]);
            }
        }
    }
}

/// Row `t` becomes the lesser halves of rows `t` and `t + SIZE`.
#[inline(always)]
unsafe fn halve<const SIZE: usize>(rows: &mut [[__m512; 1]; LANES]) {
    for t in 0..SIZE {
        // SAFETY: the caller has AVX-512F.
        unsafe {
            let [a, b] = exchange::<SIZE>(rows[t][0], rows[t + SIZE][0]);
            rows[t] = [_mm512_min_ps(b, a)];
        }
    }
}

/// Exchanges blocks of rows that are `SIZE` apart.
#[inline(always)]
unsafe fn turn<const SIZE: usize>(rows: &mut [__m512; LANES]) {
    for i in 0..LANES / 2 {
        let t = i / SIZE * 2 * SIZE + i % SIZE;
        // SAFETY: the caller has AVX-512F.
        [rows[t], rows[t + SIZE]] = unsafe { exchange::<SIZE>(rows[t], rows[t + SIZE]) };
    }
}

/// Exchanges the odd blocks of `SIZE` lanes of the first with the even ones of the second.
#[inline(always)]
unsafe fn exchange<const SIZE: usize>(a: __m512, b: __m512) -> [__m512; 2] {
    let [upper, lower] = const { exchanged(SIZE) };
    // SAFETY: the caller has AVX-512F, and the arrays hold sixteen numbers.
    unsafe {
        let (upper, lower) =
            (_mm512_loadu_si512(upper.as_ptr().cast()), _mm512_loadu_si512(lower.as_ptr().cast()));
        [_mm512_permutex2var_ps(a, upper, b), _mm512_permutex2var_ps(a, lower, b)]
    }
}

/// The indices of [`exchange`]; those of the second row follow those of the first.
const fn exchanged(size: usize) -> [[i32; LANES]; 2] {
    let mut indices = [[0; LANES]; 2];
    let mut lane = 0;
    while lane < LANES {
        let is_even = lane & size == 0;
        indices[0][lane] = (if is_even { lane } else { LANES + lane - size }) as i32;
        indices[1][lane] = (if is_even { lane + size } else { LANES + lane }) as i32;
        lane += 1;
    }
    indices
}
