use candle_core::{CpuStorage, CustomOp2, Layout, Result, Shape, Tensor};
use rayon::prelude::*;

use super::rows::{floats, read, rows_a_chunk, simd, sum_rows, tensor};
use super::softmax::{sum, sum2};

/// `x / sqrt(mean(x^2) + eps) * weight` over the last dimension.
pub(crate) fn rms_norm(x: &Tensor, weight: &Tensor, eps: f32) -> Result<Tensor> {
    x.contiguous()?.apply_op2(&weight.contiguous()?, RmsNorm { eps })
}

struct RmsNorm {
    eps: f32,
}

impl RmsNorm {
    /// What a row is multiplied by.
    #[inline(always)]
    fn scale(&self, row: &[f32]) -> f32 {
        1.0 / (sum(row, |x| x * x) / row.len() as f32 + self.eps).sqrt()
    }
}

impl CustomOp2 for RmsNorm {
    fn name(&self) -> &'static str {
        "rms-norm"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        x_layout: &Layout,
        weight: &CpuStorage,
        weight_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (x, weight) = (floats(x, x_layout)?, floats(weight, weight_layout)?);
        let width = weight.len();
        let chunk = width * rows_a_chunk(width);
        let mut y = vec![0.0; x.len()];
        y.par_chunks_mut(chunk).zip(x.par_chunks(chunk)).for_each(|(y, x)| {
            simd(|| {
                for (y, x) in y.chunks_mut(width).zip(x.chunks(width)) {
                    let scale = self.scale(x);
                    for ((y, x), weight) in y.iter_mut().zip(x).zip(weight) {
                        *y = x * scale * weight;
                    }
                }
            });
        });
        Ok((CpuStorage::F32(y), x_layout.shape().clone()))
    }

    fn bwd(
        &self,
        x: &Tensor,
        weight: &Tensor,
        _: &Tensor,
        gradient: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let width = weight.elem_count();
        let chunk = width * rows_a_chunk(width);
        let (slopes, sums) = read(x, |x| {
            read(weight, |weight| {
                read(gradient, |g| {
                    let mut out = vec![0.0; x.len()];
                    let chunks = out.par_chunks_mut(chunk).zip(x.par_chunks(chunk)).zip(g.par_chunks(chunk));
                    chunks.for_each(|((out, x), g)| {
                        simd(|| {
                            let rows = out.chunks_mut(width).zip(x.chunks(width)).zip(g.chunks(width));
                            for ((out, x), g) in rows {
                                let scale = self.scale(x);
                                for ((out, g), weight) in out.iter_mut().zip(g).zip(weight) {
                                    *out = g * weight;
                                }
                                let along = sum2(out, x, |g, x| g * x) * scale * scale / width as f32;
                                for (out, x) in out.iter_mut().zip(x) {
                                    *out = scale * (*out - x * along);
                                }
                            }
                        });
                    });
                    let sums = sum_rows(x.len() / width, width, |sums, row| {
                        let range = row * width..(row + 1) * width;
                        let (x, g) = (&x[range.clone()], &g[range]);
                        let scale = self.scale(x);
                        for ((sum, x), g) in sums.iter_mut().zip(x).zip(g) {
                            *sum += g * x * scale;
                        }
                    });
                    Ok((out, sums))
                })
            })
        })?;
        Ok((Some(tensor(slopes, x.shape())?), Some(tensor(sums, weight.shape())?)))
    }
}
