use shakmaty::{Color, Move, Role};

use super::castling_spelling::distinct_squares;
use super::geometry::{promotes_down, promotes_up, queen_or_knight};
use super::{MoveVocabulary, PolicyIndex, PolicySlot, VocabularyId};
use crate::Orientation;

/// The vocabulary of Learning a Chess Policy: every possible (from, to, promotion), sorted.
///
/// 1792 from-to pairs of a queen or a knight and 176 promotions of both colours; promotions follow their plain pair in the
/// order n b r q. Castling is the king's two-square move; other castling of Chess960 is king takes rook.
pub(crate) struct Canonical1968 {
    id: &'static str,
    orientation: Orientation,
}

/// Over the plain board.
pub(crate) static CANONICAL_1968: Canonical1968 =
    Canonical1968 { id: "canonical-1968", orientation: Orientation::Absolute };

/// With ranks flipped for Black, for networks with flipped inputs.
pub(crate) static CANONICAL_1968_MOVER: Canonical1968 =
    Canonical1968 { id: "canonical-1968-mover", orientation: Orientation::Mirrored };

const WIDTH: usize = 1968;

/// The table: from, to (a1 = 0), promotion (none 0, n 1, b 2, r 3, q 4), as in the original `vocab.npy`.
pub static CANONICAL_1968_ROWS: [[u8; 3]; WIDTH] = rows();

/// The index of each plain pair, at `from * 64 + to`.
static PLAIN: [u16; 4096] = plain();

const fn rows() -> [[u8; 3]; WIDTH] {
    let mut rows = [[0; 3]; WIDTH];
    let (mut next, mut pair) = (0, 0);
    while pair < 4096 {
        let (from, to) = (pair / 64, pair % 64);
        if queen_or_knight(from, to) {
            let kinds = if promotes_up(from, to) || promotes_down(from, to) { 5 } else { 1 };
            let mut promotion = 0;
            while promotion < kinds {
                rows[next] = [from as u8, to as u8, promotion];
                promotion += 1;
                next += 1;
            }
        }
        pair += 1;
    }
    assert!(next == WIDTH);
    rows
}

const fn plain() -> [u16; 4096] {
    let rows = rows();
    let mut plain = [u16::MAX; 4096];
    let mut i = 0;
    while i < WIDTH {
        let [from, to, promotion] = rows[i];
        if promotion == 0 {
            plain[from as usize * 64 + to as usize] = i as u16;
        }
        i += 1;
    }
    plain
}

impl MoveVocabulary for Canonical1968 {
    fn id(&self) -> VocabularyId {
        VocabularyId(self.id)
    }

    fn width(&self) -> usize {
        WIDTH
    }

    fn orientation(&self) -> Orientation {
        self.orientation
    }

    fn slot(&self, turn: Color, m: Move) -> PolicySlot {
        let (from, to) = distinct_squares(m);
        let [from, to] = [from, to].map(|square| usize::from(self.orientation.square(turn, square)));
        let promotion = match m.promotion() {
            None => 0,
            Some(Role::Knight) => 1,
            Some(Role::Bishop) => 2,
            Some(Role::Rook) => 3,
            Some(_) => 4,
        };
        PolicySlot { index: PolicyIndex(PLAIN[from * 64 + to] + promotion), promotion: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_has_176_promotions() {
        assert!(CANONICAL_1968_ROWS.is_sorted());
        assert_eq!(CANONICAL_1968_ROWS.iter().filter(|row| row[2] > 0).count(), 176);
        assert_eq!(CANONICAL_1968_ROWS[0], [0, 1, 0]); // a1b1
        assert_eq!(CANONICAL_1968_ROWS[WIDTH - 1], [63, 62, 0]); // h8g8
    }
}
