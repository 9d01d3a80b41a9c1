//! What the search does not look at, and what it looks at less deeply.

use super::parameters::Parameters;

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

/// Minimum depth of null moves.
pub(super) const NULL_MOVE_DEPTH: i32 = 3;

/// Minimum depth of the verification search; with a single piece it is always done.
pub(super) const VERIFIED_DEPTH: i32 = 12;

/// Minimum depth of internal iterative reduction.
pub(super) const INTERNAL_REDUCTION_DEPTH: i32 = 4;

/// Minimum depth of late move reductions.
pub(super) const LATE_MOVE_DEPTH: i32 = 2;

/// Minimum depth of ProbCut, and how much less deep its search is.
pub(super) const PROBCUT_DEPTH: i32 = 5;
pub(super) const PROBCUT_REDUCTION: i32 = 4;

impl Parameters {
    /// Reverse futility margin above beta.
    pub(super) fn reverse_futility_margin(&self, depth: i32, trend: Trend) -> i32 {
        let improving = if trend == Trend::Improving { self.reverse_futility_improving } else { 0 };
        self.reverse_futility * depth - improving
    }

    /// Razoring margin below alpha.
    pub(super) fn razoring_margin(&self, depth: i32) -> i32 {
        self.razoring + self.razoring_per_ply * depth
    }

    /// Null move reduction, with the evaluation this far above beta.
    pub(super) fn null_move_reduction(&self, depth: i32, surplus: i32) -> i32 {
        self.null_move + depth / self.null_move_divisor + (surplus / self.null_move_surplus).clamp(0, 3)
    }

    /// Late move pruning: the number of quiet moves searched.
    pub(super) fn quiet_move_limit(&self, depth: i32, trend: Trend) -> usize {
        let moves = self.quiet_limit + depth * depth * self.quiet_limit_per_ply / 100;
        (if trend == Trend::Improving { moves } else { moves / 2 }).unsigned_abs() as usize
    }

    /// Futility margin below alpha.
    pub(super) fn futility_margin(&self, depth: i32) -> i32 {
        self.futility + self.futility_per_ply * depth
    }

    /// SEE margin of quiet moves.
    pub(super) fn quiet_exchange_margin(&self, depth: i32) -> i32 {
        -self.quiet_exchange * depth
    }

    /// SEE margin of captures.
    pub(super) fn capture_exchange_margin(&self, depth: i32) -> i32 {
        -self.capture_exchange * depth * depth
    }

    /// History pruning margin.
    pub(super) fn history_margin(&self, depth: i32) -> i32 {
        -self.history_pruning * depth
    }

    /// Base late move reduction of the `tried`th move.
    pub(super) fn late_move_reduction(&self, depth: i32, tried: usize) -> i32 {
        let product = log2(depth.unsigned_abs()) * log2(u32::try_from(tried).unwrap_or(u32::MAX));
        let [base, slope] = [self.reduction, self.reduction_slope].map(i32::unsigned_abs);
        // Logarithms are in 1/256.
        ((product * slope / 100 + 256 * 256 * base / 100) >> 16).cast_signed()
    }

    /// History bonus of a cutoff at this depth.
    pub(super) fn history_bonus_at(&self, depth: i32) -> i32 {
        (self.history_bonus * depth - self.history_bonus_offset).min(self.history_bonus_limit)
    }

    /// How far below the table's value the other moves of a singular one are.
    pub(super) fn singular_margin_at(&self, depth: i32) -> i32 {
        self.singular_margin * depth / 16
    }
}

/// The binary logarithm in 1/256, piecewise linear in integers, so that it is the same on every platform.
fn log2(n: u32) -> u32 {
    let n = n.max(1);
    let whole = n.ilog2();
    whole * 256 + ((u64::from(n) << 8 >> whole) as u32 - 256)
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
        assert_eq!(Parameters::default().late_move_reduction(3, 1), 0);
        assert!((1..=2).contains(&Parameters::default().late_move_reduction(6, 6)));
        assert!((3..=6).contains(&Parameters::default().late_move_reduction(20, 30)));
        for depth in 1..60 {
            for tried in 1..60 {
                let reduction = Parameters::default().late_move_reduction(depth, tried);
                assert!(reduction <= Parameters::default().late_move_reduction(depth + 1, tried));
                assert!(reduction <= Parameters::default().late_move_reduction(depth, tried + 1));
            }
        }
    }

    #[test]
    fn improving_positions_are_pruned_sooner_above_beta_and_later_below_alpha() {
        let (of, better, worse) = (Parameters::default(), Trend::Improving, Trend::Worsening);
        assert!(of.reverse_futility_margin(4, better) < of.reverse_futility_margin(4, worse));
        assert!(of.quiet_move_limit(4, better) > of.quiet_move_limit(4, worse));
    }
}
