//! `exp` from additions and multiplications: the same bits on every target, and vectorisable.

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
}
