use shakmaty::{Color, Move};

use super::castling_spelling::distinct_squares;
use super::geometry::{PAIRS, Targets, pair_indices, promotion_number};
use super::maia3_4352::queen_first;
use super::{MoveVocabulary, PolicyIndex, PolicySlot, VocabularyId};
use crate::Orientation;

/// The actions of DeepMind's searchless networks: for each square from a1 the moves of a queen, then of a knight, their targets
/// from a1 up; then 88 promotions of Black and 88 of White by file, each straight, to the left and to the right, as q r b n.
///
/// Squares are those of the board. Castling is the king's two-square move; other castling of Chess960 is king takes rook.
pub(crate) struct Searchless1968;

const PROMOTIONS: u16 = 88;

/// The index of each pair, at `from * 64 + to`.
static PLAIN: [u16; 4096] = pair_indices(Targets::FromA1);

impl MoveVocabulary for Searchless1968 {
    fn id(&self) -> VocabularyId {
        VocabularyId("searchless-1968")
    }

    fn width(&self) -> usize {
        1968
    }

    fn orientation(&self) -> Orientation {
        Orientation::Absolute
    }

    fn slot(&self, turn: Color, m: Move) -> PolicySlot {
        let (from, to) = distinct_squares(m);
        let index = match m.promotion() {
            None => PLAIN[usize::from(from) * 64 + usize::from(to)],
            Some(role) => {
                let first = PAIRS + turn.fold_wb(PROMOTIONS, 0);
                first + 4 * promotion_number(from.file(), to.file()) + queen_first(role)
            }
        };
        PolicySlot { index: PolicyIndex(index), promotion: None }
    }
}
