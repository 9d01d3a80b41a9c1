use std::ops::RangeInclusive;

use shakmaty::Color;
use tabia_encoding::{Elo, RatingPool};

use crate::GameHead;

/// What a stream leaves out. The default leaves out nothing but the moves of puzzles that are not the solver's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Positions before this ply of a game.
    pub min_ply: u32,
    /// Positions at this ply of a game and later ones.
    pub max_ply: Option<u32>,
    /// Positions in which the side to move has no rating, or one outside.
    pub ratings: Option<RangeInclusive<u16>>,
    /// Games of other pools.
    pub pools: Option<Vec<RatingPool>>,
    /// Games without a known result.
    pub result: Need,
    /// Positions after which there is no evaluation.
    pub evaluation: Need,
    /// Positions in which the time left of the side to move is not known.
    pub clock: Need,
    /// Analysed positions whose deepest session is less deep.
    pub min_depth: u8,
}

/// Whether something has to be known.
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
        self.pools.as_ref().is_none_or(|pools| pools.contains(&head.pool))
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
