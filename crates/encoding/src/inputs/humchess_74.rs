use shakmaty::Position;

use super::humchess_68;
use crate::moves::from_to_4096::from_to_index;
use crate::{ElementKind, Encoding, EncodingId, InputSpec, Orientation, Row, Situation, VocabularyId};

/// HumChess version 2: the 68 tokens of `humchess-68`, then the last 6 moves, most recent first.
///
/// A move is `from * 64 + to` with both squares seen by the side to move (rotated for Black), castling by the king's
/// own squares; a missing move is 4096. One input of 74 ids, of which the last 6 index a table of their own (4097 rows).
pub(crate) struct HumChess74;

const MOVES: usize = 6;
const NO_MOVE: i32 = 4096;

impl Encoding for HumChess74 {
    fn id(&self) -> EncodingId {
        EncodingId("humchess-74")
    }

    fn inputs(&self) -> &'static [InputSpec] {
        &[InputSpec { name: "tokens", shape: &[humchess_68::LEN + MOVES], kind: ElementKind::Id }]
    }

    fn encode(&self, situation: &Situation<'_>, row: &mut Row<'_>) {
        let (tokens, history) = row.ids(0).split_at_mut(humchess_68::LEN);
        humchess_68::write_tokens(situation, tokens);
        let mover = situation.position.turn();
        let known = situation.last_moves.iter();
        let ids = known.map(|&m| i32::from(from_to_index(Orientation::Rotated, mover, m)));
        for (slot, id) in history.iter_mut().zip(ids.chain(std::iter::repeat(NO_MOVE))) {
            *slot = id;
        }
    }

    fn default_vocabulary(&self) -> Option<VocabularyId> {
        Some(VocabularyId("from-to-4096"))
    }
}
