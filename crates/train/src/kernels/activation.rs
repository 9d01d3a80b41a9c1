use candle_core::{CpuStorage, CustomOp1, Layout, Result, Shape, Tensor};

use super::rows::{floats, map, map2, read, tensor};

/// A function of single elements with its slope.
#[derive(Clone, Copy)]
enum Activation {
    ClippedRelu,
    Silu,
    Gelu,
}

/// `min(max(x, 0), 1)`.
pub(crate) fn clipped_relu(x: &Tensor) -> Result<Tensor> {
    x.contiguous()?.apply_op1(Activation::ClippedRelu)
}

/// `x * sigmoid(x)`.
pub(crate) fn silu(x: &Tensor) -> Result<Tensor> {
    x.contiguous()?.apply_op1(Activation::Silu)
}

/// `x * (1 + erf(x / sqrt 2)) / 2`.
pub(crate) fn gelu(x: &Tensor) -> Result<Tensor> {
    x.contiguous()?.apply_op1(Activation::Gelu)
}

impl CustomOp1 for Activation {
    fn name(&self) -> &'static str {
        "activation"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let x = floats(storage, layout)?;
        let y = match self {
            Activation::ClippedRelu => map(x, |x| x.clamp(0.0, 1.0)),
            Activation::Silu => map(x, |x| x / (1.0 + exp(-x))),
            Activation::Gelu => map(x, |x| x * normal_share(x).0),
        };
        Ok((CpuStorage::F32(y), layout.shape().clone()))
    }

    fn bwd(&self, x: &Tensor, _: &Tensor, gradient: &Tensor) -> Result<Option<Tensor>> {
        let slopes = read(x, |x| {
            read(gradient, |g| {
                Ok(match self {
                    // Zero at both corners, as the slope of a ReLU at zero is.
                    Activation::ClippedRelu => map2(x, g, |x, g| if x > 0.0 && x < 1.0 { g } else { 0.0 }),
                    Activation::Silu => map2(x, g, |x, g| {
                        let share = 1.0 / (1.0 + exp(-x));
                        g * share * (1.0 + x * (1.0 - share))
                    }),
                    Activation::Gelu => map2(x, g, |x, g| {
                        let (share, density) = normal_share(x);
                        g * (share + x * density)
                    }),
                })
            })
        })?;
        tensor(slopes, x.shape()).map(Some)
    }
}

/// e^x to about a unit in the seventh digit, without branches, so that loops over it become vectors. Below -87 it is
/// about 1e-38 rather than zero, above 88 about 1e38 rather than infinity; not a number stays so.
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    // x = n ln 2 + r, with ln 2 in two parts so that r keeps its digits.
    const LN_2_HIGH: f32 = 0.693_359_4;
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    // Adding and taking away 1.5 * 2^23 rounds to a whole number.
    const ROUND: f32 = 12_582_912.0;
    let bounded = if x < -87.0 { -87.0 } else { x };
    let bounded = if bounded > 88.0 { 88.0 } else { bounded };
    let rounded = bounded * std::f32::consts::LOG2_E + ROUND;
    let n = rounded - ROUND;
    let r = (bounded - n * LN_2_HIGH) - n * LN_2_LOW;
    // The Taylor series to the seventh power, which is enough for |r| <= ln(2) / 2.
    let p = 1.0 / 5040.0;
    let p = p * r + 1.0 / 720.0;
    let p = p * r + 1.0 / 120.0;
    let p = p * r + 1.0 / 24.0;
    let p = p * r + 1.0 / 6.0;
    let p = p * r + 0.5;
    let p = p * r + 1.0;
    let p = p * r + 1.0;
    // 2^n: the last bits of the rounded number are n, which becomes the exponent of 1.
    p * f32::from_bits((rounded.to_bits() << 23).wrapping_add(1.0_f32.to_bits()))
}

/// The share of a normal distribution below x, and its density there.
#[inline(always)]
fn normal_share(x: f32) -> (f32, f32) {
    const SQRT_HALF: f32 = std::f32::consts::FRAC_1_SQRT_2;
    // 1 / sqrt(2 pi)
    const SCALE: f32 = 0.398_942_3;
    let e = exp(-0.5 * x * x);
    // Abramowitz and Stegun, 7.1.26: the error is below 1.5e-7.
    let z = x.abs() * SQRT_HALF;
    let t = 1.0 / (1.0 + 0.327_591_1 * z);
    let p = 1.061_405_4 * t - 1.453_152;
    let p = p * t + 1.421_413_7;
    let p = p * t - 0.284_496_74;
    let p = p * t + 0.254_829_6;
    let tail = 0.5 * p * t * e;
    (if x < 0.0 { tail } else { 1.0 - tail }, SCALE * e)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_have_seven_digits() {
        for i in -8600..=8700 {
            let x = i as f32 / 100.0;
            let expected = f64::from(x).exp();
            assert!((f64::from(exp(x)) / expected - 1.0).abs() < 4e-7, "{x}: {} {expected}", exp(x));
        }
        assert!(exp(-1e30) < 1e-37 && exp(200.0) > 1e38 && exp(f32::NAN).is_nan());
        assert_eq!(exp(0.0), 1.0);
    }

    #[test]
    fn shares_of_the_normal_distribution() {
        for (x, share) in [(0.0, 0.5), (1.0, 0.841_344_8), (-2.0, 0.022_750_13), (6.0, 1.0), (-40.0, 0.0)] {
            assert!((normal_share(x).0 - share).abs() < 3e-7, "{x}");
        }
    }
}
