//! Moves as indices of a policy head: one file per vocabulary.

mod castling_spelling;
mod geometry;
mod move_subset;
mod uci;

pub(crate) mod canonical_1968;
pub(crate) mod from_to_4096;
pub(crate) mod lc0_1858;
pub(crate) mod maia2_1880;
pub(crate) mod maia3_4352;
pub(crate) mod searchless_1968;

use std::fmt;

use shakmaty::{Chess, Color, Move, Position};

pub use self::canonical_1968::CANONICAL_1968_ROWS;
pub use self::castling_spelling::CastlingSpelling;
pub use self::move_subset::{MoveSubset, VocabularyFileError};
pub use self::uci::{MoveTextError, parse_uci};
use crate::Orientation;

/// The stable name of a vocabulary, as it appears in model cards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VocabularyId(pub &'static str);

impl fmt::Display for VocabularyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// An index into a policy head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PolicyIndex(pub u16);

/// Where a move's logit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PolicySlot {
    /// Index into the move head.
    pub index: PolicyIndex,
    /// Index into the separate promotion head, for promotions in vocabularies that have one.
    pub promotion: Option<u8>,
}

/// A mapping from moves to policy indices. Legal moves of a position have distinct slots.
pub trait MoveVocabulary: Send + Sync {
    /// The stable name.
    fn id(&self) -> VocabularyId;

    /// Length of the move head.
    fn width(&self) -> usize;

    /// Length of the separate promotion head; 0 without one.
    fn promotion_width(&self) -> usize {
        0
    }

    /// The orientation of the board when Black is to move.
    fn orientation(&self) -> Orientation;

    /// The slot of a legal move of a position in which `turn` is to move. Total over legal chess moves.
    fn slot(&self, turn: Color, m: Move) -> PolicySlot;

    /// The legal move of `position` at `slot`: the inverse of [`slot`](MoveVocabulary::slot).
    fn find(&self, position: &Chess, slot: PolicySlot) -> Option<Move> {
        position.legal_moves().into_iter().find(|&m| self.slot(position.turn(), m) == slot)
    }
}

impl fmt::Debug for dyn MoveVocabulary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MoveVocabulary({})", self.id())
    }
}
