//! Convolutions of small images, as products of matrices.

use candle_core::{CpuStorage, CustomOp3, Layout, Result, Shape, Tensor, bail};
use rayon::prelude::*;

use super::product::{Into, Matrix, product};
use super::rows::{add_up, floats, read, sum_rows, tensor};

/// A convolution with a square kernel of odd size and padding "same": `[out, in, k, k]` and a bias.
pub(crate) fn conv(x: &Tensor, weight: &Tensor, bias: &Tensor) -> Result<Tensor> {
    x.contiguous()?.apply_op3(&weight.contiguous()?, &bias.contiguous()?, Conv)
}

struct Conv;

/// Images whose neighbourhoods lie side by side as one matrix.
const IMAGES: usize = 8;

#[derive(Clone, Copy)]
struct Sizes {
    inputs: usize,
    outputs: usize,
    kernel: usize,
    height: usize,
    width: usize,
}

impl Sizes {
    fn new(x: &[usize], weight: &[usize]) -> Result<Self> {
        match (x, weight) {
            (&[_, inputs, height, width], &[outputs, inputs2, kernel, kernel2])
                if inputs == inputs2 && kernel == kernel2 && kernel % 2 == 1 =>
            {
                Ok(Sizes { inputs, outputs, kernel, height, width })
            }
            _ => bail!("there is no convolution of {x:?} with a kernel {weight:?}"),
        }
    }

    fn pixels(self) -> usize {
        self.height * self.width
    }

    /// Elements of a pixel's neighbourhood.
    fn neighbourhood(self) -> usize {
        self.inputs * self.kernel * self.kernel
    }

    /// Calls `each(row of the matrix, first column in it, first pixel in the channel, length, channel)` for every run of
    /// pixels that a shift by one place of the kernel leaves inside an image. Columns are the pixels of an image.
    #[inline(always)]
    fn runs(self, mut each: impl FnMut(usize, usize, usize, usize, usize)) {
        let half = self.kernel / 2;
        for channel in 0..self.inputs {
            for down in 0..self.kernel {
                for right in 0..self.kernel {
                    let row = (channel * self.kernel + down) * self.kernel + right;
                    // Output pixel (y, x) sees input pixel (y + down - half, x + right - half).
                    let first = half.saturating_sub(right);
                    let last = self.width.min((self.width + half).saturating_sub(right));
                    for y in
                        half.saturating_sub(down)..self.height.min((self.height + half).saturating_sub(down))
                    {
                        let from = (y + down - half) * self.width + first + right - half;
                        if first < last {
                            each(row, y * self.width + first, from, last - first, channel);
                        }
                    }
                }
            }
        }
    }

    /// The neighbourhoods of all pixels of some images, as columns.
    fn columns(self, images: &[f32]) -> Vec<f32> {
        let pixels = self.pixels();
        let count = images.len() / (self.inputs * pixels);
        let mut columns = vec![0.0; self.neighbourhood() * count * pixels];
        for (at, image) in images.chunks(self.inputs * pixels).enumerate() {
            self.runs(|row, to, from, length, channel| {
                let (to, from) = ((row * count + at) * pixels + to, channel * pixels + from);
                columns[to..to + length].copy_from_slice(&image[from..from + length]);
            });
        }
        columns
    }

    /// Adds the columns of neighbourhoods back to the pixels they came from.
    fn images(self, columns: &[f32], images: &mut [f32]) {
        let pixels = self.pixels();
        let count = images.len() / (self.inputs * pixels);
        for (at, image) in images.chunks_mut(self.inputs * pixels).enumerate() {
            self.runs(|row, from, to, length, channel| {
                let (from, to) = ((row * count + at) * pixels + from, channel * pixels + to);
                let columns = &columns[from..from + length];
                image[to..to + length].iter_mut().zip(columns).for_each(|(x, y)| *x += y);
            });
        }
    }

    /// `[image, channel, pixel]` as `[channel, image, pixel]`.
    fn channels_first(self, images: &[f32]) -> Vec<f32> {
        let pixels = self.pixels();
        let count = images.len() / (self.outputs * pixels);
        let mut out = vec![0.0; images.len()];
        for (at, from) in images.chunks(pixels).enumerate() {
            let to = (at % self.outputs * count + at / self.outputs) * pixels;
            out[to..to + pixels].copy_from_slice(from);
        }
        out
    }
}

impl CustomOp3 for Conv {
    fn name(&self) -> &'static str {
        "conv"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        x_layout: &Layout,
        weight: &CpuStorage,
        weight_layout: &Layout,
        bias: &CpuStorage,
        bias_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let sizes = Sizes::new(x_layout.dims(), weight_layout.dims())?;
        let (x, weight, bias) =
            (floats(x, x_layout)?, floats(weight, weight_layout)?, floats(bias, bias_layout)?);
        let Sizes { inputs, outputs, height, width, .. } = sizes;
        let pixels = sizes.pixels();
        let images = x_layout.dims()[0];
        let weight = Matrix::new(weight, outputs, sizes.neighbourhood());
        let mut y = vec![0.0; images * outputs * pixels];
        let chunks = y.par_chunks_mut(IMAGES * outputs * pixels).zip(x.par_chunks(IMAGES * inputs * pixels));
        chunks.for_each(|(y, x)| {
            let columns = sizes.columns(x);
            let count = x.len() / (inputs * pixels);
            let mut product_of = vec![0.0; outputs * count * pixels];
            let columns = Matrix::new(&columns, sizes.neighbourhood(), count * pixels);
            product(&mut product_of, Into::Nothing, 1.0, weight, columns);
            for (at, y) in y.chunks_mut(pixels).enumerate() {
                let (image, channel) = (at / outputs, at % outputs);
                let from = (channel * count + image) * pixels;
                for (y, x) in y.iter_mut().zip(&product_of[from..from + pixels]) {
                    *y = x + bias[channel];
                }
            }
        });
        Ok((CpuStorage::F32(y), Shape::from((images, outputs, height, width))))
    }

    fn bwd(
        &self,
        x: &Tensor,
        weight: &Tensor,
        bias: &Tensor,
        _: &Tensor,
        gradient: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let sizes = Sizes::new(x.dims(), weight.dims())?;
        let Sizes { inputs, outputs, .. } = sizes;
        let pixels = sizes.pixels();
        let neighbourhood = sizes.neighbourhood();
        // Inputs that are constant have no use for a gradient.
        let mut by_x = x.track_op().then(|| vec![0.0; x.elem_count()]);
        let (by_weight, by_bias) = read(x, |x| {
            read(weight, |weight| {
                read(gradient, |g| {
                    let weight = Matrix::new(weight, outputs, neighbourhood);
                    let slopes = |(x, g): (&[f32], &[f32]), by_x: Option<&mut [f32]>| {
                        let count = x.len() / (inputs * pixels);
                        let g = sizes.channels_first(g);
                        let g = Matrix::new(&g, outputs, count * pixels);
                        let mut columns = sizes.columns(x);
                        let mut slopes = vec![0.0; outputs * neighbourhood];
                        let seen = Matrix::new(&columns, neighbourhood, count * pixels).transposed();
                        product(&mut slopes, Into::Nothing, 1.0, g, seen);
                        if let Some(by_x) = by_x {
                            product(&mut columns, Into::Nothing, 1.0, weight.transposed(), g);
                            sizes.images(&columns, by_x);
                        }
                        slopes
                    };
                    let (x_chunk, g_chunk) = (IMAGES * inputs * pixels, IMAGES * outputs * pixels);
                    let chunks = x.par_chunks(x_chunk).zip(g.par_chunks(g_chunk));
                    let parts: Vec<Vec<f32>> = match &mut by_x {
                        Some(by_x) => chunks
                            .zip(by_x.par_chunks_mut(x_chunk))
                            .map(|(chunk, by_x)| slopes(chunk, Some(by_x)))
                            .collect(),
                        None => chunks.map(|chunk| slopes(chunk, None)).collect(),
                    };
                    let sums = sum_rows(g.len() / (outputs * pixels), outputs, |sums, image| {
                        let g = &g[image * outputs * pixels..(image + 1) * outputs * pixels];
                        for (sum, g) in sums.iter_mut().zip(g.chunks(pixels)) {
                            *sum += g.iter().sum::<f32>();
                        }
                    });
                    Ok((add_up(parts, outputs * neighbourhood), sums))
                })
            })
        })?;
        let by_x = by_x.map(|slopes| tensor(slopes, x.shape())).transpose()?;
        Ok((by_x, Some(tensor(by_weight, weight.shape())?), Some(tensor(by_bias, bias.shape())?)))
    }
}
