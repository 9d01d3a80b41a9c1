use std::sync::{
    Arc,
    atomic::{AtomicI32, Ordering::Relaxed},
};

use shakmaty::{Chess, Color, Move, Position, Role};
use tabia_encoding::ForMover;
use tabia_game::History;
use tabia_runtime::RunError;

use crate::Evaluator;

/// How much more one side expects of a position than its evaluation, in centipawns: what a stronger player has against a weaker
/// one. It shrinks with every piece that is exchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contempt {
    /// With bare kings and pawns.
    pub endgame: i32,
    /// With all pieces on the board.
    pub opening: i32,
}

/// The pieces of a full board, by [`weight`].
const FULL: i32 = 24;

/// The weight of a piece in the phase of the game.
fn weight(role: Role) -> i32 {
    match role {
        Role::Knight | Role::Bishop => 1,
        Role::Rook => 2,
        Role::Queen => 4,
        Role::Pawn | Role::King => 0,
    }
}

impl Contempt {
    /// In this position.
    pub fn at(self, position: &Chess) -> i32 {
        let board = position.board();
        let pieces = [Role::Knight, Role::Bishop, Role::Rook, Role::Queen];
        let count = |role: Role| i32::try_from(board.by_role(role).count()).unwrap_or(0);
        let phase: i32 = pieces.into_iter().map(|role| weight(role) * count(role)).sum();
        self.endgame + (self.opening - self.endgame) * phase.min(FULL) / FULL
    }
}

/// An evaluation with the [contempt](Contempt) of one side.
pub struct ContemptEvaluator {
    evaluator: Box<dyn Evaluator>,
    contempt: Contempt,
    side: ContemptSide,
}

/// The side with contempt, which all threads of a search share. None at first.
#[derive(Clone, Debug, Default)]
pub struct ContemptSide(Arc<AtomicI32>);

impl ContemptSide {
    /// Changes the side. Between searches only; a table with values for another side must be cleared.
    pub fn set(&self, side: Option<Color>) {
        let sign = side.map_or(0, |side| side.fold_wb(1, -1));
        self.0.store(sign, Relaxed);
    }

    /// 1 if the side is to move, -1 if the other is, 0 without a side.
    fn sign(&self, turn: Color) -> i32 {
        self.0.load(Relaxed) * turn.fold_wb(1, -1)
    }
}

impl ContemptEvaluator {
    /// `evaluator` with the contempt of `side`.
    pub fn new(evaluator: Box<dyn Evaluator>, contempt: Contempt, side: ContemptSide) -> ContemptEvaluator {
        ContemptEvaluator { evaluator, contempt, side }
    }

    fn bonus(&self, position: &Chess) -> i32 {
        match self.side.sign(position.turn()) {
            0 => 0,
            sign => sign * self.contempt.at(position),
        }
    }
}

impl Evaluator for ContemptEvaluator {
    fn fork(&self) -> Box<dyn Evaluator> {
        Box::new(ContemptEvaluator::new(self.evaluator.fork(), self.contempt, self.side.clone()))
    }

    fn depends_on_root(&self) -> bool {
        self.evaluator.depends_on_root()
    }

    fn set_root(&mut self, game: &History) {
        self.evaluator.set_root(game);
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
        let ForMover(value) = self.evaluator.evaluate_f32(position);
        ForMover(value + self.bonus(position) as f32)
    }

    fn evaluate(&mut self, position: &Chess) -> ForMover<i32> {
        let ForMover(value) = self.evaluator.evaluate(position);
        let limit = crate::EVALUATION_LIMIT;
        ForMover((value + self.bonus(position)).clamp(-limit, limit))
    }

    fn failure(&mut self) -> Option<RunError> {
        self.evaluator.failure()
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::ByColor;
    use tabia_game::position_from_fen;

    use super::*;
    use crate::BaselineEvaluator;

    const CONTEMPT: Contempt = Contempt { endgame: 100, opening: 340 };

    #[test]
    fn it_shrinks_with_every_exchange() {
        let at = |fen: &str| CONTEMPT.at(&position_from_fen(fen).unwrap());
        assert_eq!(at("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"), 340);
        assert_eq!(at("rnb1kbnr/pppppppp/8/8/8/8/PPPPPPPP/RNB1KBNR w KQkq - 0 1"), 260);
        assert_eq!(at("4k3/pppppppp/8/8/8/8/PPPPPPPP/4K3 w - - 0 1"), 100);
    }

    #[test]
    fn one_side_expects_what_the_other_lacks() {
        let side = ContemptSide::default();
        let mut evaluator =
            ContemptEvaluator::new(Box::new(BaselineEvaluator), CONTEMPT, side.clone()).fork();
        let mut game = History::new(Chess::default(), ByColor::default());
        game.push(game.current().legal_moves()[0], None);
        for position in [Chess::default(), game.current().clone()] {
            let ForMover(plain) = BaselineEvaluator.evaluate(&position);
            let mut evaluate = |of: Option<Color>| {
                side.set(of);
                assert_eq!(
                    evaluator.evaluate_f32(&position).0.round() as i32,
                    evaluator.evaluate(&position).0
                );
                evaluator.evaluate(&position).0
            };
            assert_eq!(evaluate(None), plain);
            assert_eq!(evaluate(Some(position.turn())), plain + 340);
            assert_eq!(evaluate(Some(!position.turn())), plain - 340);
        }
    }
}
