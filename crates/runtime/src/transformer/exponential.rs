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

/// `e^x` within two ulps, with `x` clamped to ±87.
#[inline(always)]
pub(super) fn exp<L: Lanes>(lanes: L, x: L::Floats) -> L::Floats {
    let (add, times) = (|a, b| lanes.add(a, lanes.splat(b)), |a, b| lanes.mul(a, lanes.splat(b)));
    let x = lanes.at_most(lanes.at_least(x, lanes.splat(-FARTHEST)), lanes.splat(FARTHEST));
    let whole = add(times(x, LOG2_E), TO_WHOLE);
    let powers = add(whole, -TO_WHOLE);
    let rest = lanes.add(lanes.add(x, times(powers, -LN_2[0])), times(powers, -LN_2[1]));
    let mut tail = lanes.splat(TAIL[0]);
    for coefficient in TAIL[1..].iter().copied() {
        tail = add(lanes.mul(tail, rest), coefficient);
    }
    lanes.raise(add(lanes.add(lanes.mul(tail, lanes.mul(rest, rest)), rest), 1.0), whole)
}

/// `x / (1 + e^-x)`.
#[inline(always)]
pub(super) fn silu<L: Lanes>(lanes: L, x: L::Floats) -> L::Floats {
    let below = exp(lanes, lanes.mul(x, lanes.splat(-1.0)));
    lanes.div(x, lanes.add(lanes.splat(1.0), below))
}

/// The rational argument of [`erfc`], and its polynomial from the highest power down (Abramowitz and Stegun, 7.1.26).
const ERFC_AT: f32 = 0.327_591_1;
const ERFC: [f32; 5] = [1.061_405_4, -1.453_152, 1.421_413_7, -0.284_496_74, 0.254_829_6];

/// `1 - erf(x)` within 2e-7 for `x` of zero and more.
#[inline(always)]
fn erfc<L: Lanes>(lanes: L, x: L::Floats) -> L::Floats {
    let (add, times) = (|a, b| lanes.add(a, lanes.splat(b)), |a, b| lanes.mul(a, lanes.splat(b)));
    let t = lanes.div(lanes.splat(1.0), add(times(x, ERFC_AT), 1.0));
    let mut sum = lanes.splat(ERFC[0]);
    for coefficient in ERFC[1..].iter().copied() {
        sum = add(lanes.mul(sum, t), coefficient);
    }
    lanes.mul(lanes.mul(sum, t), exp(lanes, times(lanes.mul(x, x), -1.0)))
}

/// `x` times the normal distribution function of `x`.
#[inline(always)]
pub(super) fn gelu<L: Lanes>(lanes: L, x: L::Floats) -> L::Floats {
    let negative = lanes.splat(-1.0);
    let size = lanes.at_least(x, lanes.mul(x, negative));
    let below = lanes.mul(lanes.splat(0.5), erfc(lanes, lanes.mul(size, lanes.splat(FRAC_1_SQRT_2))));
    let above = lanes.add(lanes.splat(1.0), lanes.mul(below, negative));
    // `below` is at most a half, so the greater product has the right factor on either side of zero.
    lanes.at_least(lanes.mul(x, below), lanes.mul(x, above))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accumulator::kernels::scalar::Scalar;

    fn exp(x: f32) -> f32 {
        super::exp(Scalar, [x; 16])[0]
    }

    fn gelu(x: f32) -> f32 {
        super::gelu(Scalar, [x; 16])[0]
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
