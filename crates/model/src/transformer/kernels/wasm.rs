//! WebAssembly simd128: it multiplies 16 bits at the least.
#![expect(unsafe_code, reason = "vector instructions; `scalar` is the safe twin and the tests compare them")]

use std::arch::wasm32::*;
use std::array;

use super::{Dots, Group, Layout};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transformer) struct Simd128Dots;

/// The four vectors of a group.
#[inline(always)]
pub(super) fn vectors(group: &Group) -> [v128; 4] {
    // SAFETY: a group is 64 bytes.
    unsafe { array::from_fn(|i| v128_load(group.0.as_ptr().add(16 * i).cast())) }
}

impl Dots for Simd128Dots {
    type Ints = [v128; 4];
    type Weights = [v128; 4];
    const ROWS: usize = 2;
    const LAYOUT: Layout = Layout::Pairs;

    #[inline(always)]
    fn weights(self, group: &Group) -> [v128; 4] {
        vectors(group)
    }

    #[inline(always)]
    fn dot(self, sums: [v128; 4], inputs: u32, weights: [v128; 4]) -> [v128; 4] {
        let inputs = u32x4_splat(inputs);
        array::from_fn(|i| i32x4_add(sums[i], i32x4_dot_i16x8(inputs, weights[i])))
    }
}
