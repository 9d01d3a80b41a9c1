//! The values a search can tell apart.

use super::value::{INFINITE, mated_at, mating_at};

/// Values above `alpha` and below `beta` are found exactly; of others it is known on which side they lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) alpha: i32,
    pub(super) beta: i32,
}

impl Window {
    pub(super) const FULL: Window = Window { alpha: -INFINITE, beta: INFINITE };

    /// Asks only whether a value is above `alpha`.
    pub(super) fn above(alpha: i32) -> Window {
        Window { alpha, beta: alpha + 1 }
    }

    /// The same window as the other side sees it.
    pub(super) fn flipped(self) -> Window {
        Window { alpha: -self.beta, beta: -self.alpha }
    }

    /// Whether there is nothing to find exactly.
    pub(super) fn is_null(self) -> bool {
        self.beta - self.alpha == 1
    }

    /// Without the values that no position at this ply can have, since the game is not over yet: being mated here is
    /// the worst, mating by the next move the best. May turn out empty: `alpha` is then the value.
    pub(super) fn within_mates(self, ply: usize) -> Window {
        Window { alpha: self.alpha.max(mated_at(ply)), beta: self.beta.min(mating_at(ply + 1)) }
    }

    pub(super) fn is_empty(self) -> bool {
        self.alpha >= self.beta
    }
}
