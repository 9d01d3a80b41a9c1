//! Evaluations that follow the line of a search.

use std::{collections::VecDeque, sync::Arc};

use shakmaty::{ByColor, Chess, Color, Move, Position};
use tabia_encoding::{ForMover, Pace, PlayerInfo, RatingPool, Situation};
use tabia_game::History;
use tabia_model::{Evaluation, Model, Perspective, Unit, ValueHead, Wdl};
use tabia_runtime::{
    RunError,
    accumulator::{AccumulatorNet, AccumulatorState},
};

use crate::{NnueEvaluator, baseline};

/// The largest evaluation in centipawns; larger values are mates.
pub const EVALUATION_LIMIT: i32 = 20_000;

/// An evaluation that follows one line of a search; each thread has its own.
///
/// It starts at the root and sees every move made and taken back. The position given to [`evaluate`](Self::evaluate) is
/// always that after the last push, or the root.
pub trait Evaluator: Send {
    /// Another evaluator over the same weights, for another thread. Its root is not set.
    fn fork(&self) -> Box<dyn Evaluator>;

    /// Whether evaluations depend on the root, so that the transposition table is only valid for one root.
    fn depends_on_root(&self) -> bool {
        false
    }

    /// Sets the root, which is also the context of a two-input network.
    fn set_root(&mut self, game: &History);

    /// Makes the legal move `m`, which leads to `after`.
    fn push(&mut self, m: Move, after: &Chess);

    /// Makes a null move, which leads to `after`.
    fn push_null(&mut self, after: &Chess);

    /// Takes back the last push.
    fn pop(&mut self);

    /// Announces moves that are about to be pushed and evaluated, with the positions after them, so that a network may
    /// evaluate them in one batch. The evaluations are the same without it.
    fn prefetch(&mut self, children: &[(Move, Chess)]) {
        let _ = children;
    }

    /// The unrounded evaluation in centipawns. Always finite.
    fn evaluate_f32(&mut self, position: &Chess) -> ForMover<f32>;

    /// The evaluation in centipawns, at most [`EVALUATION_LIMIT`].
    fn evaluate(&mut self, position: &Chess) -> ForMover<i32> {
        let limit = EVALUATION_LIMIT as f32;
        ForMover(self.evaluate_f32(position).0.clamp(-limit, limit).round() as i32)
    }

    /// The failure of an evaluation since the last root, which then reads as zero. Checked after the search, whose result
    /// is discarded on failure.
    fn failure(&mut self) -> Option<RunError> {
        None
    }
}

/// The network has neither a value nor a win/draw/loss head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the network has no evaluation head (neither value nor win/draw/loss)")]
pub struct NoEvaluation;

/// The fastest evaluator of `model`. It may round by about a centipawn.
///
/// # Errors
/// If the network has no evaluation head.
pub fn evaluator_for(model: &Arc<Model>) -> Result<Box<dyn Evaluator>, NoEvaluation> {
    match NnueEvaluator::new(model) {
        Some(evaluator) => Ok(Box::new(evaluator)),
        None => exact_evaluator_for(model),
    }
}

/// The fastest evaluator of `model` that gives exactly its output.
///
/// # Errors
/// If the network has no evaluation head.
pub fn exact_evaluator_for(model: &Arc<Model>) -> Result<Box<dyn Evaluator>, NoEvaluation> {
    if let Some(evaluator) = AccumulatorEvaluator::new(model) {
        return Ok(Box::new(evaluator));
    }
    Ok(Box::new(ModelEvaluator::new(Arc::clone(model))?))
}

/// The hand-written [baseline] evaluation.
#[derive(Clone, Copy, Debug, Default)]
pub struct BaselineEvaluator;

impl Evaluator for BaselineEvaluator {
    fn fork(&self) -> Box<dyn Evaluator> {
        Box::new(BaselineEvaluator)
    }

    fn set_root(&mut self, _: &History) {}

    fn push(&mut self, _: Move, _: &Chess) {}

    fn push_null(&mut self, _: &Chess) {}

    fn pop(&mut self) {}

    fn evaluate_f32(&mut self, position: &Chess) -> ForMover<f32> {
        ForMover(baseline::evaluate(position).0 as f32)
    }

    fn evaluate(&mut self, position: &Chess) -> ForMover<i32> {
        ForMover(baseline::evaluate(position).0.clamp(-EVALUATION_LIMIT, EVALUATION_LIMIT))
    }
}

/// A network with a value head whose first layer is updated incrementally.
pub struct AccumulatorEvaluator {
    evaluator: AccumulatorState,
    head: ValueHead,
    context_turn: Color,
    failure: Option<RunError>,
    /// A buffer for the outputs of the network.
    outputs: Vec<f32>,
}

impl AccumulatorEvaluator {
    /// `None` if `model` has no such first layer or no value head.
    pub fn new(model: &Model) -> Option<AccumulatorEvaluator> {
        let head = model.card().value.clone()?;
        let net = model.accumulator_net()?;
        Some(AccumulatorEvaluator::over(Arc::clone(net), head))
    }

    fn over(net: Arc<AccumulatorNet>, head: ValueHead) -> AccumulatorEvaluator {
        let start = Chess::default();
        let outputs = vec![0.0; net.outputs()];
        let evaluator = AccumulatorState::new(net, &start);
        AccumulatorEvaluator { evaluator, head, context_turn: start.turn(), failure: None, outputs }
    }
}

impl Evaluator for AccumulatorEvaluator {
    fn fork(&self) -> Box<dyn Evaluator> {
        Box::new(AccumulatorEvaluator::over(Arc::clone(self.evaluator.net()), self.head.clone()))
    }

    fn depends_on_root(&self) -> bool {
        self.evaluator.net().takes_context()
    }

    fn set_root(&mut self, game: &History) {
        self.evaluator.set_context(game.current());
        self.evaluator.set_position(game.current());
        self.context_turn = game.current().turn();
        self.failure = None;
    }

    fn push(&mut self, m: Move, after: &Chess) {
        self.evaluator.push(m, after);
    }

    fn push_null(&mut self, after: &Chess) {
        self.evaluator.push_position(after);
    }

    fn pop(&mut self) {
        self.evaluator.pop();
    }

    fn evaluate_f32(&mut self, position: &Chess) -> ForMover<f32> {
        self.evaluator.evaluate(&mut self.outputs);
        let raw = self.outputs[self.head.index.unwrap_or(0)];
        let score = self.head.read(raw, position.turn(), self.context_turn);
        if score.0.is_finite() {
            return score;
        }
        self.failure = Some(RunError::NotFinite { output: self.head.output.clone() });
        ForMover(0.0)
    }

    fn failure(&mut self) -> Option<RunError> {
        self.failure.take()
    }
}

/// Any network with a value or win/draw/loss head, computed from scratch for each position.
pub struct ModelEvaluator {
    model: Arc<Model>,
    seats: ByColor<PlayerInfo>,
    pool: RatingPool,
    pace: Option<Pace>,
    /// The search's root, the context of a two-input network.
    root: Chess,
    /// The line of play, then the game before it; most recent first, never empty, one contiguous slice.
    positions: VecDeque<Chess>,
    /// The moves between them, likewise; a null move is left out.
    moves: VecDeque<Move>,
    /// One for the root and one for every push.
    plies: Vec<Ply>,
    failure: Option<RunError>,
}

#[derive(Default)]
struct Ply {
    /// How many moves in a row led here: a null move breaks the row.
    moves: usize,
    evaluation: Option<f32>,
    /// Evaluations of positions a move away, for their own side to move.
    prefetched: Vec<(Move, f32)>,
}

impl ModelEvaluator {
    /// # Errors
    /// If the network has no evaluation head.
    pub fn new(model: Arc<Model>) -> Result<ModelEvaluator, NoEvaluation> {
        if model.card().value.is_none() && model.card().wdl.is_none() {
            return Err(NoEvaluation);
        }
        let mut evaluator = ModelEvaluator {
            model,
            seats: ByColor::default(),
            pool: RatingPool::Unknown,
            pace: None,
            root: Chess::default(),
            positions: VecDeque::new(),
            moves: VecDeque::new(),
            plies: Vec::new(),
            failure: None,
        };
        evaluator.set_root(&History::new(Chess::default(), ByColor::default()));
        Ok(evaluator)
    }

    fn push_ply(&mut self, after: &Chess, ply: Ply) {
        self.positions.push_front(after.clone());
        self.positions.make_contiguous();
        self.plies.push(ply);
    }

    fn top(&self) -> &Ply {
        self.plies.last().expect("the root is never popped")
    }

    /// What the network sees of `position`, reached by `last_moves` from `earlier`.
    fn situation<'a>(
        &'a self,
        position: &'a Chess,
        earlier: &'a [Chess],
        last_moves: &'a [Move],
    ) -> Situation<'a> {
        let turn = position.turn();
        let (mover, opponent) = (self.seats[turn], self.seats[!turn]);
        let (pool, pace, context) = (self.pool, self.pace, Some(&self.root));
        Situation { position, earlier, last_moves, mover, opponent, pool, pace, context }
    }

    fn run(&self, situations: &[Situation<'_>]) -> Result<Vec<f32>, RunError> {
        let scores: Vec<f32> =
            self.model.evaluate(situations)?.iter().map(|evaluation| centipawns(evaluation).0).collect();
        if scores.iter().all(|score| score.is_finite()) {
            return Ok(scores);
        }
        let output = self.model.card().value.as_ref().map_or_else(String::new, |head| head.output.clone());
        Err(RunError::NotFinite { output })
    }
}

impl Evaluator for ModelEvaluator {
    fn fork(&self) -> Box<dyn Evaluator> {
        Box::new(ModelEvaluator::new(Arc::clone(&self.model)).expect("the same network has the same heads"))
    }

    fn depends_on_root(&self) -> bool {
        let perspective = self.model.card().value.as_ref().map(|head| head.perspective);
        matches!(perspective, Some(Perspective::ContextMover | Perspective::Comparison))
    }

    fn set_root(&mut self, game: &History) {
        let situation = game.situation();
        let turn = situation.position.turn();
        self.seats[turn] = situation.mover;
        self.seats[!turn] = situation.opponent;
        self.pool = situation.pool;
        self.pace = situation.pace;
        self.root = situation.position.clone();
        self.failure = None;
        self.positions.clear();
        self.moves.clear();
        // Pushed at the front, oldest first, so that further pushes find the slice contiguous.
        for position in situation.earlier.iter().rev().chain([situation.position]) {
            self.positions.push_front(position.clone());
        }
        for &m in situation.last_moves.iter().rev() {
            self.moves.push_front(m);
        }
        self.positions.make_contiguous();
        self.moves.make_contiguous();
        self.plies.clear();
        self.plies.push(Ply { moves: self.moves.len(), ..Ply::default() });
    }

    fn push(&mut self, m: Move, after: &Chess) {
        let parent = self.top();
        let moves = parent.moves + 1;
        let evaluation =
            parent.prefetched.iter().find(|(prefetched, _)| *prefetched == m).map(|(_, score)| *score);
        self.moves.push_front(m);
        self.moves.make_contiguous();
        self.push_ply(after, Ply { moves, evaluation, ..Ply::default() });
    }

    fn push_null(&mut self, after: &Chess) {
        self.push_ply(after, Ply::default());
    }

    fn pop(&mut self) {
        let ply = self.plies.pop().expect("every pop follows a push");
        self.positions.pop_front();
        if ply.moves > 0 {
            self.moves.pop_front();
        }
    }

    fn prefetch(&mut self, children: &[(Move, Chess)]) {
        let known = self.top().moves;
        let earlier = &self.positions.as_slices().0[..=known];
        let lines: Vec<Vec<Move>> = children
            .iter()
            .map(|(m, _)| [m].into_iter().chain(&self.moves).take(known + 1).copied().collect())
            .collect();
        let situations: Vec<_> = children
            .iter()
            .zip(&lines)
            .map(|((_, after), last_moves)| self.situation(after, earlier, last_moves))
            .collect();
        match self.run(&situations) {
            Ok(scores) => {
                let prefetched = children.iter().map(|(m, _)| *m).zip(scores).collect();
                self.plies.last_mut().expect("the root is never popped").prefetched = prefetched;
            }
            Err(failure) => self.failure = Some(failure),
        }
    }

    fn evaluate_f32(&mut self, position: &Chess) -> ForMover<f32> {
        let ply = self.top();
        if let Some(score) = ply.evaluation {
            return ForMover(score);
        }
        let earlier = &self.positions.as_slices().0[1..=ply.moves];
        let last_moves = &self.moves.as_slices().0[..ply.moves];
        let score = match self.run(&[self.situation(position, earlier, last_moves)]) {
            Ok(scores) => scores[0],
            Err(failure) => {
                self.failure = Some(failure);
                0.0
            }
        };
        self.plies.last_mut().expect("the root is never popped").evaluation = Some(score);
        ForMover(score)
    }

    fn failure(&mut self) -> Option<RunError> {
        self.failure.take()
    }
}

/// The score in centipawns of win/draw/loss probabilities, for the side to move.
pub fn score_of_wdl(wdl: Wdl) -> ForMover<f32> {
    let expectation = ValueHead {
        output: String::new(),
        index: None,
        unit: Unit::Expectation,
        perspective: Perspective::Mover,
    };
    expectation.read(wdl.win - wdl.loss, Color::White, Color::White)
}

/// The score of an evaluation, preferably from the value head.
fn centipawns(evaluation: &Evaluation) -> ForMover<f32> {
    match (evaluation.score, evaluation.wdl) {
        (Some(score), _) => score,
        (None, Some(wdl)) => score_of_wdl(wdl),
        (None, None) => unreachable!("a network without an evaluation is refused at the start"),
    }
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;
    use shakmaty::{CastlingMode, EnPassantMode};

    use super::*;
    use crate::test_networks;

    /// What the network says of the end of a line, from scratch.
    fn from_scratch(model: &Model, root: &Chess, line: &[(Option<Move>, Chess)]) -> f32 {
        let since_null = line.iter().rposition(|(m, _)| m.is_none()).map_or(0, |null| null);
        let known = &line[since_null..];
        let earlier: Vec<Chess> = known.iter().rev().skip(1).map(|(_, position)| position.clone()).collect();
        let moves: Vec<Move> = known.iter().rev().filter_map(|(m, _)| *m).take(earlier.len()).collect();
        let position = &line.last().unwrap().1;
        let situation = Situation {
            earlier: &earlier,
            last_moves: &moves,
            context: Some(root),
            ..Situation::of(position)
        };
        centipawns(&model.evaluate(&[situation]).unwrap()[0]).0
    }

    fn after_null(position: &Chess) -> Option<Chess> {
        let mut setup = position.to_setup(EnPassantMode::Legal);
        setup.swap_turn();
        setup.ep_square = None;
        (!position.is_check()).then(|| setup.position(CastlingMode::Standard).ok()).flatten()
    }

    #[test]
    fn incremental_evaluation_equals_evaluation_from_scratch() {
        let human = ("human, win/draw/loss", test_networks::human_of_a_game());
        for (name, model) in test_networks::evaluating().into_iter().chain([human]) {
            let mut rng = Rng::with_seed(5);
            let mut game = History::new(Chess::default(), ByColor::default());
            let mut line = vec![(None, game.current().clone())];
            for _ in 0..9 {
                let legal = game.current().legal_moves();
                let m = legal[rng.usize(..legal.len())];
                game.push(m, None);
                line.push((Some(m), game.current().clone()));
            }
            let root = game.current().clone();
            let played = line.len();
            let mut evaluator = evaluator_for(&model).unwrap().fork();
            evaluator.set_root(&game);
            for step in 0..120 {
                let position = line.last().unwrap().1.clone();
                if step % 4 == 0 {
                    let expected = from_scratch(&model, &root, &line);
                    let found = evaluator.evaluate_f32(&position).0;
                    let allowed = if model.nnue().is_some() { 2.0 } else { 0.01 };
                    assert!((found - expected).abs() < allowed, "{name}, step {step}: {found} {expected}");
                    assert_eq!(evaluator.evaluate(&position).0, found.round() as i32);
                }
                let legal = position.legal_moves();
                let choice = rng.u32(..10);
                if (choice < 4 || legal.is_empty()) && line.len() > played {
                    evaluator.pop();
                    line.pop();
                } else if let (4, Some(after)) = (choice, after_null(&position)) {
                    evaluator.push_null(&after);
                    line.push((None, after));
                } else if !legal.is_empty() {
                    let m = legal[rng.usize(..legal.len())];
                    let mut after = position.clone();
                    after.play_unchecked(m);
                    if choice == 5 {
                        evaluator.prefetch(&[(m, after.clone())]);
                    }
                    evaluator.push(m, &after);
                    line.push((Some(m), after));
                }
            }
            assert!(evaluator.failure().is_none(), "{name}");
        }
    }

    #[test]
    fn root_is_the_context() {
        // Both readings differ between roots, for the same position.
        for model in [test_networks::pair(), test_networks::comparing_pair()] {
            let start = History::new(Chess::default(), ByColor::default());
            let mut moved = start.clone();
            moved.push(start.current().legal_moves()[0], None);
            let mut evaluator = evaluator_for(&model).unwrap();
            evaluator.set_root(&start);
            evaluator.push(start.current().legal_moves()[0], moved.current());
            let seen_from_start = evaluator.evaluate_f32(moved.current());
            evaluator.set_root(&moved);
            assert_ne!(evaluator.evaluate_f32(moved.current()), seen_from_start);
        }
    }

    #[test]
    fn policy_network_cannot_evaluate() {
        assert!(matches!(evaluator_for(&test_networks::human()), Err(NoEvaluation)));
    }

    #[test]
    fn evaluations_stay_below_mates() {
        let mut evaluator = evaluator_for(&test_networks::challenge_scaled(1e9)).unwrap();
        let start = Chess::default();
        assert_eq!(evaluator.evaluate(&start).0.abs(), EVALUATION_LIMIT);
        assert!(evaluator.evaluate_f32(&start).0.abs() > EVALUATION_LIMIT as f32);
    }

    #[test]
    fn failed_evaluation_reads_zero_and_is_reported() {
        for (name, model) in test_networks::overflowing() {
            let mut evaluator = evaluator_for(&model).unwrap();
            let queens = tabia_game::position_from_fen("6k1/5ppp/8/8/8/8/QQQQ4/K7 w - - 0 1").unwrap();
            let game = History::new(queens, ByColor::default());
            evaluator.set_root(&game);
            assert_eq!(evaluator.evaluate_f32(game.current()), ForMover(0.0), "{name}");
            assert!(matches!(evaluator.failure(), Some(RunError::NotFinite { .. })), "{name}");
            assert!(evaluator.failure().is_none(), "reported once");
        }
    }
}
