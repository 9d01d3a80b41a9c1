use shakmaty::{Chess, Color, Move, Position};

use crate::placement::{Placement, moved, placements, role_index};
use crate::sparse::{feature, write_dense};
use crate::{
    ElementKind, Encoding, EncodingId, FeatureList, InputSpec, Perspective, Perspectives, Row, Situation,
    SparseEncoding, Unit, ValueConvention,
};

/// The inputs of a two-input model.tflite: 769 numbers for the context, then 769 for the position to evaluate.
///
/// The plain board in FEN order (a8 = 0, h1 = 63), one plane of 64 after the other: Black's p n b r q k, then White's.
/// The last element is 1 if Black is to move. Without a context the position is its own.
pub(crate) struct Pair769;

const BLACK_TO_MOVE: usize = 768;

fn index(placed: Placement) -> usize {
    let plane = placed.piece.color.fold_wb(6, 0) + role_index(placed.piece.role);
    plane * 64 + usize::from(placed.square.flip_vertical())
}

impl Encoding for Pair769 {
    fn id(&self) -> EncodingId {
        EncodingId("pair-769")
    }

    fn inputs(&self) -> &'static [InputSpec] {
        &[
            InputSpec { name: "context", shape: &[769], kind: ElementKind::Value },
            InputSpec { name: "position", shape: &[769], kind: ElementKind::Value },
        ]
    }

    fn encode(&self, situation: &Situation<'_>, row: &mut Row<'_>) {
        write_dense(self, situation.context.unwrap_or(situation.position), row.values(0));
        write_dense(self, situation.position, row.values(1));
    }

    fn value_convention(&self) -> ValueConvention {
        ValueConvention { unit: Unit::Probability(1000.0), perspective: Perspective::ContextMover }
    }

    fn sparse(&self) -> Option<&dyn SparseEncoding> {
        Some(self)
    }
}

/// The vector of either input; a search keeps the context fixed and updates the position.
impl SparseEncoding for Pair769 {
    fn width(&self) -> usize {
        769
    }

    fn input(&self) -> usize {
        1
    }

    fn perspectives(&self) -> Perspectives {
        Perspectives::Shared
    }

    fn features(&self, position: &Chess, _perspective: Color, out: &mut FeatureList) {
        out.extend(placements(position.board()).map(|placed| feature(index(placed), 1)));
        if position.turn() == Color::Black {
            out.push(feature(BLACK_TO_MOVE, 1));
        }
    }

    fn changes(&self, before: &Chess, m: Move, _after: &Chess, _perspective: Color, out: &mut FeatureList) {
        out.extend(
            moved(before.turn(), m).into_iter().map(|(placed, amount)| feature(index(placed), amount)),
        );
        out.push(feature(BLACK_TO_MOVE, before.turn().fold_wb(1, -1)));
    }
}
