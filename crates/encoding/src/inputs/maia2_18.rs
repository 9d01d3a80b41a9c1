use shakmaty::{EnPassantMode, Position};

use super::challenge_768::index;
use super::maia3::ratings;
use crate::placement::{placements, rights_of};
use crate::{
    ElementKind, Elo, Encoding, EncodingId, InputSpec, Orientation, Row, Situation, Unit, ValueConvention,
    VocabularyId,
};

/// Maia-2's 18 planes of the current position as the side to move sees it (ranks flipped for Black), and the rating groups of
/// the mover and the opponent.
///
/// The planes are own P N B R Q K, the opponent's, ones, castling rights (own king side, queen side, the opponent's king side,
/// queen side), and the en passant square if it can be captured on. The groups are 0 (below 1100), 1 (1100 to 1199) to 9
/// (1900 to 1999) and 10 (from 2000). Unknown ratings count as in `maia3-96`.
pub(crate) struct Maia218;

const TURN: usize = 12;
const EN_PASSANT: usize = 17;

/// Maia-2's group of a rating.
fn group(rating: Elo) -> i32 {
    match rating.0 {
        ..1100 => 0,
        1100..2000 => i32::from((rating.0 - 1000) / 100),
        2000.. => 10,
    }
}

impl Encoding for Maia218 {
    fn id(&self) -> EncodingId {
        EncodingId("maia2-18")
    }

    fn inputs(&self) -> &'static [InputSpec] {
        &[
            InputSpec { name: "boards", shape: &[18, 8, 8], kind: ElementKind::Value },
            InputSpec { name: "elo_self", shape: &[], kind: ElementKind::Id },
            InputSpec { name: "elo_oppo", shape: &[], kind: ElementKind::Id },
        ]
    }

    fn encode(&self, situation: &Situation<'_>, row: &mut Row<'_>) {
        let position = situation.position;
        let mover = position.turn();
        let planes = row.values(0);
        for placed in placements(position.board()) {
            planes[index(mover, placed)] = 1.0;
        }
        planes[TURN * 64..][..64].fill(1.0);
        let rights = [rights_of(position, mover), rights_of(position, !mover)].concat();
        for (plane, right) in planes[(TURN + 1) * 64..].chunks_exact_mut(64).zip(rights) {
            plane.fill(f32::from(u8::from(right)));
        }
        if let Some(square) = position.ep_square(EnPassantMode::Legal) {
            let square = Orientation::Mirrored.square(mover, square);
            planes[EN_PASSANT * 64 + usize::from(square)] = 1.0;
        }
        for (input, rating) in ratings(situation).into_iter().enumerate() {
            row.ids(1 + input)[0] = group(rating);
        }
    }

    fn system(&self) -> Option<&'static str> {
        Some("Maia-2")
    }

    fn default_vocabulary(&self) -> Option<VocabularyId> {
        Some(VocabularyId("maia2-1880"))
    }

    fn value_convention(&self) -> ValueConvention {
        ValueConvention { unit: Unit::Expectation, ..ValueConvention::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_hundreds_between_1100_and_2000() {
        let groups = [0, 1099, 1100, 1199, 1200, 1999, 2000, 3000].map(|elo| group(Elo(elo)));
        assert_eq!(groups, [0, 0, 1, 1, 2, 9, 10, 10]);
    }
}
