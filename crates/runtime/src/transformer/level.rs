//! Kernel levels of the products.

use std::fmt;
use std::time::Duration;

use super::kernels::scalar::ScalarDots;
use super::kernels::{Dots, Layout};
use super::trial::KernelTrial;
use crate::accumulator::kernels::Lanes;
use crate::accumulator::kernels::scalar::Scalar;

/// A loop with its operands, ready to run on any level.
///
/// `run` and what it calls are `#[inline(always)]`: only code inlined into a level's function is compiled with its instructions.
pub(super) trait Kernel {
    fn run<L: Lanes, D: Dots<Ints = L::Ints>>(self, lanes: L, dots: D);
}

/// An instruction set of this processor. It changes the speed and nothing else.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Level(Set);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Set {
    Scalar,
    #[cfg(target_arch = "x86_64")]
    Avx2(x86::Avx2),
    #[cfg(target_arch = "x86_64")]
    AvxVnni(x86::Avx2, x86::AvxVnniDots),
    #[cfg(target_arch = "x86_64")]
    Avx512(x86::Avx512, x86::VnniDots),
    #[cfg(target_arch = "aarch64")]
    Neon(arm::Neon),
    #[cfg(target_arch = "aarch64")]
    NeonQuads(arm::Neon, arm::NeonQuads),
    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    Simd128,
    #[cfg(all(target_arch = "wasm32", target_feature = "relaxed-simd"))]
    RelaxedPairs,
    #[cfg(all(target_arch = "wasm32", target_feature = "relaxed-simd"))]
    RelaxedQuads,
}

/// Minimum rounds of a measurement, and how long it continues while levels are close: browsers optimise code only after it
/// has run for a while.
const ROUNDS: usize = 12;
const MAX_TIME: Duration = Duration::from_millis(80);

impl Level {
    /// Every level of this processor. The first is plain Rust; each is likely to be faster than the one before.
    pub fn available() -> impl Iterator<Item = Level> {
        let levels = [
            Some(Set::Scalar),
            #[cfg(target_arch = "x86_64")]
            x86::Avx2::detect().map(Set::Avx2),
            #[cfg(target_arch = "x86_64")]
            x86::Avx2::detect()
                .zip(x86::AvxVnniDots::detect())
                .map(|(lanes, dots)| Set::AvxVnni(lanes, dots)),
            #[cfg(target_arch = "x86_64")]
            x86::Avx512::detect().zip(x86::VnniDots::detect()).map(|(lanes, dots)| Set::Avx512(lanes, dots)),
            #[cfg(target_arch = "aarch64")]
            arm::Neon::detect().map(Set::Neon),
            #[cfg(target_arch = "aarch64")]
            arm::Neon::detect()
                .zip(arm::NeonQuads::detect())
                .map(|(lanes, dots)| Set::NeonQuads(lanes, dots)),
            #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
            Some(Set::Simd128),
            #[cfg(all(target_arch = "wasm32", target_feature = "relaxed-simd"))]
            Some(Set::RelaxedQuads),
            #[cfg(all(target_arch = "wasm32", target_feature = "relaxed-simd"))]
            Some(Set::RelaxedPairs),
        ];
        levels.into_iter().flatten().map(Level)
    }

    /// The level that is likely to be fastest.
    pub fn best() -> Level {
        Level::available().last().expect("plain Rust runs everywhere")
    }

    /// The fastest level, measured with the clock `now`, which may count from any moment. Takes some tens of milliseconds.
    ///
    /// For browsers, which do not say which processor they run on; elsewhere [`Level::best`] knows without measuring. A level
    /// whose result differs from the first one's is excluded: some browsers' baseline compilers get an instruction wrong.
    pub fn fastest(mut now: impl FnMut() -> Duration) -> Level {
        let trials: Vec<KernelTrial> = Level::available().skip(1).map(KernelTrial::new).collect();
        let Some(expected) = trials.first().map(KernelTrial::run) else { return Level::best() };
        let mut candidates: Vec<_> = trials.into_iter().map(|trial| (Duration::MAX, trial)).collect();
        let start = now();
        for round in 1.. {
            candidates.retain_mut(|(best, trial)| {
                let start = now();
                let found = trial.run();
                *best = (*best).min(now().saturating_sub(start));
                found == expected
            });
            let clear = match &candidates[..] {
                [others @ .., (last, _)] => others.iter().all(|(time, _)| *time > last.mul_f64(1.2)),
                [] => true,
            };
            if round >= ROUNDS && (clear || now().saturating_sub(start) >= MAX_TIME) {
                break;
            }
        }
        // Of two that are equally fast, the one expected to be faster.
        let fastest = candidates.iter().rev().min_by_key(|(time, _)| *time);
        fastest.map_or_else(Level::best, |(_, trial)| trial.level)
    }

    /// The memory layout of inputs and weights.
    pub(super) fn layout(self) -> Layout {
        let mut layout = Layout::Quads;
        self.run(AskLayout(&mut layout));
        layout
    }

    /// Rows of inputs in one tile.
    pub(super) fn rows(self) -> usize {
        let mut rows = 1;
        self.run(AskRows(&mut rows));
        rows
    }

    /// Runs `kernel` with this level's instructions.
    pub(super) fn run(self, kernel: impl Kernel) {
        match self.0 {
            Set::Scalar => kernel.run(Scalar, ScalarDots),
            #[cfg(target_arch = "x86_64")]
            Set::Avx2(avx2) => x86::run_avx2(avx2, kernel),
            #[cfg(target_arch = "x86_64")]
            Set::AvxVnni(avx2, vnni) => x86::run_avx_vnni(avx2, vnni, kernel),
            #[cfg(target_arch = "x86_64")]
            Set::Avx512(avx512, vnni) => x86::run_avx512(avx512, vnni, kernel),
            #[cfg(target_arch = "aarch64")]
            Set::Neon(neon) => kernel.run(neon, super::kernels::neon::NeonDots(neon)),
            #[cfg(target_arch = "aarch64")]
            Set::NeonQuads(neon, quads) => arm::run_quads(neon, quads, kernel),
            #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
            Set::Simd128 => wasm::apart(super::kernels::wasm::Simd128Dots, kernel),
            #[cfg(all(target_arch = "wasm32", target_feature = "relaxed-simd"))]
            Set::RelaxedPairs => wasm::apart(super::kernels::relaxed::RelaxedPairs, kernel),
            #[cfg(all(target_arch = "wasm32", target_feature = "relaxed-simd"))]
            Set::RelaxedQuads => wasm::apart(super::kernels::relaxed::RelaxedQuads, kernel),
        }
    }
}

struct AskLayout<'a>(&'a mut Layout);

impl Kernel for AskLayout<'_> {
    fn run<L: Lanes, D: Dots<Ints = L::Ints>>(self, _: L, _: D) {
        *self.0 = D::LAYOUT;
    }
}

struct AskRows<'a>(&'a mut usize);

impl Kernel for AskRows<'_> {
    fn run<L: Lanes, D: Dots<Ints = L::Ints>>(self, _: L, _: D) {
        *self.0 = D::ROWS;
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Set::Scalar => "scalar",
            #[cfg(target_arch = "x86_64")]
            Set::Avx2(_) => "AVX2",
            #[cfg(target_arch = "x86_64")]
            Set::AvxVnni(..) => "AVX-VNNI",
            #[cfg(target_arch = "x86_64")]
            Set::Avx512(..) => "AVX-512 VNNI",
            #[cfg(target_arch = "aarch64")]
            Set::Neon(_) => "NEON",
            #[cfg(target_arch = "aarch64")]
            Set::NeonQuads(..) => "NEON dot product",
            #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
            Set::Simd128 => "simd128",
            #[cfg(all(target_arch = "wasm32", target_feature = "relaxed-simd"))]
            Set::RelaxedPairs => "relaxed simd, pairs",
            #[cfg(all(target_arch = "wasm32", target_feature = "relaxed-simd"))]
            Set::RelaxedQuads => "relaxed simd, quads",
        })
    }
}

impl fmt::Debug for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Level({self})")
    }
}

#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod wasm {
    use super::{Dots, Kernel, Lanes};
    use crate::accumulator::kernels::wasm::Simd128;

    /// Runs `kernel` in a separate function, so that profiles show it.
    #[inline(never)]
    pub(super) fn apart<D: Dots<Ints = <Simd128 as Lanes>::Ints>>(dots: D, kernel: impl Kernel) {
        kernel.run(Simd128, dots);
    }
}

#[cfg(target_arch = "aarch64")]
mod arm {
    #![expect(unsafe_code, reason = "functions compiled for detected instructions")]

    pub(super) use super::super::kernels::neon::NeonQuads;
    use super::Kernel;
    pub(super) use crate::accumulator::kernels::neon::Neon;

    pub(super) fn run_quads(neon: Neon, quads: NeonQuads, kernel: impl Kernel) {
        #[target_feature(enable = "neon,dotprod")]
        fn compiled(neon: Neon, quads: NeonQuads, kernel: impl Kernel) {
            kernel.run(neon, quads);
        }
        // SAFETY: `neon` proves NEON, `quads` the dot product.
        unsafe { compiled(neon, quads, kernel) }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    #![expect(unsafe_code, reason = "functions compiled for detected instructions")]

    pub(super) use super::super::kernels::avx_vnni::AvxVnniDots;
    use super::super::kernels::avx2::Avx2Dots;
    pub(super) use super::super::kernels::avx512::VnniDots;
    use super::Kernel;
    pub(super) use crate::accumulator::kernels::avx2::Avx2;
    pub(super) use crate::accumulator::kernels::avx512::Avx512;

    pub(super) fn run_avx2(avx2: Avx2, kernel: impl Kernel) {
        #[target_feature(enable = "avx2,popcnt")]
        fn compiled(avx2: Avx2, kernel: impl Kernel) {
            kernel.run(avx2, Avx2Dots(avx2));
        }
        // SAFETY: `avx2` proves AVX2 and POPCNT.
        unsafe { compiled(avx2, kernel) }
    }

    pub(super) fn run_avx_vnni(avx2: Avx2, vnni: AvxVnniDots, kernel: impl Kernel) {
        #[target_feature(enable = "avx2,popcnt,avxvnni")]
        fn compiled(avx2: Avx2, vnni: AvxVnniDots, kernel: impl Kernel) {
            kernel.run(avx2, vnni);
        }
        // SAFETY: `avx2` proves AVX2 and POPCNT, `vnni` AVX-VNNI.
        unsafe { compiled(avx2, vnni, kernel) }
    }

    pub(super) fn run_avx512(avx512: Avx512, vnni: VnniDots, kernel: impl Kernel) {
        #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni,popcnt")]
        fn compiled(avx512: Avx512, vnni: VnniDots, kernel: impl Kernel) {
            kernel.run(avx512, vnni);
        }
        // SAFETY: `avx512` proves AVX-512F and POPCNT, `vnni` the rest.
        unsafe { compiled(avx512, vnni, kernel) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accumulator::block::{Block, LANES};

    struct Rearrange<'a> {
        rows: &'a [[f32; LANES]; LANES],
        turned: &'a mut [Block<f32>; LANES],
        least: &'a mut [f32; LANES],
    }

    impl Kernel for Rearrange<'_> {
        #[inline(always)]
        fn run<L: Lanes, D: Dots<Ints = L::Ints>>(self, lanes: L, _: D) {
            lanes.transpose(self.rows, self.turned);
            let mut loaded = [lanes.splat(0.0); LANES];
            for (loaded, row) in loaded.iter_mut().zip(self.rows) {
                *loaded = lanes.load(row);
            }
            *self.least = lanes.least(loaded);
        }
    }

    #[test]
    fn rows_are_transposed_and_reduced_on_every_level() {
        let mut rows = [[0.0; LANES]; LANES];
        for (i, x) in rows.as_flattened_mut().iter_mut().enumerate() {
            *x = (i * 91 % 257) as f32 - 100.0;
        }
        for level in Level::available() {
            let (mut turned, mut least) = ([Block([0.0; LANES]); LANES], [0.0; LANES]);
            level.run(Rearrange { rows: &rows, turned: &mut turned, least: &mut least });
            for (t, row) in rows.iter().enumerate() {
                assert!((0..LANES).all(|lane| turned[lane].0[t] == row[lane]), "row {t}, {level}");
                assert_eq!(least[t], row.iter().copied().fold(f32::INFINITY, f32::min), "row {t}, {level}");
            }
        }
    }

    #[test]
    fn fastest_level_is_one_of_those_that_agree() {
        let trials: Vec<_> = Level::available().map(|level| KernelTrial::new(level).run()).collect();
        assert!(trials.iter().all(|found| *found == trials[0]));
        assert!(trials[0].iter().all(|number| *number != 0));
        let mut seconds = 0;
        let winner = Level::fastest(|| {
            seconds += 1;
            Duration::from_secs(seconds)
        });
        assert!(Level::available().any(|level| level == winner));
    }
}
