//! Marking the moves of a game: what a move cost, and whether people find the best one.

use serde::{Deserialize, Serialize};
use shakmaty::Move;

/// The mark of a move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// None.
    #[default]
    #[serde(rename = "")]
    None,
    /// It lost a little.
    Inaccuracy,
    /// It lost much.
    Mistake,
    /// It may have lost the game.
    Blunder,
    /// The only good move, and few people play it.
    Good,
    /// The only good move by far, and hardly anybody plays it.
    Brilliant,
    /// The only good move was missed, as most people would; what was played is as good as the rest.
    HardToFind,
}

/// What a mark is computed from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reviewed {
    /// The move played.
    pub played: Move,
    /// The best move.
    pub best: Move,
    /// The mover's winning chance after the best move, from 0 to 1.
    pub best_chance: f64,
    /// After the second-best move; `None` where only one is legal.
    pub second_chance: Option<f64>,
    /// After the move played.
    pub played_chance: f64,
    /// How likely people are to play the best move.
    pub best_probability: f32,
}

/// Losses of the mover's chance from which a move is an inaccuracy, a mistake, a blunder.
pub(crate) const INACCURACY: f64 = 0.05;
pub(crate) const MISTAKE: f64 = 0.10;
const BLUNDER: f64 = 0.20;

/// The best move is the only good one if the next is worse by this much, and by far if by so much.
const ONLY: f64 = 0.10;
const ONLY_BY_FAR: f64 = 0.20;

/// A move is hard to find if people play it less often than this, and very hard if less than so often.
const RARE: f32 = 0.15;
const VERY_RARE: f32 = 0.05;

impl Mark {
    /// Whether the move lost something.
    pub const fn is_error(self) -> bool {
        matches!(self, Mark::Inaccuracy | Mark::Mistake | Mark::Blunder)
    }

    /// The symbol that annotators write; empty where there is none.
    pub const fn symbol(self) -> &'static str {
        match self {
            Mark::None | Mark::HardToFind => "",
            Mark::Inaccuracy => "?!",
            Mark::Mistake => "?",
            Mark::Blunder => "??",
            Mark::Good => "!",
            Mark::Brilliant => "!!",
        }
    }

    /// The numeric annotation glyph of PGN.
    pub const fn nag(self) -> Option<u8> {
        match self {
            Mark::None | Mark::HardToFind => None,
            Mark::Good => Some(1),
            Mark::Mistake => Some(2),
            Mark::Brilliant => Some(3),
            Mark::Blunder => Some(4),
            Mark::Inaccuracy => Some(6),
        }
    }
}

impl Reviewed {
    /// The mark.
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

#[cfg(test)]
mod tests {
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
    fn losses_are_marked_by_size() {
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
    fn hard_moves_are_praised_when_played_and_excused_when_missed() {
        assert_eq!(mark(0.0, Some(0.15), 0.1), Mark::Good);
        assert_eq!(mark(0.0, Some(0.3), 0.01), Mark::Brilliant);
        assert_eq!(mark(0.0, Some(0.3), 0.5), Mark::None, "everybody plays it");
        assert_eq!(mark(0.0, Some(0.02), 0.01), Mark::None, "others are as good");
        assert_eq!(mark(0.0, None, 0.01), Mark::None, "there is no choice");
        assert_eq!(mark(0.3, Some(0.3), 0.1), Mark::HardToFind);
        assert_eq!(mark(0.3, Some(0.3), 0.5), Mark::Blunder, "easy to find");
        assert_eq!(mark(0.6, Some(0.3), 0.1), Mark::Blunder, "the rest were better too");
    }
}
