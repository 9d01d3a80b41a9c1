//! WebAssembly simd128: four vectors for the sixteen lanes.
//!
//! A module either uses simd128 or does not, so there is nothing to detect at run time.
#![expect(unsafe_code, reason = "vector instructions; `scalar` is the safe twin and the tests compare them")]

use std::arch::wasm32::*;
use std::array;

use super::Lanes;
use crate::accumulator::block::LANES;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Simd128;

impl Lanes for Simd128 {
    type Floats = [v128; 4];
    type Ints = [v128; 4];

    #[inline(always)]
    fn splat(self, x: f32) -> [v128; 4] {
        [f32x4_splat(x); 4]
    }

    #[inline(always)]
    fn load(self, from: &[f32; LANES]) -> [v128; 4] {
        // SAFETY: the array holds sixteen numbers.
        unsafe { array::from_fn(|i| v128_load(from.as_ptr().add(4 * i).cast())) }
    }

    #[inline(always)]
    fn store(self, x: [v128; 4], to: &mut [f32; LANES]) {
        // SAFETY: the array holds sixteen numbers.
        unsafe {
            for (i, x) in x.into_iter().enumerate() {
                v128_store(to.as_mut_ptr().add(4 * i).cast(), x);
            }
        }
    }

    #[inline(always)]
    fn add(self, a: [v128; 4], b: [v128; 4]) -> [v128; 4] {
        array::from_fn(|i| f32x4_add(a[i], b[i]))
    }

    #[inline(always)]
    fn mul(self, a: [v128; 4], b: [v128; 4]) -> [v128; 4] {
        array::from_fn(|i| f32x4_mul(a[i], b[i]))
    }

    #[inline(always)]
    fn at_least(self, x: [v128; 4], low: [v128; 4]) -> [v128; 4] {
        array::from_fn(|i| v128_bitselect(x[i], low[i], f32x4_gt(x[i], low[i])))
    }

    #[inline(always)]
    fn at_most(self, x: [v128; 4], high: [v128; 4]) -> [v128; 4] {
        array::from_fn(|i| v128_bitselect(x[i], high[i], f32x4_lt(x[i], high[i])))
    }

    #[inline(always)]
    fn positive_or(self, x: [v128; 4], other: [v128; 4]) -> [v128; 4] {
        array::from_fn(|i| v128_bitselect(x[i], other[i], f32x4_gt(x[i], f32x4_splat(0.0))))
    }

    // One step each, but as compiled they let some NaN through: good for numbers, not for bounds.
    #[inline(always)]
    fn lesser(self, a: [v128; 4], b: [v128; 4]) -> [v128; 4] {
        array::from_fn(|i| f32x4_pmin(b[i], a[i]))
    }

    #[inline(always)]
    fn greater(self, a: [v128; 4], b: [v128; 4]) -> [v128; 4] {
        array::from_fn(|i| f32x4_pmax(b[i], a[i]))
    }

    #[inline(always)]
    fn bytes(self, x: [v128; 4]) -> [u8; LANES] {
        // The bits of 2^23 are taken off, rather than all but the lowest byte: knowing a number to be a byte, the compiler
        // would take it for a good idea to move each by itself.
        let [a, b, c, d] = x.map(|x| i32x4_sub(x, f32x4_splat(8_388_608.0)));
        let bytes = u8x16_narrow_i16x8(i16x8_narrow_i32x4(a, b), i16x8_narrow_i32x4(c, d));
        let mut to = [0; LANES];
        // SAFETY: the array holds sixteen bytes.
        unsafe { v128_store(to.as_mut_ptr().cast(), bytes) };
        to
    }

    #[inline(always)]
    fn nonzero(self, x: [v128; 4]) -> u16 {
        let mask = |x| u16::from(i32x4_bitmask(f32x4_ne(x, f32x4_splat(0.0))));
        mask(x[0]) | mask(x[1]) << 4 | mask(x[2]) << 8 | mask(x[3]) << 12
    }

    #[inline(always)]
    fn load_ints(self, from: &[i32; LANES]) -> [v128; 4] {
        // SAFETY: the array holds sixteen numbers.
        unsafe { array::from_fn(|i| v128_load(from.as_ptr().add(4 * i).cast())) }
    }

    #[inline(always)]
    fn store_ints(self, x: [v128; 4], to: &mut [i32; LANES]) {
        // SAFETY: the array holds sixteen numbers.
        unsafe {
            for (i, x) in x.into_iter().enumerate() {
                v128_store(to.as_mut_ptr().add(4 * i).cast(), x);
            }
        }
    }

    #[inline(always)]
    fn add_ints(self, a: [v128; 4], b: [v128; 4]) -> [v128; 4] {
        array::from_fn(|i| i32x4_add(a[i], b[i]))
    }

    #[inline(always)]
    fn sub_ints(self, a: [v128; 4], b: [v128; 4]) -> [v128; 4] {
        array::from_fn(|i| i32x4_sub(a[i], b[i]))
    }

    #[inline(always)]
    fn to_floats(self, x: [v128; 4]) -> [v128; 4] {
        array::from_fn(|i| f32x4_convert_i32x4(x[i]))
    }
}
