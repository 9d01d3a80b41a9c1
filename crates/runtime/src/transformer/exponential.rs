//! `exp`, and what is made of it, from additions and multiplications: the same bits on every target, and vectorisable.

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
pub(super) fn exp(x: f32) -> f32 {
    let x = if x > -FARTHEST { x } else { -FARTHEST };
    let x = if x < FARTHEST { x } else { FARTHEST };
    let whole = x * std::f32::consts::LOG2_E + TO_WHOLE;
    let powers = whole - TO_WHOLE;
    let rest = x - powers * LN_2[0] - powers * LN_2[1];
    let mut tail = TAIL[0];
    for coefficient in &TAIL[1..] {
        tail = tail * rest + coefficient;
    }
    let value = tail * (rest * rest) + rest + 1.0;
    f32::from_bits(value.to_bits().wrapping_add(whole.to_bits() << 23))
}

/// `x / (1 + e^-x)`.
#[inline(always)]
pub(super) fn silu(x: f32) -> f32 {
    x / (1.0 + exp(-x))
}

/// The rational argument of [`erfc_of`], and its polynomial from the highest power down (Abramowitz and Stegun, 7.1.26).
const ERFC_AT: f32 = 0.327_591_1;
const ERFC: [f32; 5] = [1.061_405_4, -1.453_152, 1.421_413_7, -0.284_496_74, 0.254_829_6];

/// `1 - erf(x)` within 2e-7 for `x` of zero and more.
#[inline(always)]
fn erfc_of(x: f32) -> f32 {
    let t = 1.0 / (1.0 + ERFC_AT * x);
    let mut sum = ERFC[0];
    for coefficient in &ERFC[1..] {
        sum = sum * t + coefficient;
    }
    sum * t * exp(-(x * x))
}

/// `x` times the normal distribution function of `x`.
#[inline(always)]
pub(super) fn gelu(x: f32) -> f32 {
    let below = 0.5 * erfc_of(x.abs() * std::f32::consts::FRAC_1_SQRT_2);
    x * if x < 0.0 { below } else { 1.0 - below }
}

#[cfg(test)]
mod tests {
    use super::*;

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
