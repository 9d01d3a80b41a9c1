use std::sync::Arc;

use shakmaty::{Chess, Color, Move, Position};
use tabia_encoding::FeatureList;

use super::{
    Nnue,
    block::{Block, ZERO},
    kernels::{OutputLayer, Update},
};
use crate::accumulator::{Level, state::split_by_sign};

/// Follows one line of play with a [`Nnue`]: one for each thread that searches.
///
/// It holds a stack of positions, each reached from the one below by a move or a pass. Sums are brought up to date only
/// where an evaluation needs them. What it says of a position does not depend on how that got on the stack.
///
/// No memory is allocated once the stack has been as deep as it gets.
pub struct NnueState {
    net: Arc<Nnue>,
    level: Level,
    /// Never empty; plies above `top` are memory to reuse.
    plies: Vec<Ply>,
    top: usize,
    features: FeatureList,
    added: Vec<u16>,
    removed: Vec<u16>,
}

struct Ply {
    position: Chess,
    origin: Origin,
    /// White's view and Black's.
    sums: [Vec<Block>; 2],
    ready: bool,
}

/// How a position came onto the stack.
#[derive(Clone, Copy)]
enum Origin {
    /// By itself: its sums are made from scratch.
    Set,
    Move(Move),
    /// The side to move passed, which neither view shows.
    Pass,
}

impl NnueState {
    /// An evaluator that stands at `position`.
    pub fn new(net: Arc<Nnue>, position: &Chess) -> Self {
        Self::at_level(net, position, Level::best())
    }

    /// The same on a chosen instruction set.
    pub fn at_level(net: Arc<Nnue>, position: &Chess, level: Level) -> Self {
        let plies = vec![Ply::new(&net, position, Origin::Set)];
        let (added, removed) = (Vec::with_capacity(64), Vec::with_capacity(64));
        NnueState { net, level, plies, top: 0, features: FeatureList::new(), added, removed }
    }

    /// The network.
    pub fn net(&self) -> &Arc<Nnue> {
        &self.net
    }

    /// The instruction set it runs on.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Forgets the line of play and stands at `position`.
    pub fn set_position(&mut self, position: &Chess) {
        self.top = 0;
        self.plies[0].reset(position, Origin::Set);
    }

    /// Follows the legal move `m`, which leads to `after`.
    pub fn push(&mut self, m: Move, after: &Chess) {
        self.push_ply(after, Origin::Move(m));
    }

    /// The side to move passes, which leads to `after`.
    pub fn push_pass(&mut self, after: &Chess) {
        self.push_ply(after, Origin::Pass);
    }

    fn push_ply(&mut self, position: &Chess, origin: Origin) {
        self.top += 1;
        match self.plies.get_mut(self.top) {
            Some(ply) => ply.reset(position, origin),
            None => self.plies.push(Ply::new(&self.net, position, origin)),
        }
    }

    /// Goes back to the position before the last push.
    ///
    /// # Panics
    /// If there was none.
    pub fn pop(&mut self) {
        self.top = self.top.checked_sub(1).expect("every pop follows a push");
    }

    /// The network's number for the position on top, as its side to move sees it.
    pub fn evaluate(&mut self) -> f32 {
        self.update_accumulators();
        let Ply { position, sums: [white, black], .. } = &self.plies[self.top];
        let sums: [&[Block]; 2] = match position.turn() {
            Color::White => [white, black],
            Color::Black => [black, white],
        };
        let output = self.net.output(position.board().occupied().count());
        let mut sum = 0;
        self.level.run(OutputLayer { net: &self.net, output, sums, to: &mut sum });
        sum as f32 * output.step
    }

    /// Makes the sums on top ready, with those below that they build on.
    fn update_accumulators(&mut self) {
        let mut first = self.top;
        while !self.plies[first].ready && !matches!(self.plies[first].origin, Origin::Set) {
            first -= 1;
        }
        if !self.plies[first].ready {
            self.refresh(first);
        }
        for ply in first + 1..=self.top {
            self.update(ply);
        }
    }

    /// Sums from scratch.
    fn refresh(&mut self, ply: usize) {
        let ply = &mut self.plies[ply];
        for (perspective, to) in [Color::White, Color::Black].into_iter().zip(&mut ply.sums) {
            self.features.clear();
            self.net.encoding.features(&ply.position, perspective, &mut self.features);
            split_by_sign(&self.features, &mut self.added, &mut self.removed);
            let (from, added, removed) = (&self.net.bias, &self.added, &self.removed);
            self.level.run(Update { net: &self.net, from, added, removed, to });
        }
        ply.ready = true;
    }

    /// Sums from those of the ply below.
    fn update(&mut self, ply: usize) {
        let (below, from_here) = self.plies.split_at_mut(ply);
        let (before, after) = (&below[ply - 1], &mut from_here[0]);
        let perspectives = [Color::White, Color::Black].into_iter();
        for ((perspective, from), to) in perspectives.zip(&before.sums).zip(&mut after.sums) {
            self.features.clear();
            if let Origin::Move(m) = after.origin {
                self.net.encoding.changes(
                    &before.position,
                    m,
                    &after.position,
                    perspective,
                    &mut self.features,
                );
            }
            split_by_sign(&self.features, &mut self.added, &mut self.removed);
            let (added, removed) = (&self.added, &self.removed);
            self.level.run(Update { net: &self.net, from, added, removed, to });
        }
        after.ready = true;
    }
}

impl Ply {
    fn new(net: &Nnue, position: &Chess, origin: Origin) -> Self {
        let sums = || vec![ZERO; net.blocks()];
        Ply { position: position.clone(), origin, sums: [sums(), sums()], ready: false }
    }

    fn reset(&mut self, position: &Chess, origin: Origin) {
        self.position.clone_from(position);
        self.origin = origin;
        self.ready = false;
    }
}
