use candle_core::{CpuStorage, CustomOp1, Layout, Result, Shape, Tensor};
use rayon::prelude::*;

use super::rows::{floats, read, rows_a_chunk, simd, tensor};

/// A softmax over the last dimension.
pub(crate) fn softmax(x: &Tensor) -> Result<Tensor> {
    x.contiguous()?.apply_op1(Softmax)
}

struct Softmax;

impl CustomOp1 for Softmax {
    fn name(&self) -> &'static str {
        "softmax"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let mut y = floats(storage, layout)?.to_vec();
        let width = layout.dims().last().copied().unwrap_or(1);
        y.par_chunks_mut(width * rows_a_chunk(width)).for_each(|rows| {
            simd(|| {
                for row in rows.chunks_mut(width) {
                    let top = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                    row.iter_mut().for_each(|x| *x = exp(*x - top));
                    let share = 1.0 / sum(row, |x| x);
                    row.iter_mut().for_each(|x| *x *= share);
                }
            });
        });
        Ok((CpuStorage::F32(y), layout.shape().clone()))
    }

    fn bwd(&self, x: &Tensor, y: &Tensor, gradient: &Tensor) -> Result<Option<Tensor>> {
        let width = x.dims().last().copied().unwrap_or(1);
        let chunk = width * rows_a_chunk(width);
        let slopes = read(y, |y| {
            read(gradient, |g| {
                let mut out = vec![0.0; g.len()];
                let chunks = out.par_chunks_mut(chunk).zip(y.par_chunks(chunk)).zip(g.par_chunks(chunk));
                chunks.for_each(|((out, y), g)| {
                    simd(|| {
                        let rows = out.chunks_mut(width).zip(y.chunks(width)).zip(g.chunks(width));
                        for ((out, y), g) in rows {
                            let common = sum2(y, g, |y, g| y * g);
                            for ((out, y), g) in out.iter_mut().zip(y).zip(g) {
                                *out = y * (g - common);
                            }
                        }
                    });
                });
                Ok(out)
            })
        })?;
        tensor(slopes, x.shape()).map(Some)
    }
}

/// How many sums are kept side by side, so that adding up becomes vectors.
const LANES: usize = 16;

/// The sum of `f` of each element, in an order that depends on the length alone.
#[inline(always)]
pub(super) fn sum(x: &[f32], f: impl Fn(f32) -> f32) -> f32 {
    let (chunks, rest) = x.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for chunk in chunks {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            *lane += f(x);
        }
    }
    lanes.iter().sum::<f32>() + rest.iter().map(|&x| f(x)).sum::<f32>()
}

/// The sum of `f` of each pair.
#[inline(always)]
pub(super) fn sum2(x: &[f32], y: &[f32], f: impl Fn(f32, f32) -> f32) -> f32 {
    let ((xs, x_rest), (ys, y_rest)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
    let mut lanes = [0.0; LANES];
    for (xs, ys) in xs.iter().zip(ys) {
        for ((lane, &x), &y) in lanes.iter_mut().zip(xs).zip(ys) {
            *lane += f(x, y);
        }
    }
    lanes.iter().sum::<f32>() + x_rest.iter().zip(y_rest).map(|(&x, &y)| f(x, y)).sum::<f32>()
}

/// e^x to about a unit in the seventh digit, without branches, so that loops over it become vectors. Below -87 it is
/// about 1e-38 rather than zero, above 88 about 1e38 rather than infinity; not a number stays so.
#[inline(always)]
fn exp(x: f32) -> f32 {
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
}
