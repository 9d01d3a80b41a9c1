//! How often a person played each move of a position.

use std::collections::BTreeMap;

use shakmaty::zobrist::Zobrist64;
use shakmaty::{Chess, EnPassantMode, Move, Position as _, Role, Square};
use tabia_model::Candidate;

/// A position in the memory: its Zobrist hash with the constants of PolyGlot.
pub fn memory_key(position: &Chess) -> u64 {
    position.zobrist_hash::<Zobrist64>(EnPassantMode::Legal).0
}

/// A move in the memory: its squares and promotion piece. Castling is the king's move to its rook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemoryMove {
    /// The square the piece left.
    pub from: Square,
    /// The square it went to.
    pub to: Square,
    /// What it became.
    pub promotion: Option<Role>,
}

impl From<Move> for MemoryMove {
    fn from(m: Move) -> MemoryMove {
        MemoryMove { from: m.from().unwrap_or(m.to()), to: m.to(), promotion: m.promotion() }
    }
}

/// The moves of a person by position.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpeningMemory {
    /// The weight of the other probabilities: so many moves.
    pub alpha: f32,
    /// By [key](memory_key): the moves and how often each was played.
    pub positions: BTreeMap<u64, BTreeMap<MemoryMove, u32>>,
}

impl OpeningMemory {
    /// How often the person had a position.
    pub fn seen(&self, position: &Chess) -> u32 {
        self.positions.get(&memory_key(position)).map_or(0, |moves| moves.values().sum())
    }

    /// How often the person had the position of this key, and played this move there.
    pub fn count(&self, key: u64, m: MemoryMove) -> (u32, u32) {
        let Some(moves) = self.positions.get(&key) else { return (0, 0) };
        (moves.values().sum(), moves.get(&m).copied().unwrap_or(0))
    }

    /// Mixes the counts into the probabilities of all legal moves.
    pub(super) fn mix(&self, position: &Chess, candidates: &mut [Candidate]) {
        let Some(moves) = self.positions.get(&memory_key(position)) else { return };
        let count = |m: Move| moves.get(&m.into()).copied().unwrap_or(0) as f32;
        // Moves that are not legal here belong to another position with the same key.
        let total: f32 = candidates.iter().map(|candidate| count(candidate.mv)).sum();
        for candidate in candidates {
            candidate.probability = mixed(self.alpha, total, count(candidate.mv), candidate.probability);
        }
    }
}

/// The probability of a move that was played `count` of `total` times.
fn mixed(alpha: f32, total: f32, count: f32, probability: f32) -> f32 {
    (count + alpha * probability) / (total + alpha)
}
