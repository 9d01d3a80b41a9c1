//! Sixteen virtual lanes on every instruction set.
//!
//! A [`Kernel`] is written once over [`Lanes`] and compiled for each [`Level`]. The operations of `Lanes` are exact or correctly
//! rounded, so a kernel gives the same bits on all levels.

use std::fmt;

use super::block::{Block, LANES};

/// A value that only exists where the processor has `$feature`, and that runs kernels compiled for it.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! detected {
    ($name:ident, $detect:ident, [$($feature:tt)+]) => {
        #[doc = concat!("Proof that the processor has", $(" ", $feature),+, ".")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) struct $name(());

        impl $name {
            pub(crate) fn detect() -> Option<Self> {
                ($($detect!($feature))&&+).then_some($name(()))
            }

            #[inline]
            pub(super) fn run(self, kernel: impl super::Kernel) {
                #[target_feature($(enable = $feature),+)]
                fn compiled(lanes: $name, kernel: impl super::Kernel) {
                    kernel.run(lanes);
                }
                // SAFETY: `self` proves the features.
                unsafe { compiled(self, kernel) }
            }
        }
    };
}

/// Implements [`Lanes`] with `$n` registers for the sixteen lanes, from the instructions for one register.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_feature = "simd128"))]
macro_rules! lanes {
    (
        $level:ty: [$float:ty; $n:literal], [$int:ty; _], registers $($i:literal)+;
        splat($sx:ident) = $splat:expr;
        load($lp:ident) = $load:expr;
        store($sp:ident, $sv:ident) = $store:expr;
        nonzero($nx:ident) = $nonzero:expr;
        load_ints($lip:ident) = $load_ints:expr;
        store_ints($sip:ident, $siv:ident) = $store_ints:expr;
        to_floats($tx:ident) = $to_floats:expr;
        floats { $($binary:ident($a:ident, $b:ident) = $op:expr;)+ }
        ints { $($int_binary:ident($ia:ident, $ib:ident) = $int_op:expr;)+ }
        $($more:item)*
    ) => {
        // SAFETY of every block: a value of the level proves its instructions, and the arrays hold sixteen numbers.
        #[allow(unused_unsafe, clippy::undocumented_unsafe_blocks, reason = "some instruction sets have safe intrinsics")]
        impl super::Lanes for $level {
            type Floats = [$float; $n];
            type Ints = [$int; $n];

            #[inline(always)]
            fn splat(self, $sx: f32) -> [$float; $n] {
                unsafe { [$splat; $n] }
            }

            #[inline(always)]
            fn load(self, from: &[f32; LANES]) -> [$float; $n] {
                unsafe { [$({ let $lp = from.as_ptr().add(LANES / $n * $i); $load }),+] }
            }

            #[inline(always)]
            fn store(self, x: [$float; $n], to: &mut [f32; LANES]) {
                unsafe { $({ let ($sp, $sv) = (to.as_mut_ptr().add(LANES / $n * $i), x[$i]); $store };)+ }
            }

            #[inline(always)]
            fn nonzero(self, x: [$float; $n]) -> u16 {
                unsafe { $(({ let $nx = x[$i]; $nonzero } as u16) << (LANES / $n * $i))|+ }
            }

            #[inline(always)]
            fn load_ints(self, from: &[i32; LANES]) -> [$int; $n] {
                unsafe { [$({ let $lip = from.as_ptr().add(LANES / $n * $i); $load_ints }),+] }
            }

            #[inline(always)]
            fn store_ints(self, x: [$int; $n], to: &mut [i32; LANES]) {
                unsafe { $({ let ($sip, $siv) = (to.as_mut_ptr().add(LANES / $n * $i), x[$i]); $store_ints };)+ }
            }

            #[inline(always)]
            fn to_floats(self, x: [$int; $n]) -> [$float; $n] {
                unsafe { [$({ let $tx = x[$i]; $to_floats }),+] }
            }

            lanes!(@each [$($i)+] [$float; $n] $($binary($a, $b) = $op;)+);
            lanes!(@each [$($i)+] [$int; $n] $($int_binary($ia, $ib) = $int_op;)+);
            $($more)*
        }
    };
    (@each $registers:tt [$register:ty; $n:literal] $($name:ident($a:ident, $b:ident) = $op:expr;)+) => {
        $(lanes!(@one $registers [$register; $n] $name($a, $b) = $op);)+
    };
    (@one [$($i:literal)+] [$register:ty; $n:literal] $name:ident($a:ident, $b:ident) = $op:expr) => {
        #[inline(always)]
        fn $name(self, x: [$register; $n], y: [$register; $n]) -> [$register; $n] {
            unsafe { [$({ let ($a, $b) = (x[$i], y[$i]); $op }),+] }
        }
    };
}

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
/// A value of the implementing type proves that the processor has the instructions.
pub(crate) trait Lanes: Copy {
    /// Sixteen `f32`.
    type Floats: Copy;
    /// Sixteen `i32`.
    type Ints: Copy;

    fn splat(self, x: f32) -> Self::Floats;
    fn load(self, from: &[f32; LANES]) -> Self::Floats;
    /// Asks for the cache line at `line`, which will be read soon. Does nothing where no such intrinsic is stable.
    #[inline(always)]
    fn prefetch<T>(self, _line: &T) {}
    fn store(self, x: Self::Floats, to: &mut [f32; LANES]);
    fn add(self, a: Self::Floats, b: Self::Floats) -> Self::Floats;
    fn mul(self, a: Self::Floats, b: Self::Floats) -> Self::Floats;
    fn div(self, a: Self::Floats, b: Self::Floats) -> Self::Floats;
    /// `x` with the lowest bits of `power` added to its exponent.
    fn raise(self, x: Self::Floats, power: Self::Floats) -> Self::Floats;
    /// `x` where it is greater than `low`, else `low`.
    fn at_least(self, x: Self::Floats, low: Self::Floats) -> Self::Floats;
    /// `x` where it is less than `high`, else `high`.
    fn at_most(self, x: Self::Floats, high: Self::Floats) -> Self::Floats;
    /// The minimum of two numbers.
    #[inline(always)]
    fn lesser(self, a: Self::Floats, b: Self::Floats) -> Self::Floats {
        self.at_most(a, b)
    }
    /// The maximum of two numbers.
    #[inline(always)]
    fn greater(self, a: Self::Floats, b: Self::Floats) -> Self::Floats {
        self.at_least(a, b)
    }
    /// `x` where it is greater than 0, else `other`.
    fn positive_or(self, x: Self::Floats, other: Self::Floats) -> Self::Floats;
    /// Each number minus 2^23, which is 0 to 255.
    fn bytes(self, x: Self::Floats) -> [u8; LANES];
    /// The least lane of each.
    #[inline(always)]
    fn least(self, of: [Self::Floats; LANES]) -> [f32; LANES] {
        let mut least = [0.0; LANES];
        for (least, x) in least.iter_mut().zip(of) {
            let mut lanes = [0.0; LANES];
            self.store(x, &mut lanes);
            *least = reduce(lanes, |a, b| if b < a { b } else { a });
        }
        least
    }
    /// Stores lane `i` of row `t` in lane `t` of block `i`.
    #[inline(always)]
    fn transpose(self, rows: &[[f32; LANES]; LANES], to: &mut [Block<f32>; LANES]) {
        for (lane, block) in to.iter_mut().enumerate() {
            for (to, row) in block.0.iter_mut().zip(rows) {
                *to = row[lane];
            }
        }
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

/// A reduction of sixteen lanes by halves, in the same order everywhere.
#[inline(always)]
pub(crate) fn reduce(mut lanes: [f32; LANES], join: impl Fn(f32, f32) -> f32) -> f32 {
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            lanes[lane] = join(lanes[lane], lanes[lane + width]);
        }
        width /= 2;
    }
    lanes[0]
}

/// A loop with its operands, ready to run on any lanes.
///
/// `run` and what it calls are `#[inline(always)]`: only code inlined into a level's function is compiled with its instructions.
pub(super) trait Kernel {
    fn run<L: Lanes>(self, lanes: L);
}

/// An instruction set of this processor. It changes the speed and nothing else.
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
    /// Every level of this processor, fastest last. The first is plain Rust.
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

    /// The fastest level.
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
