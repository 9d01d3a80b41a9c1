use shakmaty::{Chess, Color, Move, Position, Square};

use crate::placement::{Placement, moved, placements, role_index};
use crate::sparse::{feature, write_dense};
use crate::{
    ElementKind, Encoding, EncodingId, FeatureList, InputSpec, Orientation, Perspectives, Row, Situation,
    SparseEncoding,
};

/// Chess Challenge's 768 inputs: 12 planes of 64 squares, own P N B R Q K, then the opponent's; ranks flipped for Black.
pub(crate) struct Challenge768;

/// The feature index of a piece from a perspective.
pub(super) fn index(perspective: Color, placed: Placement) -> usize {
    let theirs = if placed.piece.color == perspective { 0 } else { 6 };
    let square = Orientation::Mirrored.square(perspective, placed.square);
    (theirs + role_index(placed.piece.role)) * 64 + usize::from(square)
}

impl Encoding for Challenge768 {
    fn id(&self) -> EncodingId {
        EncodingId("challenge-768")
    }

    fn inputs(&self) -> &'static [InputSpec] {
        &[InputSpec { name: "board", shape: &[768], kind: ElementKind::Value }]
    }

    fn encode(&self, situation: &Situation<'_>, row: &mut Row<'_>) {
        write_dense(self, situation.position, row.values(0));
    }

    fn is_challenge(&self) -> bool {
        true
    }

    fn sparse(&self) -> Option<&dyn SparseEncoding> {
        Some(self)
    }
}

impl SparseEncoding for Challenge768 {
    fn width(&self) -> usize {
        768
    }

    fn perspectives(&self) -> Perspectives {
        Perspectives::PerSide
    }

    fn other_view(&self) -> Option<Vec<u16>> {
        let place = |element: u16| {
            let (plane, square) = (element / 64, Square::new(u32::from(element % 64)));
            (plane + 6) % 12 * 64 + u16::from(Orientation::Mirrored.square(Color::Black, square))
        };
        Some((0..768).map(place).collect())
    }

    fn features(&self, position: &Chess, perspective: Color, out: &mut FeatureList) {
        placements(position.board()).for_each(|placed| out.push(feature(index(perspective, placed), 1)));
    }

    fn changes(&self, before: &Chess, m: Move, _after: &Chess, perspective: Color, out: &mut FeatureList) {
        let changes = moved(before.turn(), m).into_iter();
        out.extend(changes.map(|(placed, amount)| feature(index(perspective, placed), amount)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_positions::{dense_values, position};

    #[test]
    fn other_view_matches_the_swapped_turn() {
        for fen in [
            "rnbqkbnr/pp1ppppp/8/2p5/4P3/5N2/PPPP1PPP/RNBQKB1R b KQkq - 1 2",
            "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
        ] {
            let before = position(fen);
            let passed = before.clone().swap_turn().expect("neither side is in check");
            let own = dense_values(&Challenge768, &Situation::of(&before));
            let other = Challenge768.other_view().expect("there is one");
            let theirs: Vec<f32> = other.iter().map(|&place| own[usize::from(place)]).collect();
            assert_eq!(theirs, dense_values(&Challenge768, &Situation::of(&passed)));
        }
    }
}
