//! What the search does not look at, and what it looks at less deeply: all numbers of selectivity in one place.
//!
//! Margins are centipawns, depths are plies left.

/// Whether the search may guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Selectivity {
    /// Skip and reduce what is unlikely to matter.
    Selective,
    /// Look at everything: the plain value of the game to a depth, slowly.
    #[cfg(test)]
    Exhaustive,
}

/// Whether the side to move stands better than at its last turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trend {
    Improving,
    Worsening,
}

/// So far above beta that no answer will bring it back: prune.
pub(super) fn reverse_futility_margin(depth: i32, trend: Trend) -> i32 {
    75 * depth - if trend == Trend::Improving { 60 } else { 0 }
}

/// The most depth at which [`reverse_futility_margin`] is trusted.
pub(super) const REVERSE_FUTILITY_DEPTH: i32 = 8;

/// So far below alpha that only captures can help: look at those alone.
pub(super) fn razoring_margin(depth: i32) -> i32 {
    220 + 180 * depth
}

/// The most depth at which [`razoring_margin`] is trusted.
pub(super) const RAZORING_DEPTH: i32 = 3;

/// From this depth on the side to move may try to pass.
pub(super) const NULL_MOVE_DEPTH: i32 = 3;

/// From this depth on, and with a single piece at any depth, what passing promised is verified.
pub(super) const VERIFIED_DEPTH: i32 = 12;

/// How much less deeply a passed move is searched, with the evaluation this far above beta.
pub(super) fn null_move_reduction(depth: i32, surplus: i32) -> i32 {
    3 + depth / 3 + (surplus / 200).clamp(0, 3)
}

/// How many quiet moves are tried before the rest are skipped.
pub(super) fn quiet_move_limit(depth: i32, trend: Trend) -> usize {
    let moves = 3 + depth * depth;
    (if trend == Trend::Improving { moves } else { moves / 2 }).unsigned_abs() as usize
}

/// The most depth at which [`quiet_move_limit`] is trusted.
pub(super) const QUIET_LIMIT_DEPTH: i32 = 8;

/// A quiet move from this far below alpha does not reach it.
pub(super) fn futility_margin(depth: i32) -> i32 {
    100 + 90 * depth
}

/// The most depth at which [`futility_margin`] is trusted.
pub(super) const FUTILITY_DEPTH: i32 = 7;

/// The most depth at which moves that lose material are skipped.
pub(super) const EXCHANGE_DEPTH: i32 = 8;

/// How much a quiet move may lose in exchanges and still be tried.
pub(super) fn quiet_exchange_margin(depth: i32) -> i32 {
    -60 * depth
}

/// How much a capture may lose in exchanges and still be tried.
pub(super) fn capture_exchange_margin(depth: i32) -> i32 {
    -25 * depth * depth
}

/// A quiet move with a record worse than this is not tried.
pub(super) fn history_margin(depth: i32) -> i32 {
    -3_500 * depth
}

/// The most depth at which [`history_margin`] is trusted.
pub(super) const HISTORY_DEPTH: i32 = 4;

/// A capture this much short of alpha, its victim included, is not tried in quiescence.
pub(super) const DELTA_MARGIN: i32 = 200;

/// From this depth on a node without a known move is searched a ply less.
pub(super) const INTERNAL_REDUCTION_DEPTH: i32 = 4;

/// From this depth on late moves are reduced.
pub(super) const LATE_MOVE_DEPTH: i32 = 2;

/// From this depth on a move that stands alone is looked for.
pub(super) const SINGULAR_DEPTH: i32 = 8;

/// How much less deeply the `tried`th move of a node is searched, before anything is known of it.
pub(super) fn late_move_reduction(depth: i32, tried: usize) -> i32 {
    let product = log2(depth.unsigned_abs()) * log2(u32::try_from(tried).unwrap_or(u32::MAX));
    // Natural logarithms over 2.2, in 1/256 squared: ln 2 squared over 2.2 is 0.22.
    ((product * 22 / 100 + 256 * 256 * 60 / 100) >> 16).cast_signed()
}

/// The logarithm to base two in 1/256, straight lines between the powers: whole numbers are the same everywhere.
fn log2(n: u32) -> u32 {
    let n = n.max(1);
    let whole = n.ilog2();
    whole * 256 + ((u64::from(n) << 8 >> whole) as u32 - 256)
}

/// What a move that caused a cutoff at this depth teaches.
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
