//! WebAssembly relaxed SIMD, which multiplies bytes. Its implementation-defined cases do not occur, since inputs are below 128.
//!
//! Which of the two variants is faster depends on whether the processor has the four-way dot product.

use std::arch::wasm32::*;
use std::hint::black_box;

use super::wasm::{by_halves, vector, word_by_word};
use super::{Dots, Group, Layout};

/// Two-way dot products, then pairwise sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transformer) struct RelaxedPairs;

impl Dots for RelaxedPairs {
    type Ints = [v128; 4];
    const ROWS: usize = 4;
    const FLOAT_ROWS: usize = 2;
    const LAYOUT: Layout = Layout::Quads;
    const HAS_NARROW_SUMS: bool = true;

    #[inline(always)]
    fn dots<const R: usize, const N: usize, const NARROW: bool>(
        self,
        words: &[[u32; N]; R],
        groups: &[Group; N],
    ) -> [[v128; 4]; R] {
        // Browsers rematerialise constants at every use; black_box keeps this one in a register.
        let ones = i16x8_splat(black_box(1));
        by_halves(|i| {
            let mut sums = [[i32x4_splat(0); 2]; R];
            for (at, [first, second]) in groups.as_chunks::<2>().0.iter().enumerate() {
                let first = [vector(first, i), vector(first, i + 1)];
                let second = [vector(second, i), vector(second, i + 1)];
                for r in 0..R {
                    let (one, other) = (u32x4_splat(words[r][2 * at]), u32x4_splat(words[r][2 * at + 1]));
                    for h in 0..2 {
                        let pairs = i16x8_relaxed_dot_i8x16_i7x16(first[h], one);
                        let others = i16x8_relaxed_dot_i8x16_i7x16(second[h], other);
                        let quads = if NARROW {
                            i32x4_dot_i16x8(i16x8_add(pairs, others), ones)
                        } else {
                            i32x4_add(i32x4_dot_i16x8(pairs, ones), i32x4_dot_i16x8(others, ones))
                        };
                        sums[r][h] = i32x4_add(sums[r][h], quads);
                    }
                }
            }
            sums
        })
    }
}

/// Four-way dot products.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transformer) struct RelaxedQuads;

impl Dots for RelaxedQuads {
    type Ints = [v128; 4];
    const ROWS: usize = 4;
    const FLOAT_ROWS: usize = 2;
    const LAYOUT: Layout = Layout::Quads;

    #[inline(always)]
    fn dots<const R: usize, const N: usize, const NARROW: bool>(
        self,
        words: &[[u32; N]; R],
        groups: &[Group; N],
    ) -> [[v128; 4]; R] {
        word_by_word(words, groups, |sums, inputs, weights| {
            i32x4_relaxed_dot_i8x16_i7x16_add(weights, inputs, sums)
        })
    }
}
