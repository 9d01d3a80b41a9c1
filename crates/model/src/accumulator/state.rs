use std::sync::Arc;

use shakmaty::{Chess, Color, Move, Position};
use tabia_encoding::{Feature, FeatureList, Perspectives};

use super::{
    AccumulatorNet, Level,
    accumulate::{Accumulate, Activate},
    block::{Block, LANES, blocks, zeros},
    forward::{Forward, Sums},
};

/// Follows one line of play with a [`AccumulatorNet`]: one for each thread that searches.
///
/// It holds a stack of positions, each reached from the one below by a move. First-layer sums are brought up to
/// date only where an evaluation needs them, and only for the perspective who needs them. The outputs for a position do not
/// depend on how it got on the stack.
///
/// No memory is allocated once the stack has been as deep as it gets.
pub struct AccumulatorState {
    net: Arc<AccumulatorNet>,
    level: Level,
    /// Never empty; plies above `top` are memory to reuse.
    plies: Vec<Ply>,
    top: usize,
    /// Where the second layer's sums start, for a network that takes a context.
    context_sums: Vec<Block<f32>>,
    scratch: Scratch,
}

struct Ply {
    position: Chess,
    /// The move from the ply below; `None` where the sums are made from scratch.
    played: Option<Move>,
    /// One accumulator per perspective, or one for both.
    sums: [Vec<Block<i32>>; 2],
    ready: [bool; 2],
}

struct Scratch {
    inputs: Vec<[f32; LANES]>,
    outputs: Vec<[f32; LANES]>,
    nonzero: Vec<u16>,
    features: FeatureList,
    added: Vec<u16>,
    removed: Vec<u16>,
}

impl AccumulatorState {
    /// An evaluator that stands at `position`, which is also the context of a network that takes one.
    pub fn new(net: Arc<AccumulatorNet>, position: &Chess) -> Self {
        Self::at_level(net, position, Level::best())
    }

    /// The same on a chosen instruction set.
    pub fn at_level(net: Arc<AccumulatorNet>, position: &Chess, level: Level) -> Self {
        let widest = net.widest();
        let scratch = Scratch {
            inputs: vec![[0.0; LANES]; widest],
            outputs: vec![[0.0; LANES]; widest],
            nonzero: vec![0; widest * LANES],
            features: FeatureList::new(),
            added: Vec::with_capacity(2 * 256),
            removed: Vec::with_capacity(2 * 256),
        };
        let context_sums = net.context.as_ref().map_or_else(Vec::new, |context| zeros(context.share.outputs));
        let plies = vec![Ply::new(&net, position)];
        let mut evaluator = AccumulatorState { net, level, plies, top: 0, context_sums, scratch };
        evaluator.set_context(position);
        evaluator
    }

    /// The network.
    pub fn net(&self) -> &Arc<AccumulatorNet> {
        &self.net
    }

    /// The instruction set it runs on.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Fixes the position a two-input network compares with; other networks take no notice.
    pub fn set_context(&mut self, context: &Chess) {
        let Some(branch) = &self.net.context else { return };
        let Scratch { inputs, outputs, nonzero, features, added, removed } = &mut self.scratch;
        let mut sums = zeros(branch.first.outputs);
        features.clear();
        self.net.encoding.features(context, context.turn(), features);
        split_by_sign(features, added, removed);
        let (layer, from) = (&branch.first, &branch.first.bias[..]);
        self.level.run(Accumulate { layer, from, added, removed, to: &mut sums });
        let to = &mut inputs[..layer.blocks()];
        self.level.run(Activate { layer, sums: &sums, to });
        let to = &mut outputs[..blocks(branch.share.outputs)];
        let inputs = &inputs[..branch.first.blocks()];
        self.level.run(Sums {
            layer: &branch.share,
            start: &branch.share.bias,
            inputs,
            nonzero,
            to: &mut *to,
        });
        for (kept, sums) in self.context_sums.iter_mut().zip(to) {
            kept.0 = *sums;
        }
    }

    /// Forgets the line of play and stands at `position`. The context stays.
    pub fn set_position(&mut self, position: &Chess) {
        self.top = 0;
        self.plies[0].reset(position, None);
    }

    /// Follows the legal move `m`, which leads to `after`.
    pub fn push(&mut self, m: Move, after: &Chess) {
        self.push_ply(after, Some(m));
    }

    /// Goes to a position that no move leads to, such as the one after a null move.
    pub fn push_position(&mut self, position: &Chess) {
        self.push_ply(position, None);
    }

    fn push_ply(&mut self, position: &Chess, played: Option<Move>) {
        self.top += 1;
        match self.plies.get_mut(self.top) {
            Some(ply) => ply.reset(position, played),
            None => {
                let mut ply = Ply::new(&self.net, position);
                ply.played = played;
                self.plies.push(ply);
            }
        }
    }

    /// Goes back to the position before the last push.
    ///
    /// # Panics
    /// If there was none.
    pub fn pop(&mut self) {
        self.top = self.top.checked_sub(1).expect("every pop follows a push");
    }

    /// Writes the network's outputs for the position on top, as seen by its side to move.
    ///
    /// # Panics
    /// If `out` is not [`AccumulatorNet::outputs`] long.
    pub fn evaluate(&mut self, out: &mut [f32]) {
        assert_eq!(out.len(), self.net.outputs(), "one number per output");
        let slot = self.update_accumulators();
        let Scratch { inputs, outputs, nonzero, .. } = &mut self.scratch;
        let net = &*self.net;
        let sums = &self.plies[self.top].sums[slot];
        self.level.run(Activate { layer: &net.first, sums, to: &mut inputs[..net.first.blocks()] });
        let mut width = net.first.blocks();
        for (place, layer) in net.rest.iter().enumerate() {
            let start = if place == 0 && net.takes_context() { &self.context_sums } else { &layer.bias };
            let to = &mut outputs[..blocks(layer.outputs)];
            self.level.run(Forward(Sums { layer, start, inputs: &inputs[..width], nonzero, to }));
            width = blocks(layer.outputs);
            std::mem::swap(inputs, outputs);
        }
        out.copy_from_slice(&inputs.as_flattened()[..out.len()]);
    }

    /// Makes the sums on top ready for its side to move, with those below that they build on, and says which they are.
    fn update_accumulators(&mut self) -> usize {
        let perspective = self.plies[self.top].position.turn();
        let (slot, perspective) = match (self.net.encoding.perspectives(), perspective) {
            (Perspectives::Shared, _) | (Perspectives::PerSide, Color::White) => (0, Color::White),
            (Perspectives::PerSide, Color::Black) => (1, Color::Black),
        };
        let mut first = self.top;
        while !self.plies[first].ready[slot] && self.plies[first].played.is_some() {
            first -= 1;
        }
        if !self.plies[first].ready[slot] {
            self.refresh(first, slot, perspective);
        }
        for ply in first + 1..=self.top {
            self.update(ply, slot, perspective);
        }
        slot
    }

    /// Sums from scratch.
    fn refresh(&mut self, ply: usize, slot: usize, perspective: Color) {
        let Scratch { features, added, removed, .. } = &mut self.scratch;
        let ply = &mut self.plies[ply];
        features.clear();
        self.net.encoding.features(&ply.position, perspective, features);
        split_by_sign(features, added, removed);
        let layer = &self.net.first;
        self.level.run(Accumulate { layer, from: &layer.bias, added, removed, to: &mut ply.sums[slot] });
        ply.ready[slot] = true;
    }

    /// Sums from those of the ply below.
    fn update(&mut self, ply: usize, slot: usize, perspective: Color) {
        let Scratch { features, added, removed, .. } = &mut self.scratch;
        let (below, from_here) = self.plies.split_at_mut(ply);
        let (before, after) = (&below[ply - 1], &mut from_here[0]);
        let m = after.played.expect("only plies reached by a move are followed");
        features.clear();
        self.net.encoding.changes(&before.position, m, &after.position, perspective, features);
        split_by_sign(features, added, removed);
        let (layer, from) = (&self.net.first, &before.sums[slot][..]);
        self.level.run(Accumulate { layer, from, added, removed, to: &mut after.sums[slot] });
        after.ready[slot] = true;
    }
}

impl Ply {
    fn new(net: &AccumulatorNet, position: &Chess) -> Self {
        let sums = || zeros(net.first.outputs);
        let sums = match net.encoding.perspectives() {
            Perspectives::Shared => [sums(), Vec::new()],
            Perspectives::PerSide => [sums(), sums()],
        };
        Ply { position: position.clone(), played: None, sums, ready: [false; 2] }
    }

    fn reset(&mut self, position: &Chess, by: Option<Move>) {
        self.position.clone_from(position);
        self.played = by;
        self.ready = [false; 2];
    }
}

/// Features with positive and with negative amounts, each as often as its amount says.
pub(super) fn split_by_sign(features: &[Feature], added: &mut Vec<u16>, removed: &mut Vec<u16>) {
    added.clear();
    removed.clear();
    for feature in features {
        let list = if feature.amount > 0 { &mut *added } else { &mut *removed };
        for _ in 0..feature.amount.unsigned_abs() {
            list.push(feature.index);
        }
    }
}
