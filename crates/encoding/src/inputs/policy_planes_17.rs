use shakmaty::{EnPassantMode, Position};

use super::challenge_768::index;
use crate::placement::{placements, rights_of};
use crate::{ElementKind, Encoding, EncodingId, InputSpec, Orientation, Row, Situation, VocabularyId};

/// The planes of Learning a Chess Policy's convolutional network, ranks flipped for Black.
///
/// Own P N B R Q K, the opponent's, the en passant target (where a capture
/// is legal), then planes of ones for own castling rights K, Q and the opponent's K, Q.
pub(crate) struct PolicyPlanes17;

const EN_PASSANT: usize = 12;
const CASTLING: usize = 13;

impl Encoding for PolicyPlanes17 {
    fn id(&self) -> EncodingId {
        EncodingId("policy-planes-17")
    }

    fn inputs(&self) -> &'static [InputSpec] {
        &[InputSpec { name: "planes", shape: &[17, 8, 8], kind: ElementKind::Value }]
    }

    fn encode(&self, situation: &Situation<'_>, row: &mut Row<'_>) {
        let position = situation.position;
        let mover = position.turn();
        let values = row.values(0);
        for placed in placements(position.board()) {
            values[index(mover, placed)] = 1.0;
        }
        if let Some(square) = position.ep_square(EnPassantMode::Legal) {
            let square = Orientation::Mirrored.square(mover, square);
            values[EN_PASSANT * 64 + usize::from(square)] = 1.0;
        }
        let rights = [mover, !mover].map(|color| rights_of(position, color));
        for (i, &right) in rights.as_flattened().iter().enumerate() {
            values[(CASTLING + i) * 64..][..64].fill(f32::from(u8::from(right)));
        }
    }

    fn default_vocabulary(&self) -> Option<VocabularyId> {
        Some(VocabularyId("canonical-1968-mover"))
    }
}
