//! Sixteen virtual lanes on every instruction set.
//!
//! A [`Kernel`] is written once over [`Lanes`] and compiled for each [`Level`]. The operations of `Lanes` are
//! exact or rounded once per lane as IEEE 754 says, so a kernel gives the same bits on all of them.

use std::fmt;

use super::block::LANES;

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;
#[cfg(target_arch = "aarch64")]
pub(crate) mod neon;
pub(crate) mod scalar;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
pub(crate) mod wasm;

/// Lane-wise operations on sixteen numbers.
///
/// A value of the implementing type is the proof that the processor has the instructions.
pub(crate) trait Lanes: Copy {
    /// Sixteen `f32`.
    type Floats: Copy;
    /// Sixteen `i32`.
    type Ints: Copy;

    fn splat(self, x: f32) -> Self::Floats;
    fn load(self, from: &[f32; LANES]) -> Self::Floats;
    fn store(self, x: Self::Floats, to: &mut [f32; LANES]);
    fn add(self, a: Self::Floats, b: Self::Floats) -> Self::Floats;
    fn mul(self, a: Self::Floats, b: Self::Floats) -> Self::Floats;
    /// `x` where it is greater than `low`, else `low`.
    fn at_least(self, x: Self::Floats, low: Self::Floats) -> Self::Floats;
    /// `x` where it is less than `high`, else `high`.
    fn at_most(self, x: Self::Floats, high: Self::Floats) -> Self::Floats;
    /// The lesser of two numbers.
    #[inline(always)]
    fn lesser(self, a: Self::Floats, b: Self::Floats) -> Self::Floats {
        self.at_most(a, b)
    }
    /// The greater of two numbers.
    #[inline(always)]
    fn greater(self, a: Self::Floats, b: Self::Floats) -> Self::Floats {
        self.at_least(a, b)
    }
    /// `x` where it is greater than 0, else `other`.
    fn positive_or(self, x: Self::Floats, other: Self::Floats) -> Self::Floats;
    /// How much each number is above 2^23; none is below that or more than 255 above.
    #[inline(always)]
    fn bytes(self, x: Self::Floats) -> [u8; LANES] {
        let mut lanes = [0.0; LANES];
        self.store(x, &mut lanes);
        lanes.map(|lane| lane.to_bits() as u8)
    }
    /// Bit `i` is set where lane `i` is not 0.
    fn nonzero(self, x: Self::Floats) -> u16;

    fn load_ints(self, from: &[i32; LANES]) -> Self::Ints;
    fn store_ints(self, x: Self::Ints, to: &mut [i32; LANES]);
    /// Wraps around.
    fn add_ints(self, a: Self::Ints, b: Self::Ints) -> Self::Ints;
    /// Wraps around.
    fn sub_ints(self, a: Self::Ints, b: Self::Ints) -> Self::Ints;
    /// Rounded to nearest, ties to even.
    fn to_floats(self, x: Self::Ints) -> Self::Floats;
}

/// A loop with its operands, ready to run on any lanes.
///
/// `run` and what it calls are `#[inline(always)]`: only code inlined into a level's own function is compiled
/// with that level's instructions.
pub(super) trait Kernel {
    fn run<L: Lanes>(self, lanes: L);
}

/// An instruction set this processor has. The choice changes the speed and nothing else.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Level(Set);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Set {
    Scalar(scalar::Scalar),
    #[cfg(target_arch = "x86_64")]
    Avx2(avx2::Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(avx512::Avx512),
    #[cfg(target_arch = "aarch64")]
    Neon(neon::Neon),
    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    Simd128(wasm::Simd128),
}

impl Level {
    /// Every level that runs here, fastest last. The first is plain Rust.
    pub fn available() -> impl Iterator<Item = Level> {
        let levels = [
            Some(Set::Scalar(scalar::Scalar)),
            #[cfg(target_arch = "x86_64")]
            avx2::Avx2::detect().map(Set::Avx2),
            #[cfg(target_arch = "x86_64")]
            avx512::Avx512::detect().map(Set::Avx512),
            #[cfg(target_arch = "aarch64")]
            neon::Neon::detect().map(Set::Neon),
            #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
            Some(Set::Simd128(wasm::Simd128)),
        ];
        levels.into_iter().flatten().map(Level)
    }

    /// The fastest level that runs here.
    pub fn best() -> Self {
        Self::available().last().expect("plain Rust runs everywhere")
    }

    /// Runs `kernel` with this level's instructions.
    pub(super) fn run(self, kernel: impl Kernel) {
        match self.0 {
            Set::Scalar(scalar) => kernel.run(scalar),
            #[cfg(target_arch = "x86_64")]
            Set::Avx2(avx2) => avx2.run(kernel),
            #[cfg(target_arch = "x86_64")]
            Set::Avx512(avx512) => avx512.run(kernel),
            #[cfg(target_arch = "aarch64")]
            Set::Neon(neon) => neon.run(kernel),
            #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
            Set::Simd128(simd128) => kernel.run(simd128),
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Set::Scalar(_) => "scalar",
            #[cfg(target_arch = "x86_64")]
            Set::Avx2(_) => "AVX2",
            #[cfg(target_arch = "x86_64")]
            Set::Avx512(_) => "AVX-512",
            #[cfg(target_arch = "aarch64")]
            Set::Neon(_) => "NEON",
            #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
            Set::Simd128(_) => "simd128",
        })
    }
}

impl fmt::Debug for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Level({self})")
    }
}
