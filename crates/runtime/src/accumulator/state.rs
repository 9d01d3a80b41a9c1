use std::sync::Arc;

use shakmaty::{Chess, Move, Position};

use super::{
    AccumulatorNet, Level,
    block::{Block, LANES, blocks, zeros},
    forward::{Activate, Forward, Sums},
    stack::{Changes, Origin, Stack},
    update::Update,
};

/// Evaluates positions along a line of play with an [`AccumulatorNet`]; one per search thread.
///
/// It holds a stack of positions and updates their accumulators lazily. The outputs for a position do not depend on how it got
/// on the stack. No memory is allocated once the stack has reached its greatest depth.
pub struct AccumulatorState {
    net: Arc<AccumulatorNet>,
    stack: Stack<Block<i32>>,
    /// The initial sums of the second layer, for a network that takes a context.
    context_sums: Vec<Block<f32>>,
    inputs: Vec<[f32; LANES]>,
    outputs: Vec<[f32; LANES]>,
    nonzero: Vec<u16>,
}

impl AccumulatorState {
    /// A state at `position`, which is also the context of a network that takes one.
    pub fn new(net: Arc<AccumulatorNet>, position: &Chess) -> Self {
        Self::at_level(net, position, Level::best())
    }

    /// The same at a chosen kernel level.
    pub fn at_level(net: Arc<AccumulatorNet>, position: &Chess, level: Level) -> Self {
        let widest = net.widest();
        let context_sums = net.context.as_ref().map_or_else(Vec::new, |context| zeros(context.share.outputs));
        let mut state = AccumulatorState {
            stack: Stack::new(net.encoding, level, &net.first.bias, position),
            net,
            context_sums,
            inputs: vec![[0.0; LANES]; widest],
            outputs: vec![[0.0; LANES]; widest],
            nonzero: vec![0; widest * LANES],
        };
        state.set_context(position);
        state
    }

    /// The network.
    pub fn net(&self) -> &Arc<AccumulatorNet> {
        &self.net
    }

    /// The kernel level it runs on.
    pub fn level(&self) -> Level {
        self.stack.level()
    }

    /// Sets the context of a two-input network; others ignore it.
    pub fn set_context(&mut self, context: &Chess) {
        let Some(branch) = &self.net.context else { return };
        let (level, layer) = (self.stack.level(), &branch.first);
        let mut changes = Changes::default();
        changes.collect(|features| self.net.encoding.features(context, context.turn(), features));
        let Changes { added, removed, .. } = &changes;
        let mut sums = zeros(layer.outputs);
        level.run(Update { rows: &layer.rows, from: &layer.bias, added, removed, to: &mut sums });
        level.run(Activate { layer, sums: &sums, to: &mut self.inputs[..layer.blocks()] });
        let to = &mut self.outputs[..blocks(branch.share.outputs)];
        level.run(Sums {
            layer: &branch.share,
            start: &branch.share.bias,
            inputs: &self.inputs[..layer.blocks()],
            nonzero: &mut self.nonzero,
            to: &mut *to,
        });
        for (kept, sums) in self.context_sums.iter_mut().zip(to) {
            kept.0 = *sums;
        }
    }

    /// Clears the line of play and goes to `position`. The context stays.
    pub fn set_position(&mut self, position: &Chess) {
        self.stack.set_position(position);
    }

    /// Plays the legal move `m`, which leads to `after`.
    pub fn push(&mut self, m: Move, after: &Chess) {
        self.stack.push(after, Origin::Move(m));
    }

    /// Goes to a position that no move leads to, such as the one after a null move.
    pub fn push_position(&mut self, position: &Chess) {
        self.stack.push(position, Origin::Set);
    }

    /// Takes the last push back.
    ///
    /// # Panics
    /// If there was none.
    pub fn pop(&mut self) {
        self.stack.pop();
    }

    /// Writes the network's outputs for the position on top, from the perspective of its side to move.
    ///
    /// # Panics
    /// If `out` is not [`AccumulatorNet::outputs`] long.
    pub fn evaluate(&mut self, out: &mut [f32]) {
        assert_eq!(out.len(), self.net.outputs(), "one number per output");
        let AccumulatorState { net, stack, context_sums, inputs, outputs, nonzero } = self;
        let (level, turn) = (stack.level(), stack.position().turn());
        stack.update(turn, &net.first.rows, &net.first.bias);
        let mut width = net.first.blocks();
        level.run(Activate { layer: &net.first, sums: stack.sums(turn), to: &mut inputs[..width] });
        for (place, layer) in net.rest.iter().enumerate() {
            let start = if place == 0 && net.takes_context() { &*context_sums } else { &layer.bias };
            let to = &mut outputs[..blocks(layer.outputs)];
            level.run(Forward(Sums { layer, start, inputs: &inputs[..width], nonzero, to }));
            width = blocks(layer.outputs);
            std::mem::swap(inputs, outputs);
        }
        out.copy_from_slice(&inputs.as_flattened()[..out.len()]);
    }
}
