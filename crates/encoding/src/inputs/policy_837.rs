use shakmaty::{Chess, Color, EnPassantMode, Move, Position, Square};

use crate::placement::{Placement, castling_rights, moved, placements, role_index};
use crate::sparse::{feature, write_dense};
use crate::{
    ElementKind, Encoding, EncodingId, FeatureList, InputSpec, Perspectives, Row, Situation, SparseEncoding,
    VocabularyId,
};

/// The flat input of Learning a Chess Policy: the 13 planes of `policy-planes-13`, then its 5 meta numbers.
///
/// The plain board, a1 = 0: White's P N B R Q K, Black's, the en passant target; then the turn (1
/// White, -1 Black) and the castling rights K Q k q. The target is set only where an en passant capture is legal, as
/// in Lichess evaluations.
pub(crate) struct Policy837;

/// Elements of the 13 planes.
pub(super) const PLANES: usize = 13 * 64;

/// Turn and castling rights.
pub(super) const META: usize = 5;

const EN_PASSANT: usize = 12 * 64;

fn index(placed: Placement) -> usize {
    let plane = placed.piece.color.fold_wb(0, 6) + role_index(placed.piece.role);
    plane * 64 + usize::from(placed.square)
}

fn en_passant(square: Square, amount: i8) -> crate::Feature {
    feature(EN_PASSANT + usize::from(square), amount)
}

impl Encoding for Policy837 {
    fn id(&self) -> EncodingId {
        EncodingId("policy-837")
    }

    fn inputs(&self) -> &'static [InputSpec] {
        &[InputSpec { name: "features", shape: &[PLANES + META], kind: ElementKind::Value }]
    }

    fn encode(&self, situation: &Situation<'_>, row: &mut Row<'_>) {
        write_dense(self, situation.position, row.values(0));
    }

    fn default_vocabulary(&self) -> Option<VocabularyId> {
        Some(VocabularyId("canonical-1968"))
    }

    fn sparse(&self) -> Option<&dyn SparseEncoding> {
        Some(self)
    }
}

impl SparseEncoding for Policy837 {
    fn width(&self) -> usize {
        PLANES + META
    }

    fn perspectives(&self) -> Perspectives {
        Perspectives::Shared
    }

    fn features(&self, position: &Chess, _perspective: Color, out: &mut FeatureList) {
        out.extend(placements(position.board()).map(|placed| feature(index(placed), 1)));
        out.extend(position.ep_square(EnPassantMode::Legal).map(|square| en_passant(square, 1)));
        out.push(feature(PLANES, position.turn().fold_wb(1, -1)));
        let rights = castling_rights(position);
        out.extend((0..4).filter(|&i| rights[i]).map(|i| feature(PLANES + 1 + i, 1)));
    }

    fn changes(&self, before: &Chess, m: Move, after: &Chess, _perspective: Color, out: &mut FeatureList) {
        out.extend(
            moved(before.turn(), m).into_iter().map(|(placed, amount)| feature(index(placed), amount)),
        );
        out.extend(before.ep_square(EnPassantMode::Legal).map(|square| en_passant(square, -1)));
        out.extend(after.ep_square(EnPassantMode::Legal).map(|square| en_passant(square, 1)));
        out.push(feature(PLANES, before.turn().fold_wb(-2, 2)));
        if before.castles().castling_rights() != after.castles().castling_rights() {
            let (had, has) = (castling_rights(before), castling_rights(after));
            let lost = (0..4).filter(|&i| had[i] && !has[i]);
            out.extend(lost.map(|i| feature(PLANES + 1 + i, -1)));
        }
    }
}
