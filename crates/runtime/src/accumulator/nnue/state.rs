use std::sync::Arc;

use shakmaty::{Chess, Color, Move, Position};

use super::{Nnue, block::Block, kernels::OutputLayer};
use crate::accumulator::{
    Level,
    stack::{Origin, Stack},
};

/// Evaluates positions along a line of play with an [`Nnue`]; one per search thread.
///
/// It holds a stack of positions and updates their accumulators lazily. The value of a position does not depend on how it got
/// on the stack. No memory is allocated once the stack has reached its greatest depth.
pub struct NnueState {
    net: Arc<Nnue>,
    stack: Stack<Block>,
}

impl NnueState {
    /// A state at `position`.
    pub fn new(net: Arc<Nnue>, position: &Chess) -> Self {
        Self::at_level(net, position, Level::best())
    }

    /// The same at a chosen kernel level.
    pub fn at_level(net: Arc<Nnue>, position: &Chess, level: Level) -> Self {
        NnueState { stack: Stack::new(net.encoding, level, &net.bias, position), net }
    }

    /// The network.
    pub fn net(&self) -> &Arc<Nnue> {
        &self.net
    }

    /// The kernel level it runs on.
    pub fn level(&self) -> Level {
        self.stack.level()
    }

    /// Clears the line of play and goes to `position`.
    pub fn set_position(&mut self, position: &Chess) {
        self.stack.set_position(position);
    }

    /// Plays the legal move `m`, which leads to `after`.
    pub fn push(&mut self, m: Move, after: &Chess) {
        self.stack.push(after, Origin::Move(m));
    }

    /// Plays a null move, which leads to `after`. It changes neither accumulator.
    pub fn push_pass(&mut self, after: &Chess) {
        self.stack.push(after, Origin::Pass);
    }

    /// Takes the last push back.
    ///
    /// # Panics
    /// If there was none.
    pub fn pop(&mut self) {
        self.stack.pop();
    }

    /// The network's value for the position on top, from the perspective of its side to move.
    pub fn evaluate(&mut self) -> f32 {
        for perspective in Color::ALL {
            self.stack.update(perspective, &self.net.rows, &self.net.bias);
        }
        let position = self.stack.position();
        let sums = [position.turn(), !position.turn()].map(|perspective| self.stack.sums(perspective));
        let output = self.net.output(position.board().occupied().count());
        let mut sum = 0;
        self.stack.level().run(OutputLayer { net: &self.net, output, sums, to: &mut sum });
        sum as f32 * output.step
    }
}
