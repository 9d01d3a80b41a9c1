use std::sync::Arc;

use shakmaty::{Chess, Move, Position};
use tabia_encoding::ForMover;
use tabia_game::History;
use tabia_model::{Model, Perspective, ValueHead};
use tabia_runtime::{
    RunError,
    accumulator::nnue::{Nnue, NnueState},
};

use crate::Evaluator;

/// An NNUE with a value head in 16-bit arithmetic: rounds by about a centipawn.
pub struct NnueEvaluator {
    evaluator: NnueState,
    head: ValueHead,
    failure: Option<RunError>,
}

impl NnueEvaluator {
    /// `None` if `model` is not an NNUE or its value depends on a context.
    pub fn new(model: &Model) -> Option<NnueEvaluator> {
        let head = model.card().value.clone()?;
        let alone = matches!(head.perspective, Perspective::Mover | Perspective::White);
        let net = model.nnue().filter(|_| alone)?;
        Some(NnueEvaluator::over(Arc::clone(net), head))
    }

    fn over(net: Arc<Nnue>, head: ValueHead) -> NnueEvaluator {
        NnueEvaluator { evaluator: NnueState::new(net, &Chess::default()), head, failure: None }
    }
}

impl Evaluator for NnueEvaluator {
    fn fork(&self) -> Box<dyn Evaluator> {
        Box::new(NnueEvaluator::over(Arc::clone(self.evaluator.net()), self.head.clone()))
    }

    fn set_root(&mut self, game: &History) {
        self.evaluator.set_position(game.current());
        self.failure = None;
    }

    fn push(&mut self, m: Move, after: &Chess) {
        self.evaluator.push(m, after);
    }

    fn push_null(&mut self, after: &Chess) {
        self.evaluator.push_pass(after);
    }

    fn pop(&mut self) {
        self.evaluator.pop();
    }

    fn evaluate_f32(&mut self, position: &Chess) -> ForMover<f32> {
        let turn = position.turn();
        let score = self.head.read(self.evaluator.evaluate(), turn, turn);
        if score.0.is_finite() {
            return score;
        }
        // The unit of the card may overflow.
        self.failure = Some(RunError::NotFinite { output: self.head.output.clone() });
        ForMover(0.0)
    }

    fn failure(&mut self) -> Option<RunError> {
        self.failure.take()
    }
}
