//! Rows of inputs times a matrix of weights: where nearly all the time goes.
//!
//! Weights lie in panels of sixteen outputs; a panel is walked through once for each tile of rows. Every output is one sum
//! in the order of its inputs, so tiles change no bit.

use super::kernels::{Dots, Group, Layout};
use super::level::{Kernel, Level};
use super::rounding::{Range, Round, RoundedRows, SPAN};
use crate::dense::block::{Block, LANES};
use crate::dense::kernels::Lanes;

/// What becomes of the product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// It replaces what was there.
    Replace,
    /// It is added to what was there.
    Add,
}

/// Weights in 8 bits with a scale for each output.
#[derive(Debug)]
pub(super) struct RoundedWeights {
    /// The groups of each panel.
    pub(super) groups: Vec<Group>,
    /// Groups of one panel.
    pub(super) depth: usize,
    /// What one step of an output's weights stands for.
    pub(super) scales: Vec<Block<f32>>,
    /// The sum of each output's weights over each [span](SPAN) of inputs, in steps; those of a panel together.
    pub(super) sums: Vec<Block<f32>>,
}

/// Rounded rows times rounded weights.
pub(super) struct RoundedProduct<'a> {
    pub(super) inputs: &'a RoundedRows,
    pub(super) weights: &'a RoundedWeights,
    /// For each row, a block for each panel.
    pub(super) to: &'a mut [[f32; LANES]],
    pub(super) then: Then,
}

impl Kernel for RoundedProduct<'_> {
    #[inline(always)]
    fn run<L: Lanes, D: Dots<Ints = L::Ints>>(self, lanes: L, dots: D) {
        match D::ROWS {
            8 => self.tiles::<L, D, 8>(lanes, dots),
            4 => self.tiles::<L, D, 4>(lanes, dots),
            2 => self.tiles::<L, D, 2>(lanes, dots),
            _ => self.tiles::<L, D, 1>(lanes, dots),
        }
    }
}

impl RoundedProduct<'_> {
    #[inline(always)]
    fn tiles<L: Lanes, D: Dots<Ints = L::Ints>, const R: usize>(self, lanes: L, dots: D) {
        let RoundedProduct { inputs, weights, to, then } = self;
        let panels = weights.scales.len();
        let spans = weights.sums.len() / panels;
        let span = words_of(D::LAYOUT, SPAN);
        let (words, _) = inputs.words.as_chunks::<R>();
        let zero = lanes.load_ints(&[0; LANES]);
        for (p, panel) in weights.groups.chunks_exact(weights.depth).enumerate() {
            let scale = lanes.load(&weights.scales[p].0);
            let weight_sums = &weights.sums[p * spans..][..spans];
            for (t, words) in words.chunks_exact(weights.depth).enumerate() {
                let mut values = [lanes.splat(0.0); R];
                let ranges = &inputs.ranges[t * R * spans..][..R * spans];
                let parts = words.chunks(span).zip(panel.chunks(span)).zip(weight_sums);
                for (s, ((words, groups), weight_sum)) in parts.enumerate() {
                    let mut sums = [zero; R];
                    for (words, group) in words.iter().zip(groups) {
                        let weights = dots.weights(group);
                        for r in 0..R {
                            sums[r] = dots.dot(sums[r], words[r], weights);
                        }
                    }
                    let weight_sum = lanes.load(&weight_sum.0);
                    for r in 0..R {
                        let Range { low, step } = ranges[r * spans + s];
                        let steps = lanes.mul(lanes.to_floats(sums[r]), lanes.splat(step));
                        let above = lanes.mul(lanes.splat(low), weight_sum);
                        values[r] = lanes.add(values[r], lanes.add(steps, above));
                    }
                }
                for (r, value) in values.into_iter().enumerate() {
                    // The last tile may have rows that are not there.
                    let Some(to) = to.get_mut((t * R + r) * panels + p) else { break };
                    put(lanes, lanes.mul(value, scale), to, then);
                }
            }
        }
    }
}

#[inline(always)]
fn put<L: Lanes>(lanes: L, value: L::Floats, to: &mut [f32; LANES], then: Then) {
    let value = match then {
        Then::Replace => value,
        Then::Add => lanes.add(lanes.load(to), value),
    };
    lanes.store(value, to);
}

/// Rows of floats times panels of floats.
pub(super) struct FloatProduct<'a> {
    pub(super) rows: usize,
    /// The rows, `stride` numbers from one to the next.
    pub(super) inputs: &'a [f32],
    pub(super) stride: usize,
    /// For each panel, a block for each input.
    pub(super) panels: &'a [Block<f32>],
    /// Inputs of a row.
    pub(super) depth: usize,
    /// For each row, a block for each panel, `to_stride` blocks from one row to the next.
    pub(super) to: &'a mut [[f32; LANES]],
    pub(super) to_stride: usize,
    pub(super) then: Then,
}

impl Kernel for FloatProduct<'_> {
    #[inline(always)]
    fn run<L: Lanes, D: Dots<Ints = L::Ints>>(mut self, lanes: L, _: D) {
        let panels = self.panels;
        for (p, panel) in panels.chunks_exact(self.depth).enumerate() {
            let mut row = 0;
            if D::ROWS >= 8 {
                row = self.tiles::<L, 8>(lanes, panel, p, row);
            }
            if D::ROWS >= 4 {
                row = self.tiles::<L, 4>(lanes, panel, p, row);
            }
            if D::ROWS >= 2 {
                row = self.tiles::<L, 2>(lanes, panel, p, row);
            }
            self.tiles::<L, 1>(lanes, panel, p, row);
        }
    }
}

impl FloatProduct<'_> {
    /// As many whole tiles as there are from row `first` on; says which row comes next.
    #[inline(always)]
    fn tiles<L: Lanes, const R: usize>(
        &mut self,
        lanes: L,
        panel: &[Block<f32>],
        p: usize,
        first: usize,
    ) -> usize {
        let mut row = first;
        while row + R <= self.rows {
            let mut inputs: [&[f32]; R] = [&[]; R];
            for (r, inputs) in inputs.iter_mut().enumerate() {
                *inputs = &self.inputs[(row + r) * self.stride..][..panel.len()];
            }
            let mut sums = [lanes.splat(0.0); R];
            for (k, weights) in panel.iter().enumerate() {
                let weights = lanes.load(&weights.0);
                for r in 0..R {
                    sums[r] = lanes.add(sums[r], lanes.mul(lanes.splat(inputs[r][k]), weights));
                }
            }
            for (r, sums) in sums.into_iter().enumerate() {
                put(lanes, sums, &mut self.to[(row + r) * self.to_stride + p], self.then);
            }
            row += R;
        }
        row
    }
}

/// A small product of either kind of numbers that means nothing, to time `level` by.
pub(super) fn trial(level: Level) -> Vec<[f32; LANES]> {
    const ROWS: usize = 64;
    const BLOCKS: usize = 16;
    let depth = BLOCKS * LANES / level.layout().inputs();
    let block = Block([1.0; LANES]);
    // Ones in either layout, so that every level finds the same.
    let ones = match level.layout() {
        Layout::Quads => Group([1; 64]),
        Layout::Pairs => Group(std::array::from_fn(|byte| if byte % 2 == 0 { 1 } else { 0 })),
    };
    let weights = RoundedWeights {
        groups: vec![ones; 4 * depth],
        depth,
        scales: vec![block; 4],
        sums: vec![block; 4 * BLOCKS.div_ceil(SPAN)],
    };
    let from = vec![
        [1.0, 0.0, 0.5, 0.25, 1.0, 0.0, 0.5, 0.25, 1.0, 0.0, 0.5, 0.25, 1.0, 0.0, 0.5, 0.25];
        ROWS * BLOCKS
    ];
    let mut inputs = RoundedRows::new(level, ROWS, BLOCKS);
    let mut to = vec![[0.0; LANES]; ROWS * 4];
    for _ in 0..4 {
        level.run(Round { from: &from, blocks: BLOCKS, to: &mut inputs });
        level.run(RoundedProduct { inputs: &inputs, weights: &weights, to: &mut to, then: Then::Replace });
    }
    to
}

/// Inputs of a word in memory order: the layout decides how many there are.
pub(super) fn words_of(layout: Layout, blocks: usize) -> usize {
    blocks * LANES / layout.inputs()
}
