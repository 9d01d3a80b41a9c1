//! AVX2: products in 16-bit pairs, sums in 32 bits.
#![expect(unsafe_code, reason = "vector instructions; `scalar` is the reference and the tests compare them")]

use std::arch::x86_64::*;

use super::{Dots, Group, Layout};
use crate::accumulator::kernels::avx2::Avx2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transformer) struct Avx2Dots(pub(in crate::transformer) Avx2);

impl Dots for Avx2Dots {
    type Ints = [__m256i; 2];
    const ROWS: usize = 4;
    const FLOAT_ROWS: usize = 4;
    const LAYOUT: Layout = Layout::Quads;
    const HAS_NARROW_SUMS: bool = true;

    #[inline(always)]
    fn dots<const R: usize, const N: usize, const NARROW: bool>(
        self,
        words: &[[u32; N]; R],
        groups: &[Group; N],
    ) -> [[__m256i; 2]; R] {
        // SAFETY: `self` proves AVX2.
        unsafe {
            let ones = _mm256_set1_epi16(1);
            let splat = |word: u32| _mm256_set1_epi32(word.cast_signed());
            let mut sums = [[_mm256_setzero_si256(); 2]; R];
            for (i, [first, second]) in groups.as_chunks::<2>().0.iter().enumerate() {
                let (first, second) = (halves(first), halves(second));
                for r in 0..R {
                    let (one, other) = (splat(words[r][2 * i]), splat(words[r][2 * i + 1]));
                    for h in 0..2 {
                        let pairs = _mm256_maddubs_epi16(one, first[h]);
                        let others = _mm256_maddubs_epi16(other, second[h]);
                        let quads = if NARROW {
                            _mm256_madd_epi16(_mm256_add_epi16(pairs, others), ones)
                        } else {
                            _mm256_add_epi32(_mm256_madd_epi16(pairs, ones), _mm256_madd_epi16(others, ones))
                        };
                        sums[r][h] = _mm256_add_epi32(sums[r][h], quads);
                    }
                }
            }
            sums
        }
    }
}

/// The two vectors of a group.
#[inline(always)]
pub(super) unsafe fn halves(group: &Group) -> [__m256i; 2] {
    let halves = group.0.as_ptr().cast::<__m256i>();
    // SAFETY: the caller has AVX2, and a group is 64 bytes on a boundary of 64.
    unsafe { [_mm256_load_si256(halves), _mm256_load_si256(halves.add(1))] }
}
