//! Keys of the game and the current line, to detect repetitions.

use shakmaty::{Chess, Position};
use tabia_game::History;

use super::key;

/// Position keys, oldest first; the last is the current position.
pub(super) struct KeyHistory {
    steps: Vec<Step>,
    /// The index of the root.
    root: usize,
}

#[derive(Clone, Copy)]
struct Step {
    key: u64,
    /// Plies since the last irreversible move or null move.
    reversible: u32,
}

impl KeyHistory {
    /// The keys of a game since its last irreversible move.
    pub(super) fn of(game: &History) -> KeyHistory {
        let situation = game.situation();
        let window = situation.earlier.len().min(situation.position.halfmoves() as usize);
        let mut steps: Vec<Step> = situation.earlier[..window].iter().rev().map(Step::at).collect();
        let root = steps.len();
        steps.push(Step::at(situation.position));
        KeyHistory { steps, root }
    }

    pub(super) fn key(&self) -> u64 {
        self.last().key
    }

    /// Adds the key after a move or null move.
    pub(super) fn push(&mut self, key: u64, after: Kind) {
        let reversible = match after {
            Kind::Reversible => self.last().reversible + 1,
            Kind::Irreversible => 0,
        };
        self.steps.push(Step { key, reversible });
    }

    pub(super) fn pop(&mut self) {
        self.steps.pop();
    }

    /// Whether the position repeats one of the current line, or two of the game before the root.
    pub(super) fn repeats(&self) -> bool {
        let last = self.last();
        let here = self.steps.len() - 1;
        let oldest = here.saturating_sub(last.reversible as usize);
        let mut before_root = 0;
        // The nearest possible repetition is four plies back.
        let mut back = here.checked_sub(4);
        while let Some(place) = back.filter(|&place| place >= oldest) {
            if self.steps[place].key == last.key {
                before_root += 1;
                if place >= self.root || before_root == 2 {
                    return true;
                }
            }
            back = place.checked_sub(2);
        }
        false
    }

    fn last(&self) -> Step {
        *self.steps.last().expect("the root is never popped")
    }
}

/// Whether earlier positions can repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Reversible,
    Irreversible,
}

impl Step {
    fn at(position: &Chess) -> Step {
        Step { key: key::of(position), reversible: position.halfmoves() }
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::{ByColor, uci::UciMove};

    use super::*;

    fn after(moves: &str) -> History {
        let mut game = History::new(Chess::default(), ByColor::default());
        for uci in moves.split_whitespace() {
            let m = uci.parse::<UciMove>().unwrap().to_move(game.current()).unwrap();
            game.push(m, None);
        }
        game
    }

    #[test]
    fn one_repetition_in_the_search_or_two_in_the_game_is_a_draw() {
        let once = "g1f3 g8f6 f3g1 f6g8 ";
        assert!(!KeyHistory::of(&after(once)).repeats());
        assert!(KeyHistory::of(&after(&once.repeat(2))).repeats());

        let mut keys = KeyHistory::of(&after(""));
        let start = keys.key();
        for key in [1, 2, 3, start] {
            assert!(!keys.repeats());
            keys.push(key, Kind::Reversible);
        }
        assert!(keys.repeats(), "the root itself is a position of the search");
        keys.pop();
        keys.push(start, Kind::Irreversible);
        assert!(!keys.repeats());
    }

    #[test]
    fn irreversible_moves_clear_the_history() {
        let game = after("g1f3 g8f6 f3g1 f6g8 e2e4 e7e5");
        let keys = KeyHistory::of(&game);
        assert_eq!((keys.steps.len(), keys.root), (1, 0));
    }
}
