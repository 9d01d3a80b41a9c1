use shakmaty::Position;

use crate::placement::{placements, rights_of, role_index};
use crate::{
    ElementKind, Elo, Encoding, EncodingId, InputSpec, Orientation, Row, Situation, VocabularyId,
    rating_bucket, time_bucket,
};

/// HumChess's 68 tokens: CLS, the 64 squares, castling rights, and the mover's rating and time left.
///
/// From the perspective of the side to move: for Black the board is rotated by 180 degrees and colours are swapped. A square is 0 when empty, 1-6 for the mover's P N B R Q K, 7-12 for the opponent's. An unknown rating counts
/// as 1500, as on HumChess's own page; an unknown clock has its own token. En passant is not encoded.
pub(crate) struct HumChess68;

pub(crate) const LEN: usize = 68;

pub(crate) const CLS: i32 = 13;
pub(crate) const CASTLING: i32 = 14;
pub(crate) const RATING: i32 = 30;
pub(crate) const TIME: i32 = 47;
const UNKNOWN_RATING: Elo = Elo(1500);

impl Encoding for HumChess68 {
    fn id(&self) -> EncodingId {
        EncodingId("humchess-68")
    }

    fn inputs(&self) -> &'static [InputSpec] {
        &[InputSpec { name: "tokens", shape: &[LEN], kind: ElementKind::Id }]
    }

    fn encode(&self, situation: &Situation<'_>, row: &mut Row<'_>) {
        write_tokens(situation, row.ids(0));
    }

    fn default_vocabulary(&self) -> Option<VocabularyId> {
        Some(VocabularyId("from-to-4096"))
    }
}

/// Writes the 68 tokens to the front of `ids`.
pub(crate) fn write_tokens(situation: &Situation<'_>, ids: &mut [i32]) {
    let position = situation.position;
    let mover = position.turn();
    ids[0] = CLS;
    for placed in placements(position.board()) {
        let square = Orientation::Rotated.square(mover, placed.square);
        let theirs = if placed.piece.color == mover { 0 } else { 6 };
        ids[1 + usize::from(square)] = 1 + theirs + role_index(placed.piece.role) as i32;
    }
    let [king_side, queen_side] = rights_of(position, mover).map(i32::from);
    let [their_king_side, their_queen_side] = rights_of(position, !mover).map(i32::from);
    ids[65] = CASTLING + king_side * 8 + queen_side * 4 + their_king_side * 2 + their_queen_side;
    ids[66] = RATING + i32::from(rating_bucket(situation.mover.rating.unwrap_or(UNKNOWN_RATING)));
    ids[67] = TIME + i32::from(time_bucket(situation.mover.time_left));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_positions::{dense_ids, position};

    #[test]
    fn black_king_stands_on_d1() {
        let black = position("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b Kkq - 0 1");
        let ids = dense_ids(&HumChess68, &Situation::of(&black));
        assert_eq!(ids[..9], [13, 4, 2, 3, 6, 5, 3, 2, 4]); // Black's first rank, h8 first
        assert_eq!(ids[1 + 35], 7); // White's e4 pawn on d5
        assert_eq!(ids[65..], [14 + 8 + 4 + 2, 36, 65]);
    }
}
