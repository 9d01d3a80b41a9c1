use shakmaty::{Color, Move, Role};

use super::castling_spelling::distinct_squares;
use super::{MoveVocabulary, PolicyIndex, PolicySlot, VocabularyId};
use crate::Orientation;

/// HumChess's vocabulary: `from * 64 + to`, with a separate promotion head, q r b n = 0..3.
///
/// Castling is the king's two-square move; other castling of Chess960 is king takes rook. With [`Orientation::Rotated`]
/// Black's king starts on d1, so that O-O is d1b1 and O-O-O is d1f1.
pub(crate) struct FromTo4096 {
    id: &'static str,
    orientation: Orientation,
}

pub(crate) static FROM_TO_4096: FromTo4096 =
    FromTo4096 { id: "from-to-4096", orientation: Orientation::Rotated };

pub(crate) static FROM_TO_4096_MIRRORED: FromTo4096 =
    FromTo4096 { id: "from-to-4096-mirrored", orientation: Orientation::Mirrored };

/// `from * 64 + to` from `viewer`'s side, castling as in the vocabulary.
pub(crate) fn from_to_index(orientation: Orientation, viewer: Color, m: Move) -> u16 {
    let (from, to) = distinct_squares(m);
    let [from, to] = [from, to].map(|square| u16::from(orientation.square(viewer, square)));
    from * 64 + to
}

impl MoveVocabulary for FromTo4096 {
    fn id(&self) -> VocabularyId {
        VocabularyId(self.id)
    }

    fn width(&self) -> usize {
        4096
    }

    fn promotion_width(&self) -> usize {
        4
    }

    fn orientation(&self) -> Orientation {
        self.orientation
    }

    fn slot(&self, turn: Color, m: Move) -> PolicySlot {
        let promotion = m.promotion().map(|role| match role {
            Role::Queen => 0,
            Role::Rook => 1,
            Role::Bishop => 2,
            _ => 3,
        });
        PolicySlot { index: PolicyIndex(from_to_index(self.orientation, turn, m)), promotion }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_uci;
    use crate::test_positions::position;

    fn index(fen: &str, uci: &str) -> PolicySlot {
        let position = position(fen);
        FROM_TO_4096.slot(shakmaty::Position::turn(&position), parse_uci(&position, uci).unwrap())
    }

    #[test]
    fn black_castles_from_d1() {
        let fen = "r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1";
        assert_eq!(index(fen, "e8g8").index.0, 3 * 64 + 1); // d1b1
        assert_eq!(index(fen, "e8c8").index.0, 3 * 64 + 5); // d1f1
        assert_eq!(index(fen, "e8h8"), index(fen, "e8g8"));
    }

    #[test]
    fn promotions_share_a_move_index() {
        let fen = "8/4P1k1/8/8/8/8/6K1/8 w - - 0 1";
        let slots = ["e7e8q", "e7e8r", "e7e8b", "e7e8n"].map(|uci| index(fen, uci));
        assert_eq!(slots.map(|slot| slot.index.0), [52 * 64 + 60; 4]);
        assert_eq!(slots.map(|slot| slot.promotion), [0, 1, 2, 3].map(Some));
    }
}
