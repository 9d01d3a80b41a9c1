use shakmaty::{Chess, EnPassantMode, Position, zobrist::Zobrist64};

use crate::{DrawReason, Outcome, WinReason};

/// Hashes of the positions of a game, to count repetitions.
///
/// Two positions are the same when the board, the side to move, the castling rights and the *legal* en passant
/// captures are. A search can push and pop on top of the game's own positions.
#[derive(Clone, Debug, Default)]
pub struct Repetitions {
    seen: Vec<Seen>,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    key: Zobrist64,
    /// Plies since the last capture or pawn move: nothing before them can be the same position.
    reversible: u32,
}

impl Repetitions {
    /// A game that starts from this position.
    pub fn from_start(position: &Chess) -> Repetitions {
        let mut repetitions = Repetitions::default();
        repetitions.push(position);
        repetitions
    }

    /// A move led to this position.
    pub fn push(&mut self, position: &Chess) {
        self.push_hashed(position.zobrist_hash(EnPassantMode::Legal), position.halfmoves());
    }

    /// [`push`](Self::push) for a caller that already has the hash and the halfmove clock of the position. The hash must be of
    /// [`EnPassantMode::Legal`], unless all positions of the game are given by hashes of another mode.
    pub fn push_hashed(&mut self, key: Zobrist64, halfmoves: u32) {
        self.seen.push(Seen { key, reversible: halfmoves });
    }

    /// Undoes the last move.
    pub fn pop(&mut self) {
        self.seen.pop();
    }

    /// Number of occurrences of the current position; 0 without positions.
    pub fn count(&self) -> u32 {
        let Some((current, earlier)) = self.seen.split_last() else { return 0 };
        let window = (current.reversible as usize).min(earlier.len());
        // Only every second position has the same side to move.
        let same = earlier
            .iter()
            .rev()
            .take(window)
            .skip(1)
            .step_by(2)
            .filter(|seen| seen.key == current.key)
            .count();
        1 + u32::try_from(same).expect("no more repetitions than halfmoves")
    }

    /// The hashes of all positions, oldest first.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = Zobrist64> + ExactSizeIterator {
        self.seen.iter().map(|seen| seen.key)
    }
}

/// The state of a game by the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The game goes on; the side to move may claim a draw for the reason given.
    Ongoing {
        /// [`DrawReason::ThreefoldRepetition`] or [`DrawReason::FiftyMoves`], when one applies.
        claim: Option<DrawReason>,
    },
    /// The game ended by itself.
    Over(Outcome),
}

impl Status {
    /// The outcome if every possible draw is claimed, as in engine matches.
    pub fn outcome_with_claims(self) -> Option<Outcome> {
        match self {
            Status::Ongoing { claim } => claim.map(Outcome::Draw),
            Status::Over(outcome) => Some(outcome),
        }
    }
}

/// The status by the rules of chess. `repetitions` ends with `position`.
///
/// Mate takes precedence over the seventy-five-move rule.
pub fn status(position: &Chess, repetitions: &Repetitions) -> Status {
    let draw = |reason| Status::Over(Outcome::Draw(reason));
    if position.legal_moves().is_empty() {
        return if position.is_check() {
            Status::Over(Outcome::Win { winner: !position.turn(), by: WinReason::Checkmate })
        } else {
            draw(DrawReason::Stalemate)
        };
    }
    let repeated = repetitions.count();
    if position.is_insufficient_material() {
        draw(DrawReason::InsufficientMaterial)
    } else if repeated >= 5 {
        draw(DrawReason::FivefoldRepetition)
    } else if position.halfmoves() >= 150 {
        draw(DrawReason::SeventyFiveMoves)
    } else if repeated >= 3 {
        Status::Ongoing { claim: Some(DrawReason::ThreefoldRepetition) }
    } else if position.halfmoves() >= 100 {
        Status::Ongoing { claim: Some(DrawReason::FiftyMoves) }
    } else {
        Status::Ongoing { claim: None }
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::san::San;

    use super::*;
    use crate::position_from_fen;

    /// Plays the moves and gives the status after each.
    fn statuses(fen: &str, moves: &str) -> Vec<Status> {
        let mut position = position_from_fen(fen).unwrap();
        let mut repetitions = Repetitions::from_start(&position);
        moves
            .split_whitespace()
            .map(|san| {
                let m = san.parse::<San>().unwrap().to_move(&position).unwrap();
                position.play_unchecked(m);
                repetitions.push(&position);
                status(&position, &repetitions)
            })
            .collect()
    }

    const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    const ONGOING: Status = Status::Ongoing { claim: None };

    #[test]
    fn threefold_can_be_claimed_and_fivefold_ends_the_game() {
        let shuffle = "Nf3 Nf6 Ng1 Ng8 ".repeat(4);
        let statuses = statuses(START, &shuffle);
        let claim = Status::Ongoing { claim: Some(DrawReason::ThreefoldRepetition) };
        assert_eq!(statuses[3], ONGOING, "the start position for the second time");
        assert_eq!(statuses[7], claim, "for the third time");
        assert_eq!(statuses[7].outcome_with_claims(), Some(Outcome::Draw(DrawReason::ThreefoldRepetition)));
        assert_eq!(statuses[14], claim, "fourth time after Ng1");
        assert_eq!(statuses[15], Status::Over(Outcome::Draw(DrawReason::FivefoldRepetition)));
    }

    #[test]
    fn a_useless_en_passant_square_does_not_change_the_position() {
        // After e4 no black pawn stands beside it, so the position recurs although the first had a double step.
        let plain = statuses(START, "e4 Nf6 Nf3 Ng8 Ng1 Nf6 Nf3 Ng8 Ng1");
        assert_eq!(plain[8], Status::Ongoing { claim: Some(DrawReason::ThreefoldRepetition) });
        // With a black pawn on d4 the first occurrence had a capture more.
        let capture = "rnbqkbnr/ppp1pppp/8/8/3p4/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
        let legal = statuses(capture, "e4 Nf6 Nf3 Ng8 Ng1 Nf6 Nf3 Ng8 Ng1");
        assert_eq!(legal[8], ONGOING);
    }

    #[test]
    fn castling_rights_change_the_position() {
        let statuses =
            statuses("4k3/8/8/8/8/8/4P3/4K2R w K - 0 1", "Rg1 Ke7 Rh1 Ke8 Rg1 Ke7 Rh1 Ke8 Rg1 Ke7 Rh1 Ke8");
        assert_eq!(statuses[7], ONGOING, "the board for the third time, but the first had a castling right");
        assert_eq!(statuses[11], Status::Ongoing { claim: Some(DrawReason::ThreefoldRepetition) });
    }

    #[test]
    fn fifty_moves_can_be_claimed_and_seventy_five_end_the_game() {
        let at = |halfmoves: u32| {
            let position = position_from_fen(&format!("8/8/4k3/8/8/3QK3/8/8 w - - {halfmoves} 90")).unwrap();
            status(&position, &Repetitions::from_start(&position))
        };
        assert_eq!(at(99), ONGOING);
        assert_eq!(at(100), Status::Ongoing { claim: Some(DrawReason::FiftyMoves) });
        assert_eq!(at(150), Status::Over(Outcome::Draw(DrawReason::SeventyFiveMoves)));
    }

    #[test]
    fn mate_and_stalemate_take_precedence() {
        let mate = position_from_fen("7k/6Q1/5K2/8/8/8/8/8 b - - 150 120").unwrap();
        let won = Outcome::Win { winner: shakmaty::Color::White, by: WinReason::Checkmate };
        assert_eq!(status(&mate, &Repetitions::from_start(&mate)), Status::Over(won));
        let stalemate = position_from_fen("7k/5Q2/5K2/8/8/8/8/8 b - - 0 1").unwrap();
        let drawn = Status::Over(Outcome::Draw(DrawReason::Stalemate));
        assert_eq!(status(&stalemate, &Repetitions::from_start(&stalemate)), drawn);
    }

    #[test]
    fn bare_kings_are_a_draw() {
        let statuses = statuses("8/8/4k3/8/8/3qK3/8/8 w - - 0 1", "Kxd3");
        assert_eq!(statuses, [Status::Over(Outcome::Draw(DrawReason::InsufficientMaterial))]);
    }

    #[test]
    fn undo_restores_the_count() {
        let position = Chess::default();
        let mut repetitions = Repetitions::from_start(&position);
        repetitions.push_hashed(Zobrist64(1), 1);
        repetitions.push_hashed(position.zobrist_hash(EnPassantMode::Legal), 2);
        assert_eq!(repetitions.count(), 2);
        repetitions.pop();
        repetitions.pop();
        assert_eq!((repetitions.count(), repetitions.keys().len()), (1, 1));
    }
}
