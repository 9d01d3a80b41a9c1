use shakmaty::{Chess, Color, Move, Position};

use crate::placement::{Placement, moved, placements, role_index};
use crate::sparse::{feature, write_dense};
use crate::{
    ElementKind, Encoding, EncodingId, FeatureList, InputSpec, Orientation, Row, Situation, SparseEncoding,
    Viewers,
};

/// Chess Challenge's 768 inputs: 12 planes of 64 squares, own P N B R Q K, then the opponent's.
///
/// Seen by the side to move: for Black ranks are flipped, files are not.
pub(crate) struct Challenge768;

/// The element of a piece in the 12 planes that `viewer` sees.
pub(super) fn index(viewer: Color, placed: Placement) -> usize {
    let theirs = if placed.piece.color == viewer { 0 } else { 6 };
    let square = Orientation::Mirrored.square(viewer, placed.square);
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

    fn sparse(&self) -> Option<&dyn SparseEncoding> {
        Some(self)
    }
}

impl SparseEncoding for Challenge768 {
    fn width(&self) -> usize {
        768
    }

    fn viewers(&self) -> Viewers {
        Viewers::Each
    }

    fn features(&self, position: &Chess, viewer: Color, out: &mut FeatureList) {
        placements(position.board()).for_each(|placed| out.push(feature(index(viewer, placed), 1)));
    }

    fn changes(&self, before: &Chess, m: Move, _after: &Chess, viewer: Color, out: &mut FeatureList) {
        let changes = moved(before.turn(), m).into_iter();
        out.extend(changes.map(|(placed, amount)| feature(index(viewer, placed), amount)));
    }
}
