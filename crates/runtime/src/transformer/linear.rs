//! Packed weight matrices.

use std::ops::Range;

use tabia_onnx::TensorError;
use tabia_onnx::tensors::{Tensor, TensorMap};

use super::kernels::{Group, Layout, fits_narrow_sums};
use super::level::Level;
use super::product::{
    FloatProduct, QuantisedProduct, QuantisedWeights, RowProduct, RowWeights, Store, words_of,
};
use super::quantise::{Quantise, QuantisedRows, SPAN};
use super::trunk::take_row;
use crate::accumulator::block::{Block, LANES, zeros};

/// A linear layer without bias. Inputs and outputs are padded to whole blocks with zeros.
#[derive(Debug)]
pub(super) struct Linear {
    /// Blocks of outputs.
    pub(super) panels: usize,
    /// Blocks of inputs.
    blocks: usize,
    weights: Weights,
}

#[derive(Debug)]
enum Weights {
    Quantised(QuantisedWeights),
    Floats(Vec<Block<f32>>),
    /// Of a layer with one row of inputs.
    Row(RowWeights),
}

impl Linear {
    /// The matrices of `tensors`, `[outputs, inputs]` each, stacked, each padded to whole blocks of outputs. In 8 bits if all of
    /// them are.
    pub(super) fn new(level: Level, tensors: &[Tensor]) -> Linear {
        let inputs = tensors.first().map_or(0, columns);
        let blocks = inputs.div_ceil(LANES);
        let panels = tensors.iter().map(|tensor| rows(tensor).div_ceil(LANES)).sum();
        let weights = if tensors.iter().all(|tensor| tensor.quantised().is_some()) {
            Weights::Quantised(quantised(level.layout(), tensors, blocks, panels))
        } else {
            Weights::Floats(floats(tensors, blocks * LANES))
        };
        Linear { panels, blocks, weights }
    }

    /// The same with weights in floats, however they were given: for layers too small to gain from quantisation.
    pub(super) fn in_floats(tensor: &Tensor) -> Linear {
        let blocks = columns(tensor).div_ceil(LANES);
        let weights = Weights::Floats(floats(std::slice::from_ref(tensor), blocks * LANES));
        Linear { panels: rows(tensor).div_ceil(LANES), blocks, weights }
    }

    /// The layer for one row of inputs, with the outputs of [`Linear::in_floats`]: one row is too little to gain from quantising it,
    /// but weights of 8 bits are read from the memory in a quarter of the time.
    pub(super) fn of_row(tensor: &Tensor) -> Linear {
        let Some((weights, scales)) = tensor.quantised() else { return Linear::in_floats(tensor) };
        let (blocks, panels) = (columns(tensor).div_ceil(LANES), rows(tensor).div_ceil(LANES));
        let mut packed =
            RowWeights { weights: vec![[0; LANES]; panels * blocks * LANES], scales: zeros(panels * LANES) };
        for (output, (row, scale)) in weights.chunks_exact(columns(tensor)).zip(scales).enumerate() {
            let (panel, lane) = (output / LANES, output % LANES);
            for (weights, weight) in packed.weights[panel * blocks * LANES..].iter_mut().zip(row) {
                weights[lane] = *weight;
            }
            packed.scales[panel].0[lane] = *scale;
        }
        Linear { panels, blocks, weights: Weights::Row(packed) }
    }

    /// The layer on some of the inputs of `tensor`, in floats.
    pub(super) fn of_columns(tensor: &Tensor, inputs: Range<usize>) -> Linear {
        let blocks = inputs.len().div_ceil(LANES);
        let rows = tensor.data().chunks_exact(columns(tensor)).map(|row| &row[inputs.clone()]);
        let weights = Weights::Floats(float_panels(rows, blocks * LANES));
        Linear { panels: self::rows(tensor).div_ceil(LANES), blocks, weights }
    }

    /// The layer on every row of `from`. `quantised` is scratch.
    pub(super) fn run(
        &self,
        level: Level,
        from: &[[f32; LANES]],
        quantised: &mut QuantisedRows,
        to: &mut [[f32; LANES]],
        then: Store<'_>,
    ) {
        let stride = if matches!(then, Store::SwiGlu) { self.panels / 2 } else { self.panels };
        let rows = from.len() / self.blocks;
        match &self.weights {
            Weights::Quantised(weights) => {
                quantised.resize(level, rows, self.blocks);
                level.run(Quantise { from, blocks: self.blocks, to: quantised });
                level.run(QuantisedProduct { inputs: quantised, weights, to, stride, then });
            }
            Weights::Floats(panels) => level.run(FloatProduct {
                rows,
                inputs: from.as_flattened(),
                stride: self.blocks * LANES,
                panels,
                depth: self.blocks * LANES,
                to,
                to_stride: stride,
                then,
            }),
            Weights::Row(weights) => {
                debug_assert_eq!(rows, 1, "a layer for one row");
                level.run(RowProduct { inputs: from.as_flattened(), weights, to, then });
            }
        }
    }
}

/// A linear layer with bias for one row of inputs.
#[derive(Debug)]
pub(super) struct LinearWithBias {
    pub(super) linear: Linear,
    bias: Vec<[f32; LANES]>,
}

impl LinearWithBias {
    /// Takes `{name}.weight` and `{name}.bias`, which may be missing, out of `tensors`.
    ///
    /// # Errors
    /// If the weight is missing, or one has another shape or is not finite.
    pub(super) fn take(
        tensors: &mut TensorMap,
        name: &str,
        [outputs, inputs]: [usize; 2],
    ) -> Result<LinearWithBias, TensorError> {
        let weight = tensors.take(&format!("{name}.weight"), &[outputs, inputs])?;
        let bias = take_bias(tensors, &format!("{name}.bias"), outputs)?;
        Ok(LinearWithBias { linear: Linear::of_row(&weight), bias })
    }

    pub(super) fn run(
        &self,
        level: Level,
        from: &[[f32; LANES]],
        quantised: &mut QuantisedRows,
        to: &mut [[f32; LANES]],
    ) {
        to.copy_from_slice(&self.bias);
        self.linear.run(level, from, quantised, to, Store::Add);
    }
}

/// A bias in whole blocks; zeros if there is none.
///
/// # Errors
/// If it has another length or is not finite.
pub(super) fn take_bias(
    tensors: &mut TensorMap,
    name: &str,
    len: usize,
) -> Result<Vec<[f32; LANES]>, TensorError> {
    if tensors.contains(name) {
        take_row(tensors, name, len)
    } else {
        Ok(vec![[0.0; LANES]; len.div_ceil(LANES)])
    }
}

fn rows(tensor: &Tensor) -> usize {
    tensor.shape().first().copied().unwrap_or(0)
}

fn columns(tensor: &Tensor) -> usize {
    tensor.shape().get(1).copied().unwrap_or(0)
}

fn floats(tensors: &[Tensor], depth: usize) -> Vec<Block<f32>> {
    let mut all = Vec::new();
    for tensor in tensors {
        all.append(&mut float_panels(tensor.data().chunks_exact(columns(tensor)), depth));
    }
    all
}

/// The panels of a matrix, whose rows are padded to `depth`.
fn float_panels<'a>(rows: impl ExactSizeIterator<Item = &'a [f32]>, depth: usize) -> Vec<Block<f32>> {
    let mut panels = vec![Block([0.0; LANES]); rows.len().div_ceil(LANES) * depth];
    for (output, row) in rows.enumerate() {
        let panel = &mut panels[output / LANES * depth..][..depth];
        for (block, weight) in panel.iter_mut().zip(row) {
            block.0[output % LANES] = *weight;
        }
    }
    panels
}

fn quantised(layout: Layout, tensors: &[Tensor], blocks: usize, panels: usize) -> QuantisedWeights {
    let depth = words_of(layout, blocks);
    let spans = blocks.div_ceil(SPAN);
    let mut packed = QuantisedWeights {
        groups: vec![Group([0; 64]); panels * depth],
        scales: zeros(panels * LANES),
        sums: zeros(panels * spans * LANES),
        narrow: Vec::new(),
    };
    let mut first = 0;
    for tensor in tensors {
        let Some((weights, scales)) = tensor.quantised() else { continue };
        for ((output, row), scale) in (first..).zip(weights.chunks_exact(columns(tensor))).zip(scales) {
            let (panel, lane) = (output / LANES, output % LANES);
            let groups = &mut packed.groups[panel * depth..][..depth];
            match layout {
                Layout::Quads => {
                    let (quads, rest) = row.as_chunks::<4>();
                    for (group, quad) in groups.iter_mut().zip(quads) {
                        group.0[4 * lane..][..4].copy_from_slice(&quad.map(i8::cast_unsigned));
                    }
                    for (i, weight) in rest.iter().enumerate() {
                        groups[quads.len()].0[4 * lane + i] = weight.cast_unsigned();
                    }
                }
                Layout::Pairs => {
                    for (i, &weight) in row.iter().enumerate() {
                        let bytes = i16::from(weight).to_le_bytes();
                        groups[i / 2].0[4 * lane + 2 * (i % 2)..][..2].copy_from_slice(&bytes);
                    }
                }
            }
            packed.scales[panel].0[lane] = *scale;
            for (span, row) in row.chunks(SPAN * LANES).enumerate() {
                let sum: i32 = row.iter().map(|&weight| i32::from(weight)).sum();
                packed.sums[panel * spans + span].0[lane] = sum as f32;
            }
        }
        first += rows(tensor).next_multiple_of(LANES);
    }
    if layout == Layout::Quads {
        packed.narrow = packed.groups.chunks_exact(depth / spans).map(fits_narrow_sums).collect();
    }
    packed
}

#[cfg(test)]
mod tests {
    use super::*;

    const INPUTS: usize = 80;
    const OUTPUTS: usize = 32;
    const ROWS: usize = 67;

    /// A layer that multiplies by `weight(output, input)`, on one level.
    fn layer(level: Level, weight: impl Fn(usize, usize) -> i8) -> Linear {
        let weights = (0..OUTPUTS * INPUTS).map(|at| weight(at / INPUTS, at % INPUTS)).collect();
        let mut tensors = TensorMap::new();
        tensors.insert_quantised("layer", &[OUTPUTS, INPUTS], weights, vec![0.5; OUTPUTS]).unwrap();
        Linear::new(level, &[tensors.take("layer", &[OUTPUTS, INPUTS]).unwrap()])
    }

    fn is_tame_somewhere(layer: &Linear) -> bool {
        matches!(&layer.weights, Weights::Quantised(weights) if weights.narrow.contains(&true))
    }

    /// Inputs whose span goes from 0 to 127, so that quantisation is exact, at their maximum.
    fn rows() -> Vec<[f32; LANES]> {
        let input = |row: usize, at: usize| match (at % 32, row % 3) {
            (0, _) => 0.0,
            (1, _) | (_, 0) => 127.0,
            (_, _) => ((at * 31 + row * 17) % 128) as f32,
        };
        let all: Vec<f32> = (0..ROWS * INPUTS).map(|at| input(at / INPUTS, at % INPUTS)).collect();
        all.as_chunks::<LANES>().0.to_vec()
    }

    /// A layer of one row with 8-bit weights.
    fn row_weights() -> Tensor {
        let weights = (0..OUTPUTS * INPUTS).map(|at| (at * 37 % 255) as i8).collect();
        let scales = (0..OUTPUTS).map(|output| 0.003 * (output + 1) as f32).collect();
        let mut tensors = TensorMap::new();
        tensors.insert_quantised("layer", &[OUTPUTS, INPUTS], weights, scales).unwrap();
        tensors.take("layer", &[OUTPUTS, INPUTS]).unwrap()
    }

    #[test]
    fn weights_of_a_row_in_8_bits_give_the_outputs_of_floats_on_every_level() {
        let tensor = row_weights();
        let from: Vec<[f32; LANES]> = (0..INPUTS / LANES)
            .map(|b| std::array::from_fn(|i| ((b * LANES + i) as f32 * 0.7).sin()))
            .collect();
        let mut expected = vec![0.0_f32; OUTPUTS];
        for (to, row) in expected.iter_mut().zip(tensor.data().chunks_exact(INPUTS)) {
            *to = row.iter().zip(from.as_flattened()).fold(0.0, |sum, (weight, input)| sum + input * weight);
        }
        for level in Level::available() {
            let run = |layer: &Linear, then: Store<'_>| {
                let mut to = vec![[0.5; LANES]; OUTPUTS / LANES];
                layer.run(level, &from, &mut QuantisedRows::default(), &mut to, then);
                to
            };
            let row = Linear::of_row(&tensor);
            assert!(matches!(&row.weights, Weights::Row(_)));
            assert_eq!(run(&row, Store::Replace).as_flattened(), expected, "{level}");
            let bias = vec![[0.25; LANES]; OUTPUTS / LANES];
            for then in [Store::Add, Store::Gelu(&bias), Store::SwiGlu] {
                assert_eq!(run(&row, then), run(&Linear::in_floats(&tensor), then), "{then:?}, {level}");
            }
        }
    }

    #[test]
    fn floats_are_summed_in_order_on_every_level_for_any_number_of_rows() {
        let tensor = row_weights();
        for rows in [1, 3, 8, 15, 64, 67] {
            let from: Vec<f32> = (0..rows * INPUTS).map(|at| (at as f32 * 0.3).sin()).collect();
            let mut expected = Vec::new();
            for input in from.chunks_exact(INPUTS) {
                for row in tensor.data().chunks_exact(INPUTS) {
                    expected.push(row.iter().zip(input).fold(0.0_f32, |sum, (weight, x)| sum + x * weight));
                }
            }
            for level in Level::available() {
                let mut to = vec![[0.0; LANES]; rows * OUTPUTS / LANES];
                let layer = Linear::in_floats(&tensor);
                let (from, _) = from.as_chunks();
                layer.run(level, from, &mut QuantisedRows::default(), &mut to, Store::Replace);
                assert_eq!(to.as_flattened(), expected, "{rows} rows, {level}");
            }
        }
    }

    #[test]
    fn sums_are_exact_on_every_level_for_all_weights() {
        let greatest = |_: usize, _: usize| 127_i8;
        let least = |_: usize, _: usize| -128_i8;
        let small = |output: usize, input: usize| ((output * 7 + input * 13) % 101) as i8 - 50;
        // The largest that fits 16 bits when multiplied by 127, and the next larger.
        let just_tame = |_: usize, input: usize| if input % 8 < 2 { 86 } else { 43 };
        let just_wild = |_: usize, input: usize| if input % 8 < 2 { 87 } else { 43 };
        let from = rows();
        for (weight, narrow) in [
            (&greatest as &dyn Fn(usize, usize) -> i8, false),
            (&least, false),
            (&small, true),
            (&just_tame, true),
            (&just_wild, false),
        ] {
            let expected = |row: usize, output: usize| {
                let inputs = &from.as_flattened()[row * INPUTS..][..INPUTS];
                let products =
                    inputs.iter().enumerate().map(|(i, x)| *x as i32 * i32::from(weight(output, i)));
                products.sum::<i32>() as f32 * 0.5
            };
            for level in Level::available() {
                let layer = layer(level, weight);
                assert!(level.layout() == Layout::Pairs || is_tame_somewhere(&layer) == narrow, "{level}");
                let mut to = vec![[0.0; LANES]; ROWS * OUTPUTS / LANES];
                layer.run(level, &from, &mut QuantisedRows::default(), &mut to, Store::Replace);
                for (at, found) in to.as_flattened().iter().enumerate() {
                    let (row, output) = (at / OUTPUTS, at % OUTPUTS);
                    assert_eq!(*found, expected(row, output), "row {row}, output {output}, {level}");
                }
            }
        }
    }
}
