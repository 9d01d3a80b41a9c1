use shakmaty::{ByColor, Chess, Move};
use tabia_encoding::ForMover;
use tabia_game::History;
use tabia_runtime::RunError;

use crate::Evaluator;

/// A two-input network whose context is one position, whatever the root of the search.
pub struct FixedContext {
    evaluator: Box<dyn Evaluator>,
    context: Chess,
}

impl FixedContext {
    /// `evaluator` in the context `context`.
    pub fn new(evaluator: Box<dyn Evaluator>, context: Chess) -> FixedContext {
        FixedContext { evaluator, context }
    }
}

impl Evaluator for FixedContext {
    fn fork(&self) -> Box<dyn Evaluator> {
        Box::new(FixedContext::new(self.evaluator.fork(), self.context.clone()))
    }

    fn set_root(&mut self, game: &History) {
        // The context is the evaluator's root, and the root of the search lies beyond a null move.
        self.evaluator.set_root(&History::new(self.context.clone(), ByColor::default()));
        self.evaluator.push_null(game.current());
    }

    fn push(&mut self, m: Move, after: &Chess) {
        self.evaluator.push(m, after);
    }

    fn push_null(&mut self, after: &Chess) {
        self.evaluator.push_null(after);
    }

    fn pop(&mut self) {
        self.evaluator.pop();
    }

    fn prefetch(&mut self, children: &[(Move, Chess)]) {
        self.evaluator.prefetch(children);
    }

    fn evaluate_f32(&mut self, position: &Chess) -> ForMover<f32> {
        self.evaluator.evaluate_f32(position)
    }

    fn failure(&mut self) -> Option<RunError> {
        self.evaluator.failure()
    }
}
