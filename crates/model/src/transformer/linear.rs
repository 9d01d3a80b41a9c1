//! A matrix of weights made ready for products.

use super::kernels::{Group, Layout};
use super::level::Level;
use super::product::{FloatProduct, RoundedProduct, RoundedWeights, Then, words_of};
use super::rounding::{Round, RoundedRows, SPAN};
use crate::dense::block::{Block, LANES, zeros};
use crate::tensors::Tensor;

/// A linear layer without bias on rows. Inputs and outputs fill whole blocks; what is too much is zero.
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
    Rounded(RoundedWeights),
    Floats(Vec<Block<f32>>),
}

impl Linear {
    /// The matrices of `tensors`, `[outputs, inputs]` each, on top of one another, each filled up to whole blocks of
    /// outputs. In 8 bits where all of them are.
    pub(super) fn new(level: Level, tensors: &[Tensor]) -> Linear {
        let inputs = tensors.first().map_or(0, columns);
        let blocks = inputs.div_ceil(LANES);
        let panels = tensors.iter().map(|tensor| rows(tensor).div_ceil(LANES)).sum();
        let weights = if tensors.iter().all(|tensor| tensor.rounded().is_some()) {
            Weights::Rounded(rounded(level.layout(), tensors, blocks, panels))
        } else {
            Weights::Floats(floats(tensors, blocks * LANES))
        };
        Linear { panels, blocks, weights }
    }

    /// The same with weights in floats, however they were given: for layers too small to gain by rounding.
    pub(super) fn in_floats(tensor: &Tensor) -> Linear {
        let blocks = columns(tensor).div_ceil(LANES);
        let weights = Weights::Floats(floats(std::slice::from_ref(tensor), blocks * LANES));
        Linear { panels: rows(tensor).div_ceil(LANES), blocks, weights }
    }

    /// The layer on every row of `from`. `rounded` is memory for the rows in between.
    pub(super) fn run(
        &self,
        level: Level,
        from: &[[f32; LANES]],
        rounded: &mut RoundedRows,
        to: &mut [[f32; LANES]],
        then: Then,
    ) {
        let rows = from.len() / self.blocks;
        match &self.weights {
            Weights::Rounded(weights) => {
                rounded.resize(level, rows, self.blocks);
                level.run(Round { from, blocks: self.blocks, to: rounded });
                level.run(RoundedProduct { inputs: rounded, weights, to, then });
            }
            Weights::Floats(panels) => level.run(FloatProduct {
                rows,
                inputs: from.as_flattened(),
                stride: self.blocks * LANES,
                panels,
                depth: self.blocks * LANES,
                to,
                to_stride: self.panels,
                then,
            }),
        }
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
        let mut panels = vec![Block([0.0; LANES]); rows(tensor).div_ceil(LANES) * depth];
        for (output, row) in tensor.data().chunks_exact(columns(tensor)).enumerate() {
            let panel = &mut panels[output / LANES * depth..][..depth];
            for (block, weight) in panel.iter_mut().zip(row) {
                block.0[output % LANES] = *weight;
            }
        }
        all.append(&mut panels);
    }
    all
}

fn rounded(layout: Layout, tensors: &[Tensor], blocks: usize, panels: usize) -> RoundedWeights {
    let depth = words_of(layout, blocks);
    let mut packed = RoundedWeights {
        groups: vec![Group([0; 64]); panels * depth],
        depth,
        scales: zeros(panels * LANES),
        sums: zeros(panels * blocks.div_ceil(SPAN) * LANES),
    };
    let spans = blocks.div_ceil(SPAN);
    let mut first = 0;
    for tensor in tensors {
        let Some((weights, scales)) = tensor.rounded() else { continue };
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
    packed
}
