//! The lines of best play that a search is building, one for each ply.

use arrayvec::ArrayVec;
use shakmaty::Move;

use super::value::MAX_PLY;

/// The triangular PV table.
pub(super) struct PvTable(Vec<ArrayVec<Move, MAX_PLY>>);

impl PvTable {
    pub(super) fn new() -> PvTable {
        PvTable(vec![ArrayVec::new(); MAX_PLY + 2])
    }

    /// Clears the line of a ply.
    pub(super) fn clear(&mut self, ply: usize) {
        self.0[ply].clear();
    }

    /// Sets the line of a ply to `m` and the line of the next ply.
    pub(super) fn extend(&mut self, ply: usize, m: Move) {
        let (above, below) = self.0.split_at_mut(ply + 1);
        let line = &mut above[ply];
        line.clear();
        line.push(m);
        let room = line.remaining_capacity();
        line.extend(below[0].iter().copied().take(room));
    }

    pub(super) fn from(&self, ply: usize) -> &[Move] {
        &self.0[ply]
    }
}
