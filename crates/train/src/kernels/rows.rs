//! Tensors as slices, and loops over them in parallel.

use candle_core::{CpuStorage, Device, Layout, Result, Shape, Storage, Tensor, bail};
use rayon::prelude::*;

/// Elements a thread takes at a time.
pub(crate) const CHUNK: usize = 1 << 14;

/// The elements of a storage that a layout names, which have to lie side by side.
pub(super) fn floats<'a>(storage: &'a CpuStorage, layout: &Layout) -> Result<&'a [f32]> {
    match layout.contiguous_offsets() {
        Some((from, to)) => Ok(&storage.as_slice::<f32>()?[from..to]),
        None => bail!("a kernel was given elements that do not lie side by side"),
    }
}

/// What `read` makes of the elements of a tensor.
pub(crate) fn read<R>(x: &Tensor, read: impl FnOnce(&[f32]) -> Result<R>) -> Result<R> {
    let x = x.contiguous()?;
    let (storage, layout) = x.storage_and_layout();
    match &*storage {
        Storage::Cpu(storage) => read(floats(storage, layout)?),
        _ => bail!("a kernel of the CPU was given a tensor of another device"),
    }
}

/// A tensor of these elements.
pub(super) fn tensor(values: Vec<f32>, shape: impl Into<Shape>) -> Result<Tensor> {
    Tensor::from_vec(values, shape.into(), &Device::Cpu)
}

/// Runs a loop with the widest vectors the machine has.
#[inline(always)]
pub(crate) fn simd<R>(work: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(work)
}

/// How many whole rows of `width` elements a thread takes at a time.
pub(super) fn rows_a_chunk(width: usize) -> usize {
    (CHUNK / width.max(1)).max(1)
}

/// `f` of each element.
pub(super) fn map(x: &[f32], f: impl Fn(f32) -> f32 + Sync) -> Vec<f32> {
    let mut out = vec![0.0; x.len()];
    out.par_chunks_mut(CHUNK).zip(x.par_chunks(CHUNK)).for_each(|(out, x)| {
        simd(|| {
            for (out, &x) in out.iter_mut().zip(x) {
                *out = f(x);
            }
        });
    });
    out
}

/// `f` of each pair of elements.
pub(super) fn map2(x: &[f32], y: &[f32], f: impl Fn(f32, f32) -> f32 + Sync) -> Vec<f32> {
    let mut out = vec![0.0; x.len()];
    let chunks = out.par_chunks_mut(CHUNK).zip(x.par_chunks(CHUNK)).zip(y.par_chunks(CHUNK));
    chunks.for_each(|((out, x), y)| {
        simd(|| {
            for ((out, &x), &y) in out.iter_mut().zip(x).zip(y) {
                *out = f(x, y);
            }
        });
    });
    out
}

/// The sum of rows of `width` elements, each passed through `add(sums, row number)`. Rows are taken in chunks of a size
/// that depends on the width alone, and chunks are added in order.
pub(super) fn sum_rows(rows: usize, width: usize, add: impl Fn(&mut [f32], usize) + Sync) -> Vec<f32> {
    let size = rows_a_chunk(width);
    let partial = |chunk: usize| {
        let mut sums = vec![0.0; width];
        simd(|| (chunk * size..((chunk + 1) * size).min(rows)).for_each(|row| add(&mut sums, row)));
        sums
    };
    let parts: Vec<Vec<f32>> = (0..rows.div_ceil(size)).into_par_iter().map(partial).collect();
    add_up(parts, width)
}

/// The sum of vectors, in order.
pub(super) fn add_up(parts: Vec<Vec<f32>>, width: usize) -> Vec<f32> {
    let mut parts = parts.into_iter();
    let mut sum = parts.next().unwrap_or_else(|| vec![0.0; width]);
    for part in parts {
        sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
    }
    sum
}
