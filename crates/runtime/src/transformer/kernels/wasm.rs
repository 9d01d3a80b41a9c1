//! WebAssembly simd128, whose narrowest product is 16 bits.
#![expect(unsafe_code, reason = "vector instructions; `scalar` is the reference and the tests compare them")]

use std::arch::wasm32::*;
use std::array;

use super::{Dots, Group, Layout};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transformer) struct Simd128Dots;

/// One of the four vectors of a group.
#[inline(always)]
pub(super) fn vector(group: &Group, i: usize) -> v128 {
    let (vectors, _) = group.0.as_chunks::<16>();
    // SAFETY: a vector is 16 bytes.
    unsafe { v128_load(vectors[i].as_ptr().cast()) }
}

/// Sums of sixteen outputs, eight at a time from vectors `i` and `i + 1` of a group: four rows of sixteen do not fit sixteen
/// registers.
#[inline(always)]
pub(super) fn by_halves<const R: usize>(half: impl Fn(usize) -> [[v128; 2]; R]) -> [[v128; 4]; R] {
    let (first, second) = (half(0), half(2));
    array::from_fn(|r| [first[r][0], first[r][1], second[r][0], second[r][1]])
}

/// The sums of sixteen outputs; `dot` adds the products of a word with four outputs' weights to their sums.
#[inline(always)]
pub(super) fn word_by_word<const R: usize, const N: usize>(
    words: &[[u32; N]; R],
    groups: &[Group; N],
    dot: impl Fn(v128, v128, v128) -> v128,
) -> [[v128; 4]; R] {
    by_halves(|i| {
        let mut sums = [[i32x4_splat(0); 2]; R];
        for (at, group) in groups.iter().enumerate() {
            let weights = [vector(group, i), vector(group, i + 1)];
            for r in 0..R {
                let inputs = u32x4_splat(words[r][at]);
                for h in 0..2 {
                    sums[r][h] = dot(sums[r][h], inputs, weights[h]);
                }
            }
        }
        sums
    })
}

impl Dots for Simd128Dots {
    type Ints = [v128; 4];
    const ROWS: usize = 4;
    const FLOAT_ROWS: usize = 2;
    const LAYOUT: Layout = Layout::Pairs;

    #[inline(always)]
    fn dots<const R: usize, const N: usize, const NARROW: bool>(
        self,
        words: &[[u32; N]; R],
        groups: &[Group; N],
    ) -> [[v128; 4]; R] {
        word_by_word(words, groups, |sums, inputs, weights| i32x4_add(sums, i32x4_dot_i16x8(inputs, weights)))
    }
}
