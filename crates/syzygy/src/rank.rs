use shakmaty::{Chess, Move, Position as _};
use shakmaty_syzygy::Wdl;

use crate::{Tables, Verdict};

/// How good the moves of a position are by the tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MoveRanks {
    /// One for each move, in their order.
    pub moves: Vec<RankedMove>,
    /// Whether the distance to the next capture or pawn move counts, so that any move of the best rank makes progress. Otherwise
    /// only the result does.
    pub by_distance: bool,
}

/// A move of [`MoveRanks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankedMove {
    /// The higher, the better; equal for moves that are as good.
    pub rank: i32,
    /// What the position is after the move, for the side that makes it.
    pub verdict: Verdict,
}

/// The rank of a win that no draw by the fifty-move rule endangers.
const WIN: i32 = 10_000;
/// The rank of a win that it may prevent, before the distance counts.
const CURSED: i32 = 5_000;
/// The last quiet ply that does not draw.
const LAST_PLY: i32 = 99;

impl Tables {
    /// Ranks legal moves. Of wins that the fifty-move rule does not endanger all rank the same, unless a position of the game has
    /// been `repeated` since the last capture or pawn move: then the fastest is best. `None` if a table is missing or damaged.
    pub fn rank(
        &self,
        position: &Chess,
        moves: &[Move],
        fifty_moves: bool,
        repeated: bool,
    ) -> Option<MoveRanks> {
        if !self.may_have(position) {
            return None;
        }
        let by_distance = moves.iter().map(|&m| self.by_distance(position, m, fifty_moves, repeated));
        if let Some(moves) = by_distance.collect() {
            return Some(MoveRanks { moves, by_distance: true });
        }
        let by_result = moves.iter().map(|&m| self.by_result(position, m, fifty_moves));
        Some(MoveRanks { moves: by_result.collect::<Option<_>>()?, by_distance: false })
    }

    fn by_distance(
        &self,
        position: &Chess,
        m: Move,
        fifty_moves: bool,
        repeated: bool,
    ) -> Option<RankedMove> {
        let mut after = position.clone();
        after.play_unchecked(m);
        let distance = if after.halfmoves() == 0 {
            before_zeroing(-self.wdl_after_zeroing(&after)?)
        } else if after.is_checkmate() {
            1
        } else {
            let theirs = self.dtz(&after)?;
            -theirs - theirs.signum()
        };
        let clock = position.halfmoves().cast_signed();
        let total = distance.abs().saturating_add(clock);
        let safe = total <= LAST_PLY;
        let rank = match distance.signum() {
            0 => 0,
            1 if safe && repeated => WIN - distance,
            1 if safe => WIN,
            1 => (CURSED - total).max(1),
            // The loser's best chance is the rule, where it is near.
            _ if 2 * distance.abs() + clock < LAST_PLY => -WIN,
            _ => (total - CURSED).min(-1),
        };
        let verdict = match distance.signum() {
            1 if safe || !fifty_moves => Verdict::Win,
            -1 if safe || !fifty_moves => Verdict::Loss,
            _ => Verdict::Draw,
        };
        Some(RankedMove { rank, verdict })
    }

    fn by_result(&self, position: &Chess, m: Move, fifty_moves: bool) -> Option<RankedMove> {
        let mut after = position.clone();
        after.play_unchecked(m);
        let (rank, verdict) = match -self.wdl_after_zeroing(&after)? {
            Wdl::Win => (WIN, Verdict::Win),
            Wdl::CursedWin => (CURSED, if fifty_moves { Verdict::Draw } else { Verdict::Win }),
            Wdl::Draw => (0, Verdict::Draw),
            Wdl::BlessedLoss => (-CURSED, if fifty_moves { Verdict::Draw } else { Verdict::Loss }),
            Wdl::Loss => (-WIN, Verdict::Loss),
        };
        Some(RankedMove { rank, verdict })
    }
}

/// The distance of a capture or pawn move that leads to this.
fn before_zeroing(wdl: Wdl) -> i32 {
    match wdl {
        Wdl::Win => 1,
        Wdl::CursedWin => 101,
        Wdl::Draw => 0,
        Wdl::BlessedLoss => -101,
        Wdl::Loss => -1,
    }
}
