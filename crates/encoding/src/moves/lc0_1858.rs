use shakmaty::{Color, Move, Role};

use super::geometry::queen_or_knight;
use super::{CastlingSpelling, MoveVocabulary, PolicyIndex, PolicySlot, VocabularyId};
use crate::Orientation;

/// lc0's vocabulary: 1792 from-to pairs of a queen or a knight, sorted by squares, then 66 promotions.
///
/// Ranks are flipped for Black. Promotions are those of a7-h7, sorted by squares, each as q r b; a knight promotion is the
/// plain pair. Castling is the king taking its own rook.
pub(crate) struct Lc01858;

const PAIRS: u16 = 1792;

/// The index of each pair, at `from * 64 + to`.
static PLAIN: [u16; 4096] = plain();

const fn plain() -> [u16; 4096] {
    let mut plain = [u16::MAX; 4096];
    let (mut next, mut pair) = (0, 0);
    while pair < 4096 {
        if queen_or_knight(pair / 64, pair % 64) {
            plain[pair] = next;
            next += 1;
        }
        pair += 1;
    }
    assert!(next == PAIRS);
    plain
}

impl MoveVocabulary for Lc01858 {
    fn id(&self) -> VocabularyId {
        VocabularyId("lc0-1858")
    }

    fn width(&self) -> usize {
        1858
    }

    fn orientation(&self) -> Orientation {
        Orientation::Mirrored
    }

    fn slot(&self, turn: Color, m: Move) -> PolicySlot {
        let (from, to) = CastlingSpelling::KingTakesRook.squares(m);
        let [from, to] = [from, to].map(|square| self.orientation().square(turn, square));
        let piece = match m.promotion() {
            None | Some(Role::Knight) => None,
            Some(Role::Queen) => Some(0),
            Some(Role::Rook) => Some(1),
            Some(_) => Some(2),
        };
        let index = match piece {
            None => PLAIN[usize::from(from) * 64 + usize::from(to)],
            Some(piece) => {
                // The middle pair of a file is number 3 * file: a7 lacks the left one.
                let pair = 2 * from.file() as u16 + to.file() as u16;
                PAIRS + 3 * pair + piece
            }
        };
        PolicySlot { index: PolicyIndex(index), promotion: None }
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::Position;

    use super::*;
    use crate::parse_uci;
    use crate::test_positions::position;

    fn index(fen: &str, uci: &str) -> u16 {
        let position = position(fen);
        Lc01858.slot(position.turn(), parse_uci(&position, uci).unwrap()).index.0
    }

    #[test]
    fn indices_match_the_public_table() {
        let kings = "8/8/8/7k/8/8/4K3/Q7 w - - 0 1";
        assert_eq!(index(kings, "a1b1"), 0);
        assert_eq!(index(kings, "a1a2"), 7);
        assert_eq!(index(kings, "a1d4"), 14);
        assert_eq!(index(kings, "a1a8"), 21);
        let castling = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1";
        assert_eq!(index(castling, "e1g1"), 103); // e1h1
        assert_eq!(index(castling, "e1c1"), 97); // e1a1
        let black = "r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1";
        assert_eq!(index(black, "e8g8"), 103);
        assert_eq!(index(black, "a8b8"), 0);
    }

    #[test]
    fn promotions_are_the_last_66() {
        let fen = "1n4n1/P6P/8/8/4k3/8/4K3/8 w - - 0 1";
        assert_eq!(["a7a8q", "a7a8r", "a7a8b", "a7b8q"].map(|uci| index(fen, uci)), [1792, 1793, 1794, 1795]);
        assert_eq!(["h7h8q", "h7h8r", "h7h8b"].map(|uci| index(fen, uci)), [1855, 1856, 1857]);
        assert!(index(fen, "h7h8n") < 1792);
    }
}
