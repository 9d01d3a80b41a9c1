use candle_core::{CpuStorage, CustomOp1, Layout, Result, Shape, Tensor};
use rayon::prelude::*;

use super::activation::exp;
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
