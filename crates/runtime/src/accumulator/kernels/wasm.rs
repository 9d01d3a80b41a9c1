//! WebAssembly simd128: four vectors for the sixteen lanes.
//!
//! A module either uses simd128 or does not, so there is nothing to detect at run time.
#![expect(unsafe_code, reason = "vector instructions; `scalar` is the reference and the tests compare them")]

use std::arch::wasm32::*;

use crate::accumulator::block::LANES;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Simd128;

lanes! {
    Simd128: [v128; 4], [v128; _], registers 0 1 2 3;
    splat(x) = f32x4_splat(x);
    load(p) = v128_load(p.cast());
    store(p, x) = v128_store(p.cast(), x);
    nonzero(x) = i32x4_bitmask(f32x4_ne(x, f32x4_splat(0.0)));
    load_ints(p) = v128_load(p.cast());
    store_ints(p, x) = v128_store(p.cast(), x);
    to_floats(x) = f32x4_convert_i32x4(x);
    floats {
        add(a, b) = f32x4_add(a, b);
        mul(a, b) = f32x4_mul(a, b);
        div(a, b) = f32x4_div(a, b);
        raise(x, power) = i32x4_add(x, i32x4_shl(power, 23));
        at_least(x, low) = v128_bitselect(x, low, f32x4_gt(x, low));
        at_most(x, high) = v128_bitselect(x, high, f32x4_lt(x, high));
        positive_or(x, other) = v128_bitselect(x, other, f32x4_gt(x, f32x4_splat(0.0)));
        // One instruction each, but as compiled they let some NaN through: usable for finite numbers, not for bounds.
        lesser(a, b) = f32x4_pmin(b, a);
        greater(a, b) = f32x4_pmax(b, a);
    }
    ints {
        add_ints(a, b) = i32x4_add(a, b);
        sub_ints(a, b) = i32x4_sub(a, b);
    }
    #[inline(always)]
    fn bytes(self, x: [v128; 4]) -> [u8; LANES] {
        // Subtracting the bits of 2^23 instead of masking the lowest byte keeps the compiler from narrowing lane by lane.
        let [a, b, c, d] = x.map(|x| i32x4_sub(x, f32x4_splat(8_388_608.0)));
        let bytes = u8x16_narrow_i16x8(i16x8_narrow_i32x4(a, b), i16x8_narrow_i32x4(c, d));
        let mut to = [0; LANES];
        // SAFETY: the array holds sixteen bytes.
        unsafe { v128_store(to.as_mut_ptr().cast(), bytes) };
        to
    }
}
