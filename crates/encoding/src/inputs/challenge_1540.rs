use shakmaty::{Chess, Color, Move, Position};

use super::challenge_768::index;
use crate::placement::{moved, placements, rights_of};
use crate::sparse::{feature, write_dense};
use crate::{
    ElementKind, Encoding, EncodingId, FeatureList, InputSpec, Row, Situation, SparseEncoding, Viewers,
};

/// Chess Challenge's 1540 inputs: 770 as the side to move sees the board, then 770 as the opponent does.
///
/// A half is the 768 of `challenge-768` for that viewer, then whether the viewer may still castle king side and queen
/// side.
pub(crate) struct Challenge1540;

const HALF: usize = 770;
const CASTLING: usize = 768;

/// Who looks in each half, and where the half starts, when `viewer` looks at the whole.
fn halves(viewer: Color) -> [(Color, usize); 2] {
    [(viewer, 0), (!viewer, HALF)]
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

    fn viewers(&self) -> Viewers {
        Viewers::Each
    }

    fn features(&self, position: &Chess, viewer: Color, out: &mut FeatureList) {
        for (eye, start) in halves(viewer) {
            out.extend(placements(position.board()).map(|placed| feature(start + index(eye, placed), 1)));
            let rights = rights_of(position, eye);
            out.extend((0..2).filter(|&i| rights[i]).map(|i| feature(start + CASTLING + i, 1)));
        }
    }

    fn changes(&self, before: &Chess, m: Move, after: &Chess, viewer: Color, out: &mut FeatureList) {
        let changes = moved(before.turn(), m);
        let rights_lost = before.castles().castling_rights() != after.castles().castling_rights();
        for (eye, start) in halves(viewer) {
            out.extend(changes.iter().map(|&(placed, amount)| feature(start + index(eye, placed), amount)));
            if rights_lost {
                let (had, has) = (rights_of(before, eye), rights_of(after, eye));
                let lost = (0..2).filter(|&i| had[i] && !has[i]);
                out.extend(lost.map(|i| feature(start + CASTLING + i, -1)));
            }
        }
    }
}
