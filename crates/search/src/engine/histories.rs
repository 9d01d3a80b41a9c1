//! What the search remembers of moves, whatever the position: which ones tend to be good.

use shakmaty::{Color, Move, Role};

/// A piece and its target square: an index below [`PIECE_TOS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PieceTo(u16);

const PIECE_TOS: usize = 12 * 64;

impl PieceTo {
    pub(super) fn of(turn: Color, m: Move) -> PieceTo {
        let piece = m.role() as u16 - 1 + 6 * u16::from(turn.is_white());
        PieceTo(piece * 64 + u16::from(m.to()))
    }

    pub(super) fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// The moves one, two and four plies before, for continuation history.
pub(super) type Before = [Option<PieceTo>; 3];

/// History tables, with values between minus and plus [`LIMIT`].
pub(super) struct Histories {
    /// Butterfly history: quiet moves by colour, from and to.
    quiet: Box<[i16]>,
    /// Capture history: by piece, target square and victim.
    capture: Box<[i16]>,
    /// Continuation history: quiet moves by piece and target, after an earlier piece and target.
    continuation: Box<[i16]>,
}

/// The largest history value.
pub(super) const LIMIT: i32 = 16_384;

impl Histories {
    pub(super) fn new() -> Histories {
        let zeros = |len: usize| vec![0; len].into_boxed_slice();
        Histories {
            quiet: zeros(2 * 64 * 64),
            capture: zeros(PIECE_TOS * 6),
            continuation: zeros(PIECE_TOS * PIECE_TOS),
        }
    }

    pub(super) fn clear(&mut self) {
        self.quiet.fill(0);
        self.capture.fill(0);
        self.continuation.fill(0);
    }

    /// The history of a quiet move, up to four times [`LIMIT`].
    pub(super) fn of_quiet(&self, turn: Color, m: Move, before: &Before) -> i32 {
        let piece_to = PieceTo::of(turn, m);
        let continued: i32 = before
            .iter()
            .flatten()
            .map(|earlier| i32::from(self.continuation[continuation_index(*earlier, piece_to)]))
            .sum();
        i32::from(self.quiet[quiet_index(turn, m)]) + continued
    }

    /// The history of a capture or promotion.
    pub(super) fn of_capture(&self, turn: Color, m: Move) -> i32 {
        i32::from(self.capture[capture_index(turn, m)])
    }

    /// Adds a bonus or malus to a quiet move.
    pub(super) fn update_quiet(&mut self, turn: Color, m: Move, before: &Before, amount: i32) {
        apply_bonus(&mut self.quiet[quiet_index(turn, m)], amount, LIMIT);
        let piece_to = PieceTo::of(turn, m);
        for earlier in before.iter().flatten() {
            apply_bonus(&mut self.continuation[continuation_index(*earlier, piece_to)], amount, LIMIT);
        }
    }

    /// Adds a bonus or malus to a capture or promotion.
    pub(super) fn update_capture(&mut self, turn: Color, m: Move, amount: i32) {
        apply_bonus(&mut self.capture[capture_index(turn, m)], amount, LIMIT);
    }
}

/// The gravity formula: entries never exceed `limit`.
pub(super) fn apply_bonus(entry: &mut i16, amount: i32, limit: i32) {
    let old = i32::from(*entry);
    let amount = amount.clamp(-limit / 4, limit / 4);
    *entry = (old + amount - old * amount.abs() / limit) as i16;
}

fn quiet_index(turn: Color, m: Move) -> usize {
    let from = m.from().map_or(0, usize::from);
    (usize::from(turn.is_white()) * 64 + from) * 64 + usize::from(m.to())
}

fn capture_index(turn: Color, m: Move) -> usize {
    // A promotion that takes nothing shares a place with one that takes a pawn, which no pawn can.
    let taken = m.capture().unwrap_or(Role::Pawn) as usize - 1;
    PieceTo::of(turn, m).index() * 6 + taken
}

fn continuation_index(earlier: PieceTo, piece_to: PieceTo) -> usize {
    earlier.index() * PIECE_TOS + piece_to.index()
}

#[cfg(test)]
mod tests {
    use shakmaty::{Chess, Position};

    use super::*;

    #[test]
    fn histories_stay_within_limits() {
        let mut histories = Histories::new();
        let moves = Chess::default().legal_moves();
        let (good, bad) = (moves[0], moves[1]);
        let before = [Some(PieceTo::of(Color::Black, good)), None, None];
        for _ in 0..1000 {
            histories.update_quiet(Color::White, good, &before, 5000);
            histories.update_quiet(Color::White, bad, &before, -700);
        }
        let of = |m, before| histories.of_quiet(Color::White, m, before);
        assert!(of(good, &before) > LIMIT && of(good, &before) <= 2 * LIMIT);
        assert!(of(bad, &before) < -LIMIT && of(bad, &before) >= -2 * LIMIT);
        let elsewhere = [None; 3];
        assert!(of(good, &elsewhere) > 0 && of(good, &elsewhere) <= LIMIT);
        assert_eq!(histories.of_quiet(Color::Black, good, &before), 0);
        histories.clear();
        assert_eq!(histories.of_quiet(Color::White, good, &before), 0);
    }
}
