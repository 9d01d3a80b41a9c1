//! Values inside the search: centipawns for the side to move, with mate scores at both ends.

use std::num::NonZeroI32;

use tabia_encoding::{ForMover, Score};

use crate::EVALUATION_LIMIT;

/// The longest line in plies.
pub(super) const MAX_PLY: usize = 128;

/// Beyond every value; also the value of a root move that was not searched.
pub(super) const INFINITE: i32 = 32_001;
/// Mate on the board.
const MATE: i32 = 32_000;
/// The lowest mate score.
pub(super) const SLOWEST_MATE: i32 = MATE - 2 * MAX_PLY as i32;
/// The largest evaluation; everything above is a proven mate.
pub(super) const MAX_EVAL: i32 = SLOWEST_MATE - 1;
/// A win by an endgame table, above every evaluation.
const TABLE: i32 = 31_000;
/// The lowest win by a table.
const SLOWEST_TABLE: i32 = TABLE - 2 * MAX_PLY as i32;
/// A draw.
pub(super) const DRAW: i32 = 0;

/// The side to move wins by a table `ply` plies from the root.
#[cfg(feature = "syzygy")]
pub(super) const fn table_win_at(ply: usize) -> i32 {
    TABLE - ply as i32
}

/// The side to move is mated `ply` plies from the root.
pub(super) const fn mated_at(ply: usize) -> i32 {
    ply as i32 - MATE
}

/// The side to move mates `ply` plies from the root.
pub(super) const fn mating_at(ply: usize) -> i32 {
    MATE - ply as i32
}

/// Whether the value is a proven mate, or a win by a table.
pub(super) const fn is_decisive(value: i32) -> bool {
    value.abs() >= SLOWEST_TABLE
}

/// Plies from the root to the mate of this value.
pub(super) fn mate_distance(value: i32) -> Option<u32> {
    (value.abs() >= SLOWEST_MATE).then(|| (MATE - value.abs()).unsigned_abs())
}

/// A value with mates and table wins counted from the root, to one with those counted from the position.
pub(super) const fn to_tt(value: i32, ply: usize) -> i32 {
    if value >= SLOWEST_TABLE {
        value + ply as i32
    } else if value <= -SLOWEST_TABLE {
        value - ply as i32
    } else {
        value
    }
}

/// The inverse of [`to_tt`].
pub(super) const fn from_tt(value: i32, ply: usize) -> i32 {
    if value >= SLOWEST_TABLE {
        value - ply as i32
    } else if value <= -SLOWEST_TABLE {
        value + ply as i32
    } else {
        value
    }
}

/// The reported score, with mates in moves. Wins by a table are just below the limit of evaluations.
pub(super) fn score(value: i32) -> ForMover<Score> {
    let moves = mate_distance(value).and_then(|plies| {
        let moves = plies.div_ceil(2).cast_signed();
        NonZeroI32::new(if value > 0 { moves } else { -moves })
    });
    let by_table = (SLOWEST_TABLE..=TABLE).contains(&value.abs());
    let centipawns = if by_table { value - value.signum() * (TABLE - EVALUATION_LIMIT) } else { value };
    ForMover(moves.map_or(Score::Centipawns(centipawns), Score::Mate))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mate(moves: i32) -> ForMover<Score> {
        ForMover(Score::Mate(NonZeroI32::new(moves).unwrap()))
    }

    #[test]
    fn mates_are_reported_in_moves() {
        assert_eq!(score(mating_at(1)), mate(1));
        assert_eq!(score(mating_at(3)), mate(2));
        assert_eq!(score(mated_at(2)), mate(-1));
        assert_eq!(score(mated_at(4)), mate(-2));
        assert_eq!(score(-35), ForMover(Score::Centipawns(-35)));
        assert_eq!(score(MAX_EVAL), ForMover(Score::Centipawns(MAX_EVAL)));
    }

    #[test]
    fn table_values_count_from_the_position() {
        for value in [mating_at(5), mated_at(6), 17, MAX_EVAL, -MAX_EVAL, DRAW] {
            assert_eq!(from_tt(to_tt(value, 3), 3), value);
        }
        assert_eq!(from_tt(to_tt(mating_at(5), 4), 2), mating_at(3), "two plies nearer to the root");
    }
}
