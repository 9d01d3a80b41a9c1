//! The player of the Chess Challenge: one ply and quiescence over a network.

use std::{num::NonZeroI32, sync::Arc};

use shakmaty::{Chess, Move, Position};
use tabia_encoding::{ForMover, Score};
use tabia_game::History;
use tabia_model::Model;
use tabia_search::{Choice, Evaluator, Limits, Line, NoEvaluation, SearchControl, exact_evaluator_for};

use crate::{
    Decision, Player, PlayerError,
    ending::{Ending, ending, ending_of_board, repetitions},
    move_order,
};

/// A network that searches one ply.
///
/// Moves that end the game are scored directly, others by a quiescence search with the network as evaluation; the first
/// of the best in the fixed order is chosen. Scores are compared unrounded. Of the limits only
/// [`Limits::search_moves`] and [`Limits::lines`] count.
pub struct OnePly {
    name: String,
    evaluator: Box<dyn Evaluator>,
}

impl OnePly {
    /// A player called `name` over the network `model`.
    ///
    /// # Errors
    /// If the network has no head that says who is better.
    pub fn new(name: String, model: &Arc<Model>) -> Result<OnePly, NoEvaluation> {
        Ok(OnePly::over(name, exact_evaluator_for(model)?))
    }

    /// A player called `name` over any evaluation.
    pub fn over(name: String, evaluator: Box<dyn Evaluator>) -> OnePly {
        OnePly { name, evaluator }
    }
}

impl Player for OnePly {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn decide(
        &mut self,
        game: &History,
        limits: &Limits,
        _: &dyn SearchControl,
    ) -> Result<Decision, PlayerError> {
        let children = self.children(game, limits)?;
        let mut nodes = 0;
        let mut scored: Vec<(Move, f32)> = Vec::with_capacity(children.len());
        let mut best = f32::NEG_INFINITY;
        for Child { mv, after, end } in children {
            let score = match end {
                Some(end) => -worth(end),
                None => {
                    // Only the best move's score must be exact, unless others are asked for.
                    let alpha = if limits.lines > 1 { f32::NEG_INFINITY } else { best };
                    self.evaluator.push(mv, &after);
                    let mut search = Quiescence { evaluator: &mut *self.evaluator, nodes: &mut nodes };
                    let score = -search.quiesce(&after, f32::NEG_INFINITY, -alpha);
                    self.evaluator.pop();
                    score
                }
            };
            best = best.max(score);
            scored.push((mv, score));
        }
        if let Some(failure) = self.evaluator.failure() {
            return Err(failure.into());
        }
        // Stable: among equals the first in the fixed order stays first.
        scored.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        let wanted = limits.lines.max(1);
        let lines: Vec<_> = scored
            .iter()
            .take(wanted)
            .enumerate()
            .map(|(place, &(mv, score))| Line {
                rank: place + 1,
                depth: 1,
                seldepth: 1,
                score: Some(ForMover(report(score))),
                nodes,
                moves: vec![mv],
                ..Line::default()
            })
            .collect();
        Ok(Decision::by_score(game, Choice { mv: scored[0].0, ponder: None, lines, nodes }))
    }
}

/// A candidate move, the position after it, and its ending, if it ends the game.
struct Child {
    mv: Move,
    after: Chess,
    end: Option<Ending>,
}

impl OnePly {
    /// All candidate moves in the fixed order; the evaluator has prefetched those that do not end the game.
    fn children(&mut self, game: &History, limits: &Limits) -> Result<Vec<Child>, PlayerError> {
        let mut seen = repetitions(game);
        let children: Vec<Child> = move_order::candidates(game, limits)?
            .into_iter()
            .map(|mv| {
                let mut after = game.current().clone();
                after.play_unchecked(mv);
                seen.push(&after);
                let end = ending(&after, &after.legal_moves(), &seen);
                seen.pop();
                Child { mv, after, end }
            })
            .collect();
        self.evaluator.set_root(game);
        let going_on: Vec<(Move, Chess)> = children
            .iter()
            .filter(|child| child.end.is_none())
            .map(|child| (child.mv, child.after.clone()))
            .collect();
        self.evaluator.prefetch(&going_on);
        Ok(children)
    }
}

struct Quiescence<'a> {
    evaluator: &'a mut dyn Evaluator,
    nodes: &'a mut u64,
}

impl Quiescence<'_> {
    /// Quiescence search of a position that does not end the game.
    fn quiesce(&mut self, position: &Chess, mut alpha: f32, beta: f32) -> f32 {
        *self.nodes += 1;
        let mut best = self.evaluator.evaluate_f32(position).0;
        alpha = alpha.max(best);
        for m in move_order::legal_moves(position).into_iter().filter(|&m| move_order::is_tactical(m)) {
            if alpha >= beta {
                break;
            }
            let mut after = position.clone();
            after.play_unchecked(m);
            let score = match ending_of_board(&after, &after.legal_moves()) {
                Some(end) => -worth(end),
                None => {
                    self.evaluator.push(m, &after);
                    let score = -self.quiesce(&after, -beta, -alpha);
                    self.evaluator.pop();
                    score
                }
            };
            best = best.max(score);
            alpha = alpha.max(best);
        }
        best
    }
}

/// The score of the end of the game for the side to move: a mate outweighs any evaluation.
fn worth(end: Ending) -> f32 {
    match end {
        Ending::Mated => f32::NEG_INFINITY,
        Ending::Drawn => 0.0,
    }
}

pub(crate) const NEXT_MOVE: NonZeroI32 = NonZeroI32::new(1).expect("one is not zero");

/// A score of one ply as engines report it. Mates are always mates in one.
pub(crate) fn report(score: f32) -> Score {
    if score.is_finite() {
        Score::Centipawns(score.round() as i32)
    } else {
        Score::Mate(if score > 0.0 { NEXT_MOVE } else { -NEXT_MOVE })
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::ByColor;
    use tabia_encoding::{Situation, parse_uci};
    use tabia_game::position_from_fen;
    use tabia_search::NoControl;

    use super::*;
    use crate::test_networks;

    const POSITIONS: &str = include_str!("../../../fixtures/positions.fen");

    /// Plain minimax over the same tree, every position computed on its own.
    struct Reference<'a> {
        model: &'a Model,
        root: &'a Chess,
        positions_left: u32,
    }

    impl Reference<'_> {
        /// For the side to move; `None` when the tree is too large for this.
        fn quiesce(&mut self, line: &mut Vec<Chess>) -> Option<f32> {
            let position = line.last().unwrap().clone();
            let legal = position.legal_moves();
            if legal.is_empty() {
                return Some(if position.is_check() { f32::NEG_INFINITY } else { 0.0 });
            }
            if position.is_insufficient_material() {
                return Some(0.0);
            }
            self.positions_left = self.positions_left.checked_sub(1)?;
            let mut best = self.evaluate(line);
            for m in legal.iter().filter(|m| m.is_capture() || m.is_promotion()) {
                let mut after = position.clone();
                after.play_unchecked(*m);
                line.push(after);
                let score = self.quiesce(line);
                line.pop();
                best = best.max(-score?);
            }
            Some(best)
        }

        fn evaluate(&self, line: &[Chess]) -> f32 {
            let earlier: Vec<Chess> = line.iter().rev().skip(1).cloned().collect();
            let (position, context) = (line.last().unwrap(), Some(self.root));
            let situation = Situation { earlier: &earlier, context, ..Situation::of(position) };
            let evaluation = &self.model.evaluate(&[situation]).unwrap()[0];
            match (evaluation.score, evaluation.wdl) {
                (Some(score), _) => score.0,
                (None, wdl) => {
                    let wdl = wdl.unwrap();
                    90.0 * (1.563_754_2 * (wdl.win - wdl.loss)).tan()
                }
            }
        }
    }

    /// All moves in the fixed order with their scores.
    fn reference(model: &Model, game: &History) -> Option<Vec<(Move, f32)>> {
        let root = game.current();
        let mut reference = Reference { model, root, positions_left: 300 };
        let moves = move_order::legal_moves(root).into_iter();
        let scored = moves.map(|m| {
            let mut after = root.clone();
            after.play_unchecked(m);
            Some((m, -reference.quiesce(&mut vec![root.clone(), after])?))
        });
        scored.collect()
    }

    #[test]
    fn choice_equals_plain_minimax() {
        for (name, model) in test_networks::evaluating() {
            let mut player = OnePly::new(name.to_owned(), &model).unwrap();
            let fens = POSITIONS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
            let mut compared = 0;
            for fen in fens.step_by(17) {
                let game = History::new(position_from_fen(fen).unwrap(), ByColor::default());
                let Some(expected) = reference(&model, &game) else { continue };
                let first_best = expected.iter().copied().reduce(|a, b| if b.1 > a.1 { b } else { a });
                let (first, score) = first_best.unwrap();
                let choice = player.choose(&game, &Limits::default(), &NoControl).unwrap();
                let chosen = expected.iter().find(|(m, _)| *m == choice.mv).unwrap().1;
                if model.accumulator_net().is_some() {
                    assert_eq!(choice.mv, first, "{name}, {fen}");
                } else {
                    // A batch may round a little differently than a position alone.
                    assert!(
                        chosen == score || (chosen - score).abs() < 0.01,
                        "{name}, {fen}: {chosen} {score}"
                    );
                }
                let all = Limits { lines: 300, ..Limits::default() };
                let ranked = player.choose(&game, &all, &NoControl).unwrap();
                assert_eq!((ranked.mv, ranked.lines.len()), (choice.mv, expected.len()));
                for line in &ranked.lines {
                    let exact = expected.iter().find(|(m, _)| *m == line.moves[0]).unwrap().1;
                    let said = line.score.unwrap().0;
                    let near = match (said, report(exact)) {
                        (Score::Centipawns(a), Score::Centipawns(b)) => a.abs_diff(b) <= 1,
                        (a, b) => a == b,
                    };
                    assert!(near, "{name}, {fen}: {said:?} {exact}");
                }
                compared += 1;
            }
            assert!(compared >= 3, "{name}: {compared}");
        }
    }

    fn chosen(model: &Arc<Model>, game: &History) -> Choice {
        OnePly::new("net".to_owned(), model).unwrap().choose(game, &Limits::default(), &NoControl).unwrap()
    }

    #[test]
    fn mate_outweighs_any_evaluation() {
        let mates = [
            ("6k1/5ppp/8/8/8/8/8/K2R4 w - - 0 1", "d1d8"),
            ("k2r4/8/8/8/8/8/5PPP/6K1 b - - 0 1", "d8d1"),
            ("rb6/k1P5/2K5/8/8/8/8/5B2 w - - 0 1", "c7c8n"),
        ];
        for (name, model) in test_networks::evaluating() {
            for (fen, mate) in mates {
                let game = History::new(position_from_fen(fen).unwrap(), ByColor::default());
                let choice = chosen(&model, &game);
                assert_eq!(choice.mv, parse_uci(game.current(), mate).unwrap(), "{name}");
                assert_eq!(choice.lines[0].score, Some(ForMover(Score::Mate(NEXT_MOVE))), "{name}");
            }
        }
    }

    #[test]
    fn games_are_reproducible() {
        let model = test_networks::challenge();
        let played = || {
            let mut game = History::new(Chess::default(), ByColor::default());
            let mut player = OnePly::new("net".to_owned(), &model).unwrap();
            let mut moves = Vec::new();
            while let (true, Ok(choice)) =
                (moves.len() < 40, player.choose(&game, &Limits::default(), &NoControl))
            {
                moves.push(choice.mv);
                game.push(choice.mv, None);
            }
            moves
        };
        assert_eq!(played(), played());
    }

    #[test]
    fn a_third_occurrence_is_a_draw() {
        let mut game = History::new(Chess::default(), ByColor::default());
        for m in ["g1f3", "g8f6", "f3g1", "f6g8", "g1f3", "g8f6", "f3g1"] {
            let m = parse_uci(game.current(), m).unwrap();
            game.push(m, None);
        }
        let limits = Limits { lines: 300, ..Limits::default() };
        let mut player = OnePly::new("net".to_owned(), &test_networks::challenge()).unwrap();
        let choice = player.choose(&game, &limits, &NoControl).unwrap();
        let back = parse_uci(game.current(), "f6g8").unwrap();
        let line = choice.lines.iter().find(|line| line.moves[0] == back).unwrap();
        assert_eq!(line.score, Some(ForMover(Score::Centipawns(0))));
    }
}
