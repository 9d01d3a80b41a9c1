//! The positions from the start of the game to where the search stands, for draws by repetition.

use shakmaty::{Chess, Position};
use tabia_game::History;

use super::key;

/// Keys of positions, oldest first; the last is where the search stands.
pub(super) struct KeyHistory {
    steps: Vec<Step>,
    /// Where the root is among them.
    root: usize,
}

#[derive(Clone, Copy)]
struct Step {
    key: u64,
    /// Plies since the last capture, pawn move or pass: nothing before them can be the same position.
    reversible: u32,
}

impl KeyHistory {
    /// The game as far as it can still repeat itself.
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

    /// A move or a pass led to a position with this key.
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

    /// Whether the position repeats one the search passed on its way here, or two of the game before it.
    ///
    /// Who can repeat once can repeat again, so inside the search one repetition counts as a draw; the game's own
    /// positions may be needed once more.
    pub(super) fn repeats(&self) -> bool {
        let last = self.last();
        let here = self.steps.len() - 1;
        let oldest = here.saturating_sub(last.reversible as usize);
        let mut before_root = 0;
        // The nearest position with the same side to move that can be the same is four plies back.
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

/// Whether earlier positions can come back.
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
    fn one_repetition_counts_in_the_search_and_two_in_the_game() {
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
    fn a_capture_or_pawn_move_ends_the_search_for_repetitions() {
        let game = after("g1f3 g8f6 f3g1 f6g8 e2e4 e7e5");
        let keys = KeyHistory::of(&game);
        assert_eq!((keys.steps.len(), keys.root), (1, 0));
    }
}
