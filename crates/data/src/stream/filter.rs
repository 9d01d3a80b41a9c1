use std::ops::RangeInclusive;

use shakmaty::Color;
use tabia_encoding::{Elo, RatingPool};

use crate::GameHead;

/// Which positions a stream skips. By default only the opponent's moves of puzzles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Skip positions before this ply.
    pub min_ply: u32,
    /// Skip positions from this ply on.
    pub max_ply: Option<u32>,
    /// Skip positions whose side to move has no rating in this range.
    pub ratings: Option<RangeInclusive<u16>>,
    /// Skip games of other pools.
    pub pools: Option<Vec<RatingPool>>,
    /// Whether the result must be known.
    pub result: Need,
    /// Whether the position after the move must have an evaluation.
    pub evaluation: Need,
    /// Whether the clock of the side to move must be known.
    pub clock: Need,
    /// Skip analysed positions with a lower depth.
    pub min_depth: u8,
}

/// Whether a value must be known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Need {
    /// It may be unknown.
    #[default]
    Optional,
    /// It must be known.
    Required,
}

impl Need {
    pub(super) fn is_met(self, known: bool) -> bool {
        known || self == Need::Optional
    }
}

impl Filter {
    /// Whether any position of a game may pass.
    pub(super) fn takes_game(&self, head: &GameHead) -> bool {
        self.pools.as_ref().is_none_or(|pools| pools.iter().any(|pool| pool.includes(head.pool)))
            && self.result.is_met(head.result.is_some())
            && [Color::White, Color::Black].into_iter().any(|mover| self.takes_mover(head, mover))
    }

    /// Whether positions in which `mover` is to move may pass.
    pub(super) fn takes_mover(&self, head: &GameHead, mover: Color) -> bool {
        self.ratings
            .as_ref()
            .is_none_or(|band| head.ratings.get(mover).is_some_and(|Elo(rating)| band.contains(&rating)))
    }

    /// Whether a ply of a game may pass. Of a puzzle only the solver's moves do: every other, from the first.
    pub(super) fn takes_ply(&self, head: &GameHead, ply: u32) -> bool {
        ply >= self.min_ply
            && self.max_ply.is_none_or(|max| ply < max)
            && (head.pool != RatingPool::Puzzle || ply.is_multiple_of(2))
    }
}
