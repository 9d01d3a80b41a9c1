//! Judging the moves of a game: what a move cost, and whether people would have found the right one.

use shakmaty::Move;
use tabia_encoding::{ForMover, Score};

/// What a move is worth telling about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Nothing.
    None,
    /// It cost a little.
    Inaccuracy,
    /// It cost much.
    Mistake,
    /// It may have cost the game.
    Blunder,
    /// The only good move, and few people play it.
    Good,
    /// The only good move by far, and hardly anybody plays it.
    Brilliant,
    /// The only good move was missed, as most people would; what was played is as good as the rest.
    HardToFind,
}

/// What there is to know of a move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reviewed {
    /// What was played.
    pub played: Move,
    /// What should have been.
    pub best: Move,
    /// The mover's chance with the best move, from 0 to 1.
    pub best_chance: f64,
    /// With the second-best move; `None` where only one is legal.
    pub second_chance: Option<f64>,
    /// With the move that was played.
    pub played_chance: f64,
    /// How likely people are to play the best move.
    pub best_probability: f32,
}

/// Losses of the mover's chance from which a move is an inaccuracy, a mistake, a blunder.
const INACCURACY: f64 = 0.05;
const MISTAKE: f64 = 0.10;
const BLUNDER: f64 = 0.20;

/// The best move is the only good one if the next is worse by this much, and by far if by so much.
const ONLY: f64 = 0.10;
const ONLY_BY_FAR: f64 = 0.20;

/// A move is hard to find if people play it less often than this, and very hard if less than so often.
const RARE: f32 = 0.15;
const VERY_RARE: f32 = 0.05;

impl Reviewed {
    /// What the move is worth telling about.
    pub fn mark(&self) -> Mark {
        let gap = self.second_chance.map_or(0.0, |second| self.best_chance - second);
        let hard = gap >= ONLY && self.best_probability < RARE;
        if self.played == self.best {
            return match (hard, gap >= ONLY_BY_FAR && self.best_probability < VERY_RARE) {
                (false, _) => Mark::None,
                (true, false) => Mark::Good,
                (true, true) => Mark::Brilliant,
            };
        }
        let as_good_as_the_rest =
            self.second_chance.is_some_and(|second| second - self.played_chance < INACCURACY);
        let loss = self.best_chance - self.played_chance;
        if hard && as_good_as_the_rest && loss >= INACCURACY {
            Mark::HardToFind
        } else if loss >= BLUNDER {
            Mark::Blunder
        } else if loss >= MISTAKE {
            Mark::Mistake
        } else if loss >= INACCURACY {
            Mark::Inaccuracy
        } else {
            Mark::None
        }
    }
}

/// The chance of the side to move, from 0 to 1, that a score stands for: a logistic curve that fits the results of
/// people's games on Lichess. A mate is certain.
pub fn winning_chance(ForMover(score): ForMover<Score>) -> f64 {
    match score {
        Score::Centipawns(cp) => 1.0 / (1.0 + (-STEEPNESS * f64::from(cp)).exp()),
        Score::Mate(moves) => f64::from(u8::from(moves.get() > 0)),
    }
}

/// Per centipawn, of the curve from scores to chances.
const STEEPNESS: f64 = 0.003_682_08;

/// The score that leaves this chance, in centipawns: infinite where nothing or everything is left.
pub(crate) fn score_of_chance(chance: f64) -> f64 {
    (chance.max(0.0) / (1.0 - chance).max(0.0)).ln() / STEEPNESS
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroI32;

    use shakmaty::{Chess, Position as _};

    use super::*;

    /// A move that costs `loss`, where the next-best costs `gap` and people find the best with `found`.
    fn mark(loss: f64, gap: Option<f64>, found: f32) -> Mark {
        let moves = Chess::default().legal_moves();
        let played = if loss == 0.0 { moves[0] } else { moves[1] };
        let reviewed = Reviewed {
            played,
            best: moves[0],
            best_chance: 0.7,
            second_chance: gap.map(|gap| 0.7 - gap),
            played_chance: 0.7 - loss,
            best_probability: found,
        };
        reviewed.mark()
    }

    #[test]
    fn losses_have_names() {
        let marks =
            [0.01, 0.049, 0.051, 0.099, 0.101, 0.199, 0.201, 0.7].map(|loss| mark(loss, Some(0.0), 0.9));
        let expected = [
            Mark::None,
            Mark::None,
            Mark::Inaccuracy,
            Mark::Inaccuracy,
            Mark::Mistake,
            Mark::Mistake,
            Mark::Blunder,
            Mark::Blunder,
        ];
        assert_eq!(marks, expected);
    }

    #[test]
    fn what_few_would_find_is_praised_when_played_and_excused_when_missed() {
        assert_eq!(mark(0.0, Some(0.15), 0.1), Mark::Good);
        assert_eq!(mark(0.0, Some(0.3), 0.01), Mark::Brilliant);
        assert_eq!(mark(0.0, Some(0.3), 0.5), Mark::None, "everybody plays it");
        assert_eq!(mark(0.0, Some(0.02), 0.01), Mark::None, "others are as good");
        assert_eq!(mark(0.0, None, 0.01), Mark::None, "there is no choice");
        assert_eq!(mark(0.3, Some(0.3), 0.1), Mark::HardToFind);
        assert_eq!(mark(0.3, Some(0.3), 0.5), Mark::Blunder, "easy to find");
        assert_eq!(mark(0.6, Some(0.3), 0.1), Mark::Blunder, "the rest were better too");
    }

    #[test]
    fn chances_grow_with_the_score() {
        let chance = |cp| winning_chance(ForMover(Score::Centipawns(cp)));
        assert_eq!(chance(0), 0.5);
        assert!((chance(300) + chance(-300) - 1.0).abs() < 1e-12);
        assert!((0.74..0.76).contains(&chance(300)));
        assert!(chance(i32::MAX) <= 1.0 && chance(i32::MIN) >= 0.0);
        for cp in [-700, 0, 35] {
            assert!((score_of_chance(chance(cp)) - f64::from(cp)).abs() < 1e-6);
        }
        assert_eq!((score_of_chance(-0.1), score_of_chance(1.0)), (f64::NEG_INFINITY, f64::INFINITY));
        let mate = |moves| winning_chance(ForMover(Score::Mate(NonZeroI32::new(moves).unwrap())));
        assert_eq!((mate(3), mate(-3)), (1.0, 0.0));
    }
}
