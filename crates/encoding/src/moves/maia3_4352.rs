use shakmaty::{Color, Move, Role};

use super::castling_spelling::distinct_squares;
use super::from_to_4096::from_to_index;
use super::{MoveVocabulary, PolicyIndex, PolicySlot, VocabularyId};
use crate::Orientation;

/// Maia-3's vocabulary: `from * 64 + to`, then the promotions as `4096 + from file * 32 + to file * 4 + piece`, q r b n = 0..3.
///
/// Ranks are flipped for Black. Castling is the king's two-square move; other castling of Chess960 is king takes rook.
pub(crate) struct Maia34352;

const PAIRS: u16 = 4096;

impl MoveVocabulary for Maia34352 {
    fn id(&self) -> VocabularyId {
        VocabularyId("maia3-4352")
    }

    fn width(&self) -> usize {
        4352
    }

    fn orientation(&self) -> Orientation {
        Orientation::Mirrored
    }

    fn slot(&self, turn: Color, m: Move) -> PolicySlot {
        let index = match m.promotion() {
            None => from_to_index(self.orientation(), turn, m),
            Some(role) => {
                let (from, to) = distinct_squares(m);
                PAIRS + from.file() as u16 * 32 + to.file() as u16 * 4 + queen_first(role)
            }
        };
        PolicySlot { index: PolicyIndex(index), promotion: None }
    }
}

/// The place of a promotion piece in the order q r b n.
pub(super) fn queen_first(role: Role) -> u16 {
    match role {
        Role::Queen => 0,
        Role::Rook => 1,
        Role::Bishop => 2,
        _ => 3,
    }
}
