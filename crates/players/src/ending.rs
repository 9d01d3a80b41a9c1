//! Positions that end the game; draws are always claimed.

use shakmaty::{Chess, Move, Position};
use tabia_game::{History, Repetitions};

/// How the game ends in a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The side to move is mated.
    Mated,
    /// Stalemate, dead material, fifty moves or a third occurrence.
    Drawn,
}

/// How a position reached by a capture or pawn move ends the game, if it does. `legal` holds its legal moves.
pub(crate) fn ending_of_board(position: &Chess, legal: &[Move]) -> Option<Ending> {
    if legal.is_empty() {
        return Some(if position.is_check() { Ending::Mated } else { Ending::Drawn });
    }
    position.is_insufficient_material().then_some(Ending::Drawn)
}

/// How a position ends the game, if it does. `repetitions` ends with it and `legal` holds its legal moves.
pub(crate) fn ending(position: &Chess, legal: &[Move], repetitions: &Repetitions) -> Option<Ending> {
    ending_of_board(position, legal)
        .or_else(|| (position.halfmoves() >= 100 || repetitions.count() >= 3).then_some(Ending::Drawn))
}

/// All positions of the game so far, the current one last.
pub(crate) fn repetitions(game: &History) -> Repetitions {
    let situation = game.situation();
    let mut repetitions = Repetitions::default();
    for position in situation.earlier.iter().rev().chain([situation.position]) {
        repetitions.push(position);
    }
    repetitions
}

#[cfg(test)]
mod tests {
    use shakmaty::{ByColor, san::San};
    use tabia_game::position_from_fen;

    use super::*;

    fn of(fen: &str) -> Option<Ending> {
        let position = position_from_fen(fen).unwrap();
        ending(&position, &position.legal_moves(), &Repetitions::from_start(&position))
    }

    #[test]
    fn endings_are_recognised() {
        assert_eq!(of("7k/6Q1/5K2/8/8/8/8/8 b - - 0 1"), Some(Ending::Mated));
        assert_eq!(of("7k/6Q1/5K2/8/8/8/8/8 b - - 100 99"), Some(Ending::Mated), "mate comes first");
        assert_eq!(of("7k/5Q2/5K2/8/8/8/8/8 b - - 0 1"), Some(Ending::Drawn));
        assert_eq!(of("8/8/4k3/8/8/3NK3/8/8 b - - 0 1"), Some(Ending::Drawn));
        assert_eq!(of("8/8/4k3/8/8/3QK3/8/8 b - - 100 99"), Some(Ending::Drawn));
        assert_eq!(of("8/8/4k3/8/8/3QK3/8/8 b - - 99 99"), None);
    }

    #[test]
    fn a_third_occurrence_counts_the_game() {
        let mut game = History::new(Chess::default(), ByColor::default());
        for san in "Nf3 Nf6 Ng1 Ng8 Nf3 Nf6 Ng1".split(' ') {
            let m = san.parse::<San>().unwrap().to_move(game.current()).unwrap();
            game.push(m, None);
        }
        let mut seen = repetitions(&game);
        let now = game.current();
        assert_eq!(ending(now, &now.legal_moves(), &seen), None);
        let mut after = now.clone();
        after.play_unchecked(San::from_ascii(b"Ng8").unwrap().to_move(now).unwrap());
        seen.push(&after);
        assert_eq!(ending(&after, &after.legal_moves(), &seen), Some(Ending::Drawn));
    }
}
