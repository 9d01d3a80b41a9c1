use shakmaty::{Chess, Position};

use crate::placement::{placements, role_index};
use crate::{
    ElementKind, Elo, Encoding, EncodingId, InputSpec, Orientation, OutcomeOrder, Row, Situation,
    VocabularyId,
};

/// Maia-3's squares and ratings: for each square (a1 = 0) and board a one-hot of 12, own P N B R Q K, then the opponent's;
/// then the ratings of the mover and of the opponent as whole numbers, at most 5000.
///
/// Boards are oldest first. Each is seen by *its own* side to move (ranks flipped for Black), so that consecutive boards
/// change sides. Where the history is shorter, the earliest board is repeated. An unknown rating of the mover counts as 1500,
/// as in Maia-3's own engine; an unknown opponent is taken to be rated like the mover.
pub(crate) struct Maia3 {
    id: &'static str,
    boards: usize,
    inputs: &'static [InputSpec],
}

/// The last 8 boards: Maia-3 as it is trained.
pub(crate) static MAIA3_96: Maia3 = Maia3 { id: "maia3-96", boards: 8, inputs: &inputs(&[64, 96]) };

/// The current board alone: networks exported with the repetition inside.
pub(crate) static MAIA3_12: Maia3 = Maia3 { id: "maia3-12", boards: 1, inputs: &inputs(&[64, 12]) };

const PIECES: usize = 12;
const UNKNOWN_RATING: Elo = Elo(1500);
const MAX_RATING: u16 = 5000;

const fn inputs(squares: &'static [usize]) -> [InputSpec; 3] {
    [
        InputSpec { name: "tokens", shape: squares, kind: ElementKind::Value },
        InputSpec { name: "self_elo", shape: &[], kind: ElementKind::Id },
        InputSpec { name: "oppo_elo", shape: &[], kind: ElementKind::Id },
    ]
}

/// The ratings of both players, with what is unknown filled in.
pub(super) fn ratings(situation: &Situation<'_>) -> [Elo; 2] {
    let own = situation.mover.rating.unwrap_or(UNKNOWN_RATING);
    [own, situation.opponent.rating.unwrap_or(own)]
}

impl Encoding for Maia3 {
    fn id(&self) -> EncodingId {
        EncodingId(self.id)
    }

    fn inputs(&self) -> &'static [InputSpec] {
        self.inputs
    }

    fn history(&self) -> u32 {
        self.boards as u32 - 1
    }

    fn encode(&self, situation: &Situation<'_>, row: &mut Row<'_>) {
        let earliest = situation.earlier.last().unwrap_or(situation.position);
        let newest_first =
            std::iter::once(situation.position).chain(situation.earlier).chain(std::iter::repeat(earliest));
        let tokens = row.values(0);
        for (slot, board) in (0..self.boards).rev().zip(newest_first) {
            write_board(board, |square, piece| {
                tokens[(square * self.boards + slot) * PIECES + piece] = 1.0;
            });
        }
        for (input, rating) in ratings(situation).into_iter().enumerate() {
            row.ids(1 + input)[0] = i32::from(rating.0.min(MAX_RATING));
        }
    }

    fn system(&self) -> Option<&'static str> {
        Some("Maia-3")
    }

    fn default_vocabulary(&self) -> Option<VocabularyId> {
        Some(VocabularyId("maia3-4352"))
    }

    fn outcome_order(&self) -> OutcomeOrder {
        OutcomeOrder::LossDrawWin
    }

    /// The single number beside the outcome is the time to think.
    fn has_value_heads(&self) -> bool {
        false
    }
}

fn write_board(board: &Chess, mut put: impl FnMut(usize, usize)) {
    let mover = board.turn();
    for placed in placements(board.board()) {
        let square = Orientation::Mirrored.square(mover, placed.square);
        let theirs = if placed.piece.color == mover { 0 } else { 6 };
        put(usize::from(square), theirs + role_index(placed.piece.role));
    }
}
