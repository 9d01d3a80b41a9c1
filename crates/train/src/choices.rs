//! Positions whose every move an engine evaluated, to see which move a network chooses by a one-ply search.

use shakmaty::{Chess, Color, Position};
use tabia_data::{EvaluationRecord, Session};
use tabia_encoding::{ForMover, Score};

use crate::{Examples, Facts};

/// Scores are clamped to this many centipawns, for the side to move at the root, before moves are compared.
const DECIDED_CP: i32 = 1000;

/// Some analysed positions and those after each of their moves.
pub struct Choices {
    /// The positions after moves that do not end the game, without targets.
    pub examples: Examples,
    /// The positions the moves are of.
    pub roots: Vec<Root>,
}

/// A position to choose a move in: the root of a one-ply search.
#[derive(Clone, Debug, PartialEq)]
pub struct Root {
    /// What evaluation groups by.
    pub facts: Facts,
    /// Whether the network's numbers for the positions after its moves are better for its mover the larger or the smaller
    /// they are.
    pub reading: Reading,
    /// All its legal moves, best first.
    pub moves: Vec<Choice>,
}

/// Whose point of view the network's numbers take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// The mover's at the root: larger is better.
    Larger,
    /// The opponent's: smaller is better.
    Smaller,
}

/// One move to choose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// Where it leads.
    pub after: After,
    /// Whether no move has a better score.
    pub is_best: bool,
    /// Centipawns lost against the best move, for the mover; scores are clamped to ten pawns.
    pub loss_cp: f32,
}

/// Where a move leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// To the position in this row of the examples.
    Row(usize),
    /// To mate.
    Mate,
    /// To a draw by the rules.
    Draw,
}

/// The moves of a record whose deepest session has a line for every legal move; `None` if it has not. `row` says in which
/// row the position after a move is, if the game goes on.
pub(crate) fn moves(record: &EvaluationRecord, mut row: impl FnMut(&Chess) -> usize) -> Option<Vec<Choice>> {
    let deepest = complete_session(record)?;
    let turn = record.position.turn();
    let best = deepest.lines.first()?.score.for_mover(turn);
    let choice = |line: &tabia_data::Line| {
        let mut position = record.position.clone();
        position.play_unchecked(line.first);
        let after = match (position.legal_moves().is_empty(), position.is_check()) {
            (true, true) => After::Mate,
            (true, false) => After::Draw,
            (false, _) if position.is_insufficient_material() => After::Draw,
            (false, _) => After::Row(row(&position)),
        };
        let score = line.score.for_mover(turn);
        Choice { after, is_best: score == best, loss_cp: (bounded_cp(best) - bounded_cp(score)) as f32 }
    };
    Some(deepest.lines.iter().map(choice).collect())
}

/// The deepest session, if it has a line for every legal move.
pub(crate) fn complete_session(record: &EvaluationRecord) -> Option<&Session> {
    let deepest = record.sessions.first()?;
    (!deepest.lines.is_empty() && deepest.lines.len() == record.position.legal_moves().len())
        .then_some(deepest)
}

fn bounded_cp(score: ForMover<Score>) -> i32 {
    match score.0 {
        Score::Centipawns(cp) => cp.clamp(-DECIDED_CP, DECIDED_CP),
        Score::Mate(moves) => moves.get().signum() * DECIDED_CP,
    }
}

impl Reading {
    /// How the mover at the root reads numbers from `viewer`'s point of view.
    pub(crate) fn of(chooser: Color, viewer: Color) -> Self {
        if chooser == viewer { Reading::Larger } else { Reading::Smaller }
    }
}

impl Root {
    /// The move with the best evaluation. `values` are the network's numbers for the rows, `even` is that of a drawn game. Mate is
    /// best of all; among equals the worst move counts.
    pub fn chosen(&self, values: &[f32], even: f32) -> Option<&Choice> {
        let worth = |choice: &Choice| match choice.after {
            After::Mate => f32::INFINITY,
            After::Draw => 0.0,
            After::Row(row) => {
                let value = values.get(row).map_or(f32::NAN, |value| value - even);
                if self.reading == Reading::Larger { value } else { -value }
            }
        };
        let known =
            self.moves.iter().map(|choice| (worth(choice), choice)).filter(|(worth, _)| !worth.is_nan());
        known.reduce(|best, next| if next.0 >= best.0 { next } else { best }).map(|(_, choice)| choice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(reading: Reading, after: &[After]) -> Root {
        let choice = |(at, &after): (usize, &After)| Choice { after, is_best: at == 0, loss_cp: at as f32 };
        Root { facts: Facts::default(), reading, moves: after.iter().enumerate().map(choice).collect() }
    }

    fn chosen(reading: Reading, after: &[After], values: &[f32]) -> f32 {
        root(reading, after).chosen(values, 0.5).unwrap().loss_cp
    }

    #[test]
    fn the_worst_outcome_for_the_opponent_is_chosen() {
        let rows = [After::Row(0), After::Row(1), After::Row(2)];
        assert_eq!(chosen(Reading::Smaller, &rows, &[0.4, 0.2, 0.9]), 1.0);
        assert_eq!(chosen(Reading::Larger, &rows, &[0.4, 0.2, 0.9]), 2.0);
        assert_eq!(
            chosen(Reading::Smaller, &rows, &[0.3; 3]),
            2.0,
            "a network that knows nothing gets no credit"
        );
    }

    #[test]
    fn game_end_overrides_the_network() {
        let ends = [After::Row(0), After::Mate, After::Draw];
        assert_eq!(chosen(Reading::Smaller, &ends, &[0.0]), 1.0);
        let draw = [After::Row(0), After::Draw];
        assert_eq!(chosen(Reading::Smaller, &draw, &[0.6]), 1.0);
        assert_eq!(chosen(Reading::Smaller, &draw, &[0.4]), 0.0);
    }
}
