//! A linear layer on rows of which most elements are zero, as boards are: only the others are looked at.

use std::sync::Arc;

use candle_core::{CpuStorage, CustomOp2, Layout, Result, Shape, Tensor, bail};
use rayon::prelude::*;

use super::rows::{floats, read, rows_a_chunk, simd, sum_rows, tensor};

/// Rows of numbers, each as a list of places and what is there. Everything else is zero.
#[derive(Debug, PartialEq)]
pub(crate) struct SparseRows {
    width: usize,
    /// Row `r` owns entries `starts[r]..starts[r + 1]`.
    starts: Vec<usize>,
    entries: Vec<(u32, f32)>,
}

/// Rows with more than one in so many elements set are better multiplied as they are.
const SPARSE: usize = 8;
/// Rows that are searched at a time.
const SEARCHED: usize = 64;
/// Outputs whose weights' gradients are summed at a time: those of all inputs fit a core's own memory.
const OUTPUTS: usize = 64;

impl SparseRows {
    /// The rows of `values`, or nothing if too many elements are set.
    pub(crate) fn find(values: &[f32], width: usize) -> Option<Self> {
        let row = |row: &[f32], found: &mut Vec<(u32, f32)>| {
            let before = found.len();
            // Most of a board is empty: eight elements are passed over at once.
            for (at, eight) in row.chunks(8).enumerate() {
                if eight.iter().any(|&value| value != 0.0) {
                    let set = eight.iter().enumerate().filter(|(_, value)| **value != 0.0);
                    found.extend(set.map(|(bit, &value)| ((at * 8 + bit) as u32, value)));
                }
            }
            found.len() - before
        };
        let search = |rows: &[f32]| {
            let mut found = Vec::new();
            let counts: Vec<usize> = rows.chunks(width).map(|r| row(r, &mut found)).collect();
            (counts, found)
        };
        let parts: Vec<_> = values.par_chunks(SEARCHED * width).map(search).collect();
        let count: usize = parts.iter().map(|(_, found)| found.len()).sum();
        if count * SPARSE > values.len() {
            return None;
        }
        let mut rows = SparseRows { width, starts: vec![0], entries: Vec::with_capacity(count) };
        for (counts, found) in parts {
            for count in counts {
                rows.starts.push(rows.starts[rows.starts.len() - 1] + count);
            }
            rows.entries.extend(found);
        }
        Some(rows)
    }

    fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// How many elements are not zero.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    fn row(&self, row: usize) -> &[(u32, f32)] {
        &self.entries[self.starts[row]..self.starts[row + 1]]
    }

    /// All elements.
    pub(crate) fn dense(&self) -> Result<Tensor> {
        let mut values = vec![0.0; self.rows() * self.width];
        for (row, values) in values.chunks_mut(self.width).enumerate() {
            self.row(row).iter().for_each(|&(at, value)| values[at as usize] = value);
        }
        tensor(values, (self.rows(), self.width))
    }

    /// The columns in another order: `order[i]` is the column that becomes column `i`. Nothing if it is no order of all
    /// columns.
    pub(crate) fn reordered(&self, order: &[u32]) -> Option<Self> {
        let mut places = vec![u32::MAX; self.width];
        for (to, &from) in order.iter().enumerate() {
            *places.get_mut(from as usize)? = to as u32;
        }
        if order.len() != self.width || places.contains(&u32::MAX) {
            return None;
        }
        let entries = self.entries.iter().map(|&(at, value)| (places[at as usize], value)).collect();
        Some(SparseRows { width: self.width, starts: self.starts.clone(), entries })
    }

    /// The sum of each row, `[rows, 1]`.
    pub(crate) fn sums(&self) -> Result<Tensor> {
        let sums = (0..self.rows()).map(|row| self.row(row).iter().map(|entry| entry.1).sum()).collect();
        tensor(sums, (self.rows(), 1))
    }
}

/// `x W^T + b`, differentiated by weights and bias.
pub(crate) fn sparse_linear(x: &Arc<SparseRows>, weight: &Tensor, bias: &Tensor) -> Result<Tensor> {
    weight.contiguous()?.apply_op2(&bias.contiguous()?, SparseLinear(x.clone()))
}

struct SparseLinear(Arc<SparseRows>);

impl CustomOp2 for SparseLinear {
    fn name(&self) -> &'static str {
        "sparse-linear"
    }

    fn cpu_fwd(
        &self,
        weight: &CpuStorage,
        weight_layout: &Layout,
        bias: &CpuStorage,
        bias_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (outputs, inputs) = weight_layout.shape().dims2()?;
        if inputs != self.0.width {
            bail!("a layer of {inputs} inputs was given {}", self.0.width);
        }
        let (weight, bias) = (floats(weight, weight_layout)?, floats(bias, bias_layout)?);
        let by_input = transposed(weight, inputs);
        let mut y = vec![0.0; self.0.rows() * outputs];
        let chunk = rows_a_chunk(outputs);
        y.par_chunks_mut(chunk * outputs).enumerate().for_each(|(at, rows)| {
            simd(|| {
                for (row, y) in rows.chunks_mut(outputs).enumerate() {
                    y.copy_from_slice(bias);
                    for &(input, value) in self.0.row(at * chunk + row) {
                        let start = input as usize * outputs;
                        for (y, weight) in y.iter_mut().zip(&by_input[start..start + outputs]) {
                            *y += value * weight;
                        }
                    }
                }
            });
        });
        Ok((CpuStorage::F32(y), Shape::from((self.0.rows(), outputs))))
    }

    fn bwd(
        &self,
        weight: &Tensor,
        _: &Tensor,
        _: &Tensor,
        gradient: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let (outputs, inputs) = weight.dims2()?;
        let (slopes, sums) = read(gradient, |g| {
            let mut slopes = vec![0.0; outputs * inputs];
            slopes.par_chunks_mut(OUTPUTS * inputs).enumerate().for_each(|(at, slopes)| {
                simd(|| self.weight_slopes(slopes, g, at * OUTPUTS, outputs));
            });
            let sums = sum_rows(self.0.rows(), outputs, |sums, row| {
                let g = &g[row * outputs..(row + 1) * outputs];
                sums.iter_mut().zip(g).for_each(|(sum, g)| *sum += g);
            });
            Ok((slopes, sums))
        })?;
        Ok((Some(tensor(slopes, weight.shape())?), Some(tensor(sums, outputs)?)))
    }
}

impl SparseLinear {
    /// The gradients of the weights of some outputs, from output `first` on.
    #[inline(always)]
    fn weight_slopes(&self, slopes: &mut [f32], g: &[f32], first: usize, outputs: usize) {
        let inputs = self.0.width;
        let count = slopes.len() / inputs;
        let mut by_input = vec![0.0; inputs * OUTPUTS];
        for row in 0..self.0.rows() {
            let start = row * outputs + first;
            let mut own = [0.0; OUTPUTS];
            own[..count].copy_from_slice(&g[start..start + count]);
            for &(input, value) in self.0.row(row) {
                let (sums, _) = by_input[input as usize * OUTPUTS..].as_chunks_mut::<OUTPUTS>();
                for (sum, g) in sums[0].iter_mut().zip(&own) {
                    *sum += value * g;
                }
            }
        }
        for (output, slopes) in slopes.chunks_mut(inputs).enumerate() {
            for (slope, sums) in slopes.iter_mut().zip(by_input.chunks(OUTPUTS)) {
                *slope = sums[output];
            }
        }
    }
}

/// A matrix with rows of `width` elements, its columns as rows.
fn transposed(x: &[f32], width: usize) -> Vec<f32> {
    let rows = x.len() / width;
    let mut out = vec![0.0; x.len()];
    out.par_chunks_mut(OUTPUTS * rows).enumerate().for_each(|(at, out)| {
        let columns = out.len() / rows;
        for (row, x) in x.chunks(width).enumerate() {
            for (column, &x) in x[at * OUTPUTS..at * OUTPUTS + columns].iter().enumerate() {
                out[column * rows + row] = x;
            }
        }
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boards() -> Vec<f32> {
        let mut values = vec![0.0; 3 * 20];
        for (at, value) in [(0, 1.0), (19, 1.0), (25, -2.0), (50, 0.5), (51, 1.0)] {
            values[at] = value;
        }
        values
    }

    #[test]
    fn rows_are_what_they_were_found_in() {
        let values = boards();
        let rows = SparseRows::find(&values, 20).unwrap();
        assert_eq!(rows.dense().unwrap().flatten_all().unwrap().to_vec1::<f32>().unwrap(), values);
        assert_eq!(rows.sums().unwrap().to_vec2::<f32>().unwrap(), [[2.0], [-2.0], [1.5]]);
        assert!(SparseRows::find(&[1.0; 40], 20).is_none());
        let order: Vec<u32> = (0..20).rev().collect();
        let back = rows.reordered(&order).unwrap();
        assert_eq!(back.row(1), [(14, -2.0)]);
        assert_eq!(back.reordered(&order).unwrap(), rows);
        assert!(rows.reordered(&[0; 20]).is_none());
    }

    #[test]
    fn a_matrix_is_transposed() {
        let x: Vec<f32> = (0..3 * 130).map(|x| x as f32).collect();
        let y = transposed(&x, 130);
        assert_eq!(&y[..6], [0.0, 130.0, 260.0, 1.0, 131.0, 261.0]);
        assert_eq!(transposed(&y, 3), x);
    }
}
