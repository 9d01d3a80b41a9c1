//! The search window.

use super::value::{INFINITE, mated_at, mating_at};

/// Values between `alpha` and `beta` are exact; others are bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) alpha: i32,
    pub(super) beta: i32,
}

impl Window {
    pub(super) const FULL: Window = Window { alpha: -INFINITE, beta: INFINITE };

    /// A null window above `alpha`.
    pub(super) fn above(alpha: i32) -> Window {
        Window { alpha, beta: alpha + 1 }
    }

    /// The window of the other side.
    pub(super) fn flipped(self) -> Window {
        Window { alpha: -self.beta, beta: -self.alpha }
    }

    /// Whether it is a null window.
    pub(super) fn is_null(self) -> bool {
        self.beta - self.alpha == 1
    }

    /// Mate distance pruning. May leave an empty window; `alpha` is then the value.
    pub(super) fn within_mates(self, ply: usize) -> Window {
        Window { alpha: self.alpha.max(mated_at(ply)), beta: self.beta.min(mating_at(ply + 1)) }
    }

    pub(super) fn is_empty(self) -> bool {
        self.alpha >= self.beta
    }
}
