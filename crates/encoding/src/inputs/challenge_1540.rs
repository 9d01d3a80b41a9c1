use shakmaty::{Chess, Color, Move, Position};

use super::challenge_768::index;
use crate::placement::{moved, placements, rights_of};
use crate::sparse::{feature, write_dense};
use crate::{
    ElementKind, Encoding, EncodingId, FeatureList, InputSpec, Perspectives, Row, Situation, SparseEncoding,
};

/// Chess Challenge's 1540 inputs: 770 from the perspective of the side to move, then 770 from the opponent's.
///
/// A half is `challenge-768` from that perspective, then its castling rights, king side and queen side.
pub(crate) struct Challenge1540;

const HALF: usize = 770;
const CASTLING: usize = 768;

/// The perspective and offset of each half.
fn halves(perspective: Color) -> [(Color, usize); 2] {
    [(perspective, 0), (!perspective, HALF)]
}

impl Encoding for Challenge1540 {
    fn id(&self) -> EncodingId {
        EncodingId("challenge-1540")
    }

    fn inputs(&self) -> &'static [InputSpec] {
        &[InputSpec { name: "board", shape: &[2 * HALF], kind: ElementKind::Value }]
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

impl SparseEncoding for Challenge1540 {
    fn width(&self) -> usize {
        2 * HALF
    }

    fn perspectives(&self) -> Perspectives {
        Perspectives::PerSide
    }

    fn features(&self, position: &Chess, perspective: Color, out: &mut FeatureList) {
        for (side, start) in halves(perspective) {
            out.extend(placements(position.board()).map(|placed| feature(start + index(side, placed), 1)));
            let rights = rights_of(position, side);
            out.extend((0..2).filter(|&i| rights[i]).map(|i| feature(start + CASTLING + i, 1)));
        }
    }

    fn changes(&self, before: &Chess, m: Move, after: &Chess, perspective: Color, out: &mut FeatureList) {
        let changes = moved(before.turn(), m);
        let rights_lost = before.castles().castling_rights() != after.castles().castling_rights();
        for (side, start) in halves(perspective) {
            out.extend(changes.iter().map(|&(placed, amount)| feature(start + index(side, placed), amount)));
            if rights_lost {
                let (had, has) = (rights_of(before, side), rights_of(after, side));
                let lost = (0..2).filter(|&i| had[i] && !has[i]);
                out.extend(lost.map(|i| feature(start + CASTLING + i, -1)));
            }
        }
    }
}
