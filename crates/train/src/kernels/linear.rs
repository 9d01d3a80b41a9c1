//! Layers that are products of matrices.

use candle_core::{CpuStorage, CustomOp2, Layout, Result, Shape, Tensor, bail};
use rayon::prelude::*;

use super::product::{Into, Matrix, Threads, product};
use super::rows::{floats, read, sum_rows, tensor};

/// `x W^T + b` on rows.
pub(crate) fn linear(x: &Tensor, weight: &Tensor, bias: &Tensor) -> Result<Tensor> {
    project(x, weight)?.apply_op2(&bias.contiguous()?, AddBias)
}

/// `x W^T` over the last dimension.
pub(crate) fn project(x: &Tensor, weight: &Tensor) -> Result<Tensor> {
    x.contiguous()?.apply_op2(&weight.contiguous()?, Project)
}

/// The product of matrices, one for each leading index.
pub(crate) fn matmul(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    a.contiguous()?.apply_op2(&b.contiguous()?, Matmul)
}

struct AddBias;

impl CustomOp2 for AddBias {
    fn name(&self) -> &'static str {
        "add-bias"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        x_layout: &Layout,
        bias: &CpuStorage,
        bias_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (mut y, bias) = (floats(x, x_layout)?.to_vec(), floats(bias, bias_layout)?);
        y.par_chunks_mut(bias.len()).for_each(|row| {
            row.iter_mut().zip(bias).for_each(|(y, bias)| *y += bias);
        });
        Ok((CpuStorage::F32(y), x_layout.shape().clone()))
    }

    fn bwd(
        &self,
        _: &Tensor,
        bias: &Tensor,
        _: &Tensor,
        gradient: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let width = bias.elem_count();
        let sums = read(gradient, |g| {
            Ok(sum_rows(g.len() / width, width, |sums, row| {
                let g = &g[row * width..(row + 1) * width];
                sums.iter_mut().zip(g).for_each(|(sum, g)| *sum += g);
            }))
        })?;
        Ok((Some(gradient.clone()), Some(tensor(sums, width)?)))
    }
}

struct Project;

impl CustomOp2 for Project {
    fn name(&self) -> &'static str {
        "project"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        x_layout: &Layout,
        weight: &CpuStorage,
        weight_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (outputs, inputs) = weight_layout.shape().dims2()?;
        let mut shape = x_layout.dims().to_vec();
        let (x, weight) = (floats(x, x_layout)?, floats(weight, weight_layout)?);
        match shape.last_mut() {
            Some(width) if *width == inputs => *width = outputs,
            _ => bail!("a layer of {inputs} inputs was given the shape {shape:?}"),
        }
        let rows = x.len() / inputs;
        let mut y = vec![0.0; rows * outputs];
        let weight = Matrix::new(weight, outputs, inputs).transposed();
        product(&mut y, Into::Nothing, 1.0, Matrix::new(x, rows, inputs), weight, Threads::All);
        Ok((CpuStorage::F32(y), Shape::from(shape)))
    }

    fn bwd(
        &self,
        x: &Tensor,
        weight: &Tensor,
        _: &Tensor,
        gradient: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let (outputs, inputs) = weight.dims2()?;
        let rows = x.elem_count() / inputs;
        read(gradient, |g| {
            let g = Matrix::new(g, rows, outputs);
            // Inputs that are constant have no use for a gradient.
            let by_x = if x.track_op() {
                let slopes = read(weight, |weight| {
                    let mut slopes = vec![0.0; rows * inputs];
                    let weight = Matrix::new(weight, outputs, inputs);
                    product(&mut slopes, Into::Nothing, 1.0, g, weight, Threads::All);
                    Ok(slopes)
                })?;
                Some(tensor(slopes, x.shape())?)
            } else {
                None
            };
            let by_weight = read(x, |x| {
                let mut slopes = vec![0.0; outputs * inputs];
                let x = Matrix::new(x, rows, inputs);
                product(&mut slopes, Into::Nothing, 1.0, g.transposed(), x, Threads::All);
                Ok(slopes)
            })?;
            Ok((by_x, Some(tensor(by_weight, weight.shape())?)))
        })
    }
}

struct Matmul;

/// Small products side by side: `out[i] = a[i] b[i]`, with `pick` to say how both matrices lie.
fn each_product(
    out: &mut [f32],
    size: usize,
    a: &[f32],
    b: &[f32],
    pick: impl for<'a> Fn(&'a [f32], &'a [f32]) -> (Matrix<'a>, Matrix<'a>) + Sync,
) {
    let count = out.len() / size;
    let (a_size, b_size) = (a.len() / count, b.len() / count);
    out.par_chunks_mut(size).zip(a.par_chunks(a_size)).zip(b.par_chunks(b_size)).for_each(|((out, a), b)| {
        let (a, b) = pick(a, b);
        product(out, Into::Nothing, 1.0, a, b, Threads::One);
    });
}

impl CustomOp2 for Matmul {
    fn name(&self) -> &'static str {
        "matmul"
    }

    fn cpu_fwd(
        &self,
        a: &CpuStorage,
        a_layout: &Layout,
        b: &CpuStorage,
        b_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (lead, m, k, n) = sizes(a_layout.dims(), b_layout.dims())?;
        let mut y = vec![0.0; lead.iter().product::<usize>() * m * n];
        each_product(&mut y, m * n, floats(a, a_layout)?, floats(b, b_layout)?, |a, b| {
            (Matrix::new(a, m, k), Matrix::new(b, k, n))
        });
        let shape: Vec<usize> = lead.iter().copied().chain([m, n]).collect();
        Ok((CpuStorage::F32(y), Shape::from(shape)))
    }

    fn bwd(
        &self,
        a: &Tensor,
        b: &Tensor,
        _: &Tensor,
        gradient: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let (_, m, k, n) = sizes(a.dims(), b.dims())?;
        read(gradient, |g| {
            let mut by_a = vec![0.0; a.elem_count()];
            read(b, |b| {
                each_product(&mut by_a, m * k, g, b, |g, b| {
                    (Matrix::new(g, m, n), Matrix::new(b, k, n).transposed())
                });
                Ok(())
            })?;
            let mut by_b = vec![0.0; b.elem_count()];
            read(a, |a| {
                each_product(&mut by_b, k * n, a, g, |a, g| {
                    (Matrix::new(a, m, k).transposed(), Matrix::new(g, m, n))
                });
                Ok(())
            })?;
            Ok((Some(tensor(by_a, a.shape())?), Some(tensor(by_b, b.shape())?)))
        })
    }
}

/// The leading dimensions, and the sizes `[m, k]` and `[k, n]`.
fn sizes<'a>(a: &'a [usize], b: &[usize]) -> Result<(&'a [usize], usize, usize, usize)> {
    match (a, b) {
        ([a_lead @ .., m, k], [b_lead @ .., k2, n]) if a_lead == b_lead && k == k2 => {
            Ok((a_lead, *m, *k, *n))
        }
        _ => bail!("there is no product of shapes {a:?} and {b:?}"),
    }
}
