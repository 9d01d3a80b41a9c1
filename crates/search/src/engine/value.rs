//! Values inside the search: centipawns for the side to move, with mates counted in plies at the far ends.

use std::num::NonZeroI32;

use tabia_encoding::{ForMover, Score};

/// PvTable are never longer than this many plies.
pub(super) const MAX_PLY: usize = 128;

/// Beyond every value; also the value of a root move nobody has looked at.
pub(super) const INFINITE: i32 = 32_001;
/// Mate on the board.
const MATE: i32 = 32_000;
/// The slowest mate that a line can hold.
pub(super) const SLOWEST_MATE: i32 = MATE - 2 * MAX_PLY as i32;
/// The surest evaluation. Everything above is known, not guessed.
pub(super) const MAX_EVAL: i32 = SLOWEST_MATE - 1;
/// Nobody is better.
pub(super) const DRAW: i32 = 0;

/// The side to move is mated `ply` plies from the root.
pub(super) const fn mated_at(ply: usize) -> i32 {
    ply as i32 - MATE
}

/// The side to move mates `ply` plies from the root.
pub(super) const fn mating_at(ply: usize) -> i32 {
    MATE - ply as i32
}

/// Whether the game is decided rather than judged.
pub(super) const fn is_decided(value: i32) -> bool {
    value.abs() > MAX_EVAL
}

/// How many plies from the root the mate is that this value promises to either side.
pub(super) fn mate_distance(value: i32) -> Option<u32> {
    (value.abs() >= SLOWEST_MATE).then(|| (MATE - value.abs()).unsigned_abs())
}

/// A value counted from the root, as the table keeps it: counted from the position itself.
pub(super) const fn to_table(value: i32, ply: usize) -> i32 {
    if value > MAX_EVAL {
        value + ply as i32
    } else if value < -MAX_EVAL {
        value - ply as i32
    } else {
        value
    }
}

/// The inverse of [`to_table`].
pub(super) const fn from_table(value: i32, ply: usize) -> i32 {
    if value > MAX_EVAL {
        value - ply as i32
    } else if value < -MAX_EVAL {
        value + ply as i32
    } else {
        value
    }
}

/// What the world outside is told: mates in moves.
pub(super) fn score(value: i32) -> ForMover<Score> {
    let moves = mate_distance(value).and_then(|plies| {
        let moves = plies.div_ceil(2).cast_signed();
        NonZeroI32::new(if value > 0 { moves } else { -moves })
    });
    ForMover(moves.map_or(Score::Centipawns(value), Score::Mate))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mate(moves: i32) -> ForMover<Score> {
        ForMover(Score::Mate(NonZeroI32::new(moves).unwrap()))
    }

    #[test]
    fn mates_are_told_in_moves() {
        assert_eq!(score(mating_at(1)), mate(1));
        assert_eq!(score(mating_at(3)), mate(2));
        assert_eq!(score(mated_at(2)), mate(-1));
        assert_eq!(score(mated_at(4)), mate(-2));
        assert_eq!(score(-35), ForMover(Score::Centipawns(-35)));
        assert_eq!(score(MAX_EVAL), ForMover(Score::Centipawns(MAX_EVAL)));
    }

    #[test]
    fn the_table_counts_from_the_position() {
        for value in [mating_at(5), mated_at(6), 17, MAX_EVAL, -MAX_EVAL, DRAW] {
            assert_eq!(from_table(to_table(value, 3), 3), value);
        }
        assert_eq!(from_table(to_table(mating_at(5), 4), 2), mating_at(3), "two plies nearer to the root");
    }
}
