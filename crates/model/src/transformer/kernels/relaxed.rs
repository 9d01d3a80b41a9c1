//! WebAssembly relaxed SIMD: it multiplies bytes. What it leaves open about large products never happens here, since inputs
//! stay below 128.
//!
//! Which of the two ways is quicker depends on the processor: one instruction for all of it is quick where the processor
//! has such an instruction, and otherwise slower than two steps.

use std::arch::wasm32::*;
use std::array;

use super::wasm::vectors;
use super::{Dots, Group, Layout};

/// Pairs of products first, then pairs of pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transformer) struct RelaxedPairs;

impl Dots for RelaxedPairs {
    type Ints = [v128; 4];
    type Weights = [v128; 4];
    const ROWS: usize = 2;
    const LAYOUT: Layout = Layout::Quads;

    #[inline(always)]
    fn weights(self, group: &Group) -> [v128; 4] {
        vectors(group)
    }

    #[inline(always)]
    fn dot(self, sums: [v128; 4], inputs: u32, weights: [v128; 4]) -> [v128; 4] {
        let inputs = u32x4_splat(inputs);
        array::from_fn(|i| {
            let pairs = i16x8_relaxed_dot_i8x16_i7x16(weights[i], inputs);
            i32x4_add(sums[i], i32x4_dot_i16x8(pairs, i16x8_splat(1)))
        })
    }
}

/// All four products at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transformer) struct RelaxedQuads;

impl Dots for RelaxedQuads {
    type Ints = [v128; 4];
    type Weights = [v128; 4];
    const ROWS: usize = 2;
    const LAYOUT: Layout = Layout::Quads;

    #[inline(always)]
    fn weights(self, group: &Group) -> [v128; 4] {
        vectors(group)
    }

    #[inline(always)]
    fn dot(self, sums: [v128; 4], inputs: u32, weights: [v128; 4]) -> [v128; 4] {
        let inputs = u32x4_splat(inputs);
        array::from_fn(|i| i32x4_relaxed_dot_i8x16_i7x16_add(weights[i], inputs, sums[i]))
    }
}
