//! Plain Rust: the reference for the other levels, and the fallback.

use std::array;

use super::Lanes;
use crate::accumulator::block::LANES;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scalar;

impl Lanes for Scalar {
    type Floats = [f32; LANES];
    type Ints = [i32; LANES];

    #[inline(always)]
    fn splat(self, x: f32) -> [f32; LANES] {
        [x; LANES]
    }

    #[inline(always)]
    fn load(self, from: &[f32; LANES]) -> [f32; LANES] {
        *from
    }

    #[inline(always)]
    fn store(self, x: [f32; LANES], to: &mut [f32; LANES]) {
        *to = x;
    }

    #[inline(always)]
    fn add(self, a: [f32; LANES], b: [f32; LANES]) -> [f32; LANES] {
        array::from_fn(|i| a[i] + b[i])
    }

    #[inline(always)]
    fn mul(self, a: [f32; LANES], b: [f32; LANES]) -> [f32; LANES] {
        array::from_fn(|i| a[i] * b[i])
    }

    #[inline(always)]
    fn div(self, a: [f32; LANES], b: [f32; LANES]) -> [f32; LANES] {
        array::from_fn(|i| a[i] / b[i])
    }

    #[inline(always)]
    fn raise(self, x: [f32; LANES], power: [f32; LANES]) -> [f32; LANES] {
        array::from_fn(|i| f32::from_bits(x[i].to_bits().wrapping_add(power[i].to_bits() << 23)))
    }

    #[inline(always)]
    fn at_least(self, x: [f32; LANES], low: [f32; LANES]) -> [f32; LANES] {
        array::from_fn(|i| if x[i] > low[i] { x[i] } else { low[i] })
    }

    #[inline(always)]
    fn at_most(self, x: [f32; LANES], high: [f32; LANES]) -> [f32; LANES] {
        array::from_fn(|i| if x[i] < high[i] { x[i] } else { high[i] })
    }

    #[inline(always)]
    fn positive_or(self, x: [f32; LANES], other: [f32; LANES]) -> [f32; LANES] {
        array::from_fn(|i| if x[i] > 0.0 { x[i] } else { other[i] })
    }

    #[inline(always)]
    fn bytes(self, x: [f32; LANES]) -> [u8; LANES] {
        x.map(|x| x.to_bits() as u8)
    }

    #[inline(always)]
    fn nonzero(self, x: [f32; LANES]) -> u16 {
        x.iter().enumerate().fold(0, |mask, (i, &x)| mask | (u16::from(x != 0.0) << i))
    }

    #[inline(always)]
    fn load_ints(self, from: &[i32; LANES]) -> [i32; LANES] {
        *from
    }

    #[inline(always)]
    fn store_ints(self, x: [i32; LANES], to: &mut [i32; LANES]) {
        *to = x;
    }

    #[inline(always)]
    fn add_ints(self, a: [i32; LANES], b: [i32; LANES]) -> [i32; LANES] {
        array::from_fn(|i| a[i].wrapping_add(b[i]))
    }

    #[inline(always)]
    fn sub_ints(self, a: [i32; LANES], b: [i32; LANES]) -> [i32; LANES] {
        array::from_fn(|i| a[i].wrapping_sub(b[i]))
    }

    #[inline(always)]
    fn to_floats(self, x: [i32; LANES]) -> [f32; LANES] {
        x.map(|x| x as f32)
    }
}
