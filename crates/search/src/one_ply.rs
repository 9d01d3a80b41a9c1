//! The Chess Challenge's player: a network judges every legal move by what captures and promotions lead to.

use std::{num::NonZeroI32, sync::Arc};

use shakmaty::{Chess, Move, Position};
use tabia_encoding::{ForMover, Score};
use tabia_game::History;
use tabia_model::Model;

use crate::{
    Choice, LeafEvaluator, Limits, Line, NoEvaluation, Player, PlayerError, Watch,
    ending::{Ending, ending, ending_of_board, repetitions},
    leaf_evaluator, order,
};

/// A network that looks one move ahead.
///
/// Each legal move is scored at once if it mates or draws, and otherwise by a quiescence search with the network as
/// evaluation; the first strictly best one in the fixed order is chosen. Scores are compared as the network gives
/// them, unrounded. Of the limits only the moves to choose from and the number of lines are heeded.
pub struct OnePly {
    name: String,
    leaf: Box<dyn LeafEvaluator>,
}

impl OnePly {
    /// A player called `name` over the network `model`.
    ///
    /// # Errors
    /// If the network has no head that says who is better.
    pub fn new(name: String, model: &Arc<Model>) -> Result<OnePly, NoEvaluation> {
        Ok(OnePly { name, leaf: leaf_evaluator(model)? })
    }
}

impl Player for OnePly {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn choose(&mut self, game: &History, limits: &Limits, _: &dyn Watch) -> Result<Choice, PlayerError> {
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
                    self.leaf.push(mv, &after);
                    let mut search = Quiescence { leaf: &mut *self.leaf, nodes: &mut nodes };
                    let score = -search.stand_or_take(&after, f32::NEG_INFINITY, -alpha);
                    self.leaf.pop();
                    score
                }
            };
            best = best.max(score);
            scored.push((mv, score));
        }
        if let Some(failure) = self.leaf.failure() {
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
                deepest: 1,
                score: Some(ForMover(report(score))),
                nodes,
                moves: vec![mv],
                ..Line::default()
            })
            .collect();
        Ok(Choice { mv: scored[0].0, ponder: None, lines, nodes })
    }
}

/// A move to choose from, where it leads, and how that ends the game, if it does.
struct Child {
    mv: Move,
    after: Chess,
    end: Option<Ending>,
}

impl OnePly {
    /// All moves to choose from in the fixed order; the network has been told of those that go on.
    fn children(&mut self, game: &History, limits: &Limits) -> Result<Vec<Child>, PlayerError> {
        let mut seen = repetitions(game);
        let children: Vec<Child> = order::candidates(game, limits)?
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
        self.leaf.set_root(game);
        let going_on: Vec<(Move, Chess)> = children
            .iter()
            .filter(|child| child.end.is_none())
            .map(|child| (child.mv, child.after.clone()))
            .collect();
        self.leaf.foresee(&going_on);
        Ok(children)
    }
}

struct Quiescence<'a> {
    leaf: &'a mut dyn LeafEvaluator,
    nodes: &'a mut u64,
}

impl Quiescence<'_> {
    /// What a position that goes on is worth to the side to move: standing still, or the best capture or promotion.
    fn stand_or_take(&mut self, position: &Chess, mut alpha: f32, beta: f32) -> f32 {
        *self.nodes += 1;
        let mut best = self.leaf.evaluate_finely(position).0;
        alpha = alpha.max(best);
        for m in order::legal_moves(position).into_iter().filter(|&m| order::is_tactical(m)) {
            if alpha >= beta {
                break;
            }
            let mut after = position.clone();
            after.play_unchecked(m);
            let score = match ending_of_board(&after, &after.legal_moves()) {
                Some(end) => -worth(end),
                None => {
                    self.leaf.push(m, &after);
                    let score = -self.stand_or_take(&after, -beta, -alpha);
                    self.leaf.pop();
                    score
                }
            };
            best = best.max(score);
            alpha = alpha.max(best);
        }
        best
    }
}

/// What the end of the game is worth to the side to move: no network can outbid a mate.
fn worth(end: Ending) -> f32 {
    match end {
        Ending::Mated => f32::NEG_INFINITY,
        Ending::Drawn => 0.0,
    }
}

const NEXT_MOVE: NonZeroI32 = NonZeroI32::new(1).expect("one is not zero");

/// A mate is always the next move of whoever gives it.
fn report(score: f32) -> Score {
    if score.is_finite() {
        Score::Centipawns(score.round() as i32)
    } else {
        Score::Mate(if score > 0.0 { NEXT_MOVE } else { -NEXT_MOVE })
    }
}
