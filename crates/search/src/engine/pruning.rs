//! What the search does not look at, and what it looks at less deeply: all numbers of selectivity in one place.
//!
//! Margins are centipawns, depths are plies left.

/// Whether the search prunes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Selectivity {
    /// With pruning and reductions.
    Selective,
    /// Plain alpha-beta.
    #[cfg(test)]
    Exhaustive,
}

/// Whether the static evaluation improved since the last turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trend {
    Improving,
    Worsening,
}

/// Reverse futility margin above beta.
pub(super) fn reverse_futility_margin(depth: i32, trend: Trend) -> i32 {
    75 * depth - if trend == Trend::Improving { 60 } else { 0 }
}

/// Maximum depth of reverse futility pruning.
pub(super) const REVERSE_FUTILITY_DEPTH: i32 = 8;

/// Razoring margin below alpha.
pub(super) fn razoring_margin(depth: i32) -> i32 {
    220 + 180 * depth
}

/// Maximum depth of razoring.
pub(super) const RAZORING_DEPTH: i32 = 3;

/// Minimum depth of null moves.
pub(super) const NULL_MOVE_DEPTH: i32 = 3;

/// Minimum depth of the verification search; with a single piece it is always done.
pub(super) const VERIFIED_DEPTH: i32 = 12;

/// Null move reduction, with the evaluation this far above beta.
pub(super) fn null_move_reduction(depth: i32, surplus: i32) -> i32 {
    3 + depth / 3 + (surplus / 200).clamp(0, 3)
}

/// Late move pruning: the number of quiet moves searched.
pub(super) fn quiet_move_limit(depth: i32, trend: Trend) -> usize {
    let moves = 3 + depth * depth;
    (if trend == Trend::Improving { moves } else { moves / 2 }).unsigned_abs() as usize
}

/// Maximum depth of late move pruning.
pub(super) const QUIET_LIMIT_DEPTH: i32 = 8;

/// Futility margin below alpha.
pub(super) fn futility_margin(depth: i32) -> i32 {
    100 + 90 * depth
}

/// Maximum depth of futility pruning.
pub(super) const FUTILITY_DEPTH: i32 = 7;

/// Maximum depth of SEE pruning.
pub(super) const EXCHANGE_DEPTH: i32 = 8;

/// SEE margin of quiet moves.
pub(super) fn quiet_exchange_margin(depth: i32) -> i32 {
    -60 * depth
}

/// SEE margin of captures.
pub(super) fn capture_exchange_margin(depth: i32) -> i32 {
    -25 * depth * depth
}

/// History pruning margin.
pub(super) fn history_margin(depth: i32) -> i32 {
    -3_500 * depth
}

/// Maximum depth of history pruning.
pub(super) const HISTORY_DEPTH: i32 = 4;

/// Delta pruning margin in quiescence.
pub(super) const DELTA_MARGIN: i32 = 200;

/// Minimum depth of internal iterative reduction.
pub(super) const INTERNAL_REDUCTION_DEPTH: i32 = 4;

/// Minimum depth of late move reductions.
pub(super) const LATE_MOVE_DEPTH: i32 = 2;

/// Minimum depth of singular extensions.
pub(super) const SINGULAR_DEPTH: i32 = 8;

/// Base late move reduction of the `tried`th move.
pub(super) fn late_move_reduction(depth: i32, tried: usize) -> i32 {
    let product = log2(depth.unsigned_abs()) * log2(u32::try_from(tried).unwrap_or(u32::MAX));
    // Natural logarithms over 2.2, in 1/256 squared: ln 2 squared over 2.2 is 0.22.
    ((product * 22 / 100 + 256 * 256 * 60 / 100) >> 16).cast_signed()
}

/// The binary logarithm in 1/256, piecewise linear in integers, so that it is the same on every platform.
fn log2(n: u32) -> u32 {
    let n = n.max(1);
    let whole = n.ilog2();
    whole * 256 + ((u64::from(n) << 8 >> whole) as u32 - 256)
}

/// History bonus of a cutoff at this depth.
pub(super) fn history_bonus(depth: i32) -> i32 {
    (170 * depth - 90).min(1_900)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms() {
        assert_eq!([1, 2, 3, 4, 64].map(log2), [0, 256, 384, 512, 1536]);
    }

    #[test]
    fn later_and_deeper_moves_are_reduced_more() {
        assert_eq!(late_move_reduction(3, 1), 0);
        assert!((1..=2).contains(&late_move_reduction(6, 6)));
        assert!((3..=6).contains(&late_move_reduction(20, 30)));
        for depth in 1..60 {
            for tried in 1..60 {
                let reduction = late_move_reduction(depth, tried);
                assert!(reduction <= late_move_reduction(depth + 1, tried));
                assert!(reduction <= late_move_reduction(depth, tried + 1));
            }
        }
    }

    #[test]
    fn improving_positions_are_pruned_sooner_above_beta_and_later_below_alpha() {
        let (better, worse) = (Trend::Improving, Trend::Worsening);
        assert!(reverse_futility_margin(4, better) < reverse_futility_margin(4, worse));
        assert!(quiet_move_limit(4, better) > quiet_move_limit(4, worse));
    }
}
