use shakmaty::{Color, Move};

use super::castling_spelling::distinct_squares;
use super::geometry::{PAIRS, Targets, pair_indices, promotion_number};
use super::maia3_4352::queen_first;
use super::{MoveVocabulary, PolicyIndex, PolicySlot, VocabularyId};
use crate::Orientation;

/// Maia-2's vocabulary: for each square from a1 the moves of a queen, then of a knight, their targets from h8 down to a1;
/// then 88 promotions from a7 to h7, each straight, to the left and to the right, as q r b n.
///
/// Ranks are flipped for Black. Castling is the king's two-square move; other castling of Chess960 is king takes rook.
pub(crate) struct Maia21880;

/// The index of each pair, at `from * 64 + to`.
static PLAIN: [u16; 4096] = pair_indices(Targets::FromH8);

impl MoveVocabulary for Maia21880 {
    fn id(&self) -> VocabularyId {
        VocabularyId("maia2-1880")
    }

    fn width(&self) -> usize {
        1880
    }

    fn orientation(&self) -> Orientation {
        Orientation::Mirrored
    }

    fn slot(&self, turn: Color, m: Move) -> PolicySlot {
        let (from, to) = distinct_squares(m);
        let [from, to] = [from, to].map(|square| self.orientation().square(turn, square));
        let index = match m.promotion() {
            None => PLAIN[usize::from(from) * 64 + usize::from(to)],
            Some(role) => PAIRS + 4 * promotion_number(from.file(), to.file()) + queen_first(role),
        };
        PolicySlot { index: PolicyIndex(index), promotion: None }
    }
}
