use shakmaty::{Chess, Color, Move, Position};

use crate::placement::{Placement, castling_rights, moved, placements, role_index};
use crate::sparse::{feature, write_dense};
use crate::{
    ElementKind, Encoding, EncodingId, FeatureList, InputSpec, Perspective, Perspectives, Row, Situation,
    SparseEncoding, ValueConvention,
};

/// Rusty Chess's 774 inputs: White to move, Black to move, the castling rights WK WQ BK BQ, then 12 channels for each
/// square.
///
/// The plain board, a1 = 0. Within a square Black's P N B R Q K come first, then White's.
pub(crate) struct Rusty774;

/// Elements before those of the squares.
pub(super) const HEAD: usize = 6;

/// The channel of a piece within its square.
pub(super) fn channel(placed: Placement) -> usize {
    placed.piece.color.fold_wb(6, 0) + role_index(placed.piece.role)
}

/// The non-zero elements before those of the squares.
pub(super) fn head(position: &Chess, out: &mut FeatureList) {
    out.push(feature(position.turn().fold_wb(0, 1), 1));
    for (i, right) in castling_rights(position).into_iter().enumerate() {
        if right {
            out.push(feature(2 + i, 1));
        }
    }
}

fn index(placed: Placement) -> usize {
    HEAD + usize::from(placed.square) * 12 + channel(placed)
}

impl Encoding for Rusty774 {
    fn id(&self) -> EncodingId {
        EncodingId("rusty-774")
    }

    fn inputs(&self) -> &'static [InputSpec] {
        &[InputSpec { name: "input", shape: &[774], kind: ElementKind::Value }]
    }

    fn encode(&self, situation: &Situation<'_>, row: &mut Row<'_>) {
        write_dense(self, situation.position, row.values(0));
    }

    fn value_convention(&self) -> ValueConvention {
        ValueConvention { perspective: Perspective::White, ..ValueConvention::default() }
    }

    fn sparse(&self) -> Option<&dyn SparseEncoding> {
        Some(self)
    }
}

impl SparseEncoding for Rusty774 {
    fn width(&self) -> usize {
        774
    }

    fn perspectives(&self) -> Perspectives {
        Perspectives::Shared
    }

    fn features(&self, position: &Chess, _perspective: Color, out: &mut FeatureList) {
        head(position, out);
        out.extend(placements(position.board()).map(|placed| feature(index(placed), 1)));
    }

    fn changes(&self, before: &Chess, m: Move, after: &Chess, _perspective: Color, out: &mut FeatureList) {
        let (was, is) = before.turn().fold_wb((0, 1), (1, 0));
        out.extend([feature(was, -1), feature(is, 1)]);
        if before.castles().castling_rights() != after.castles().castling_rights() {
            let (had, has) = (castling_rights(before), castling_rights(after));
            let lost = (0..4).filter(|&i| had[i] && !has[i]);
            out.extend(lost.map(|i| feature(2 + i, -1)));
        }
        out.extend(
            moved(before.turn(), m).into_iter().map(|(placed, amount)| feature(index(placed), amount)),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_positions::dense_values;

    #[test]
    fn start_position() {
        let values = dense_values(&Rusty774, &Situation::of(&Chess::default()));
        assert_eq!(values[..6], [1.0, 0.0, 1.0, 1.0, 1.0, 1.0]);
        assert_eq!(values[6 + 4 * 12 + 6 + 5], 1.0); // White's king on e1
        assert_eq!(values[6 + 60 * 12 + 5], 1.0); // Black's king on e8
        assert_eq!(values.iter().sum::<f32>(), 37.0);
    }
}
