//! `exp`, and what is made of it, from additions and multiplications: the same bits on every target.

use std::f32::consts::{FRAC_1_SQRT_2, LOG2_E};

use crate::accumulator::kernels::Lanes;

/// Inputs are clamped to this; results beyond are not normal numbers.
const FARTHEST: f32 = 87.0;

/// Adding this rounds to an integer in the lowest bits of the sum.
const TO_WHOLE: f32 = 12_582_912.0;

/// ln 2 in two parts; multiples of the first are exact.
const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];

/// `e^x - 1 - x` over `x^2` for small `x`, from the highest power down.
const TAIL: [f32; 6] = [1.987_569_1e-4, 1.398_2e-3, 8.333_452e-3, 4.166_58e-2, 0.166_666_65, 0.5];

/// The operations on `N` times sixteen numbers: the steps of one chain wait for each other, so that several side by side take less
/// time than one after another.
#[derive(Clone, Copy)]
struct Abreast<L, const N: usize>(L);

impl<L: Lanes, const N: usize> Abreast<L, N> {
    #[inline(always)]
    fn splat(self, x: f32) -> [L::Floats; N] {
        [self.0.splat(x); N]
    }

    #[inline(always)]
    fn each(
        self,
        mut a: [L::Floats; N],
        b: [L::Floats; N],
        of: impl Fn(L, L::Floats, L::Floats) -> L::Floats,
    ) -> [L::Floats; N] {
        for i in 0..N {
            a[i] = of(self.0, a[i], b[i]);
        }
        a
    }

    #[inline(always)]
    fn add(self, a: [L::Floats; N], b: [L::Floats; N]) -> [L::Floats; N] {
        self.each(a, b, L::add)
    }

    #[inline(always)]
    fn mul(self, a: [L::Floats; N], b: [L::Floats; N]) -> [L::Floats; N] {
        self.each(a, b, L::mul)
    }

    #[inline(always)]
    fn div(self, a: [L::Floats; N], b: [L::Floats; N]) -> [L::Floats; N] {
        self.each(a, b, L::div)
    }

    #[inline(always)]
    fn at_least(self, a: [L::Floats; N], b: [L::Floats; N]) -> [L::Floats; N] {
        self.each(a, b, L::at_least)
    }

    #[inline(always)]
    fn at_most(self, a: [L::Floats; N], b: [L::Floats; N]) -> [L::Floats; N] {
        self.each(a, b, L::at_most)
    }

    #[inline(always)]
    fn plus(self, a: [L::Floats; N], b: f32) -> [L::Floats; N] {
        self.add(a, self.splat(b))
    }

    #[inline(always)]
    fn times(self, a: [L::Floats; N], b: f32) -> [L::Floats; N] {
        self.mul(a, self.splat(b))
    }

    /// The polynomial of `x` with these coefficients, from the highest power down.
    #[inline(always)]
    fn polynomial(self, x: [L::Floats; N], coefficients: &[f32]) -> [L::Floats; N] {
        let mut sum = self.splat(coefficients[0]);
        for coefficient in coefficients[1..].iter().copied() {
            sum = self.plus(self.mul(sum, x), coefficient);
        }
        sum
    }

    #[inline(always)]
    fn exp(self, x: [L::Floats; N]) -> [L::Floats; N] {
        let x = self.at_most(self.at_least(x, self.splat(-FARTHEST)), self.splat(FARTHEST));
        let whole = self.plus(self.times(x, LOG2_E), TO_WHOLE);
        let powers = self.plus(whole, -TO_WHOLE);
        let rest = self.add(self.add(x, self.times(powers, -LN_2[0])), self.times(powers, -LN_2[1]));
        let tail = self.polynomial(rest, &TAIL);
        let sum = self.plus(self.add(self.mul(tail, self.mul(rest, rest)), rest), 1.0);
        self.each(sum, whole, L::raise)
    }

    /// `1 - erf(x)` within 2e-7 for `x` of zero and more.
    #[inline(always)]
    fn erfc(self, x: [L::Floats; N]) -> [L::Floats; N] {
        let t = self.div(self.splat(1.0), self.plus(self.times(x, ERFC_AT), 1.0));
        let sum = self.polynomial(t, &ERFC);
        self.mul(self.mul(sum, t), self.exp(self.times(self.mul(x, x), -1.0)))
    }
}

/// `e^x` within two ulps, with `x` clamped to ±87.
#[inline(always)]
pub(super) fn exp<L: Lanes, const N: usize>(lanes: L, x: [L::Floats; N]) -> [L::Floats; N] {
    Abreast(lanes).exp(x)
}

/// `x / (1 + e^-x)`.
#[inline(always)]
pub(super) fn silu<L: Lanes, const N: usize>(lanes: L, x: [L::Floats; N]) -> [L::Floats; N] {
    let lanes = Abreast(lanes);
    let below = lanes.exp(lanes.times(x, -1.0));
    lanes.div(x, lanes.add(lanes.splat(1.0), below))
}

/// The rational argument of `erfc`, and its polynomial from the highest power down (Abramowitz and Stegun, 7.1.26).
const ERFC_AT: f32 = 0.327_591_1;
const ERFC: [f32; 5] = [1.061_405_4, -1.453_152, 1.421_413_7, -0.284_496_74, 0.254_829_6];

/// `x` times the normal distribution function of `x`.
#[inline(always)]
pub(super) fn gelu<L: Lanes, const N: usize>(lanes: L, x: [L::Floats; N]) -> [L::Floats; N] {
    let lanes = Abreast(lanes);
    let size = lanes.at_least(x, lanes.times(x, -1.0));
    let below = lanes.mul(lanes.splat(0.5), lanes.erfc(lanes.times(size, FRAC_1_SQRT_2)));
    let above = lanes.add(lanes.splat(1.0), lanes.times(below, -1.0));
    // `below` is at most a half, so the greater product has the right factor on either side of zero.
    lanes.at_least(lanes.mul(x, below), lanes.mul(x, above))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accumulator::kernels::scalar::Scalar;

    fn exp(x: f32) -> f32 {
        super::exp(Scalar, [[x; 16]])[0][0]
    }

    fn gelu(x: f32) -> f32 {
        super::gelu(Scalar, [[x; 16]])[0][0]
    }

    #[test]
    fn exp_matches_f64() {
        for i in -870..=870 {
            let x = i as f32 / 10.0;
            let exact = f64::from(x).exp();
            let error = (f64::from(exp(x)) - exact).abs() / exact;
            assert!(error < 2.5e-7, "e^{x} is off by {error}");
        }
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(f32::NEG_INFINITY), exp(-FARTHEST));
        assert_eq!(exp(1e30), exp(FARTHEST));
    }

    #[test]
    fn gelu_matches_f64() {
        // The normal distribution function as a sum over its density.
        let steps = 40_000;
        let density = |x: f64| (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
        let (mut below, width) = (0.0, 20.0 / f64::from(steps));
        for i in 0..steps {
            let x = -10.0 + f64::from(i) * width;
            if i % 100 == 0 {
                let error = (f64::from(gelu(x as f32)) - x * below).abs();
                assert!(error < 5e-7, "gelu({x}) is off by {error}");
            }
            below += width * (density(x) + 4.0 * density(x + width / 2.0) + density(x + width)) / 6.0;
        }
        assert_eq!((gelu(0.0), gelu(30.0)), (0.0, 30.0));
        assert!(gelu(-30.0).abs() < f32::MIN_POSITIVE);
    }
}
