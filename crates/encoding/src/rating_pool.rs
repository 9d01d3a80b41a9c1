use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The pool a rating belongs to: the same number means a different strength in each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RatingPool {
    /// Not known, or there is no rating.
    #[default]
    Unknown,
    /// Over the board, rated by FIDE or a federation close to its scale.
    OverTheBoard,
    /// A chess server, which one is not known or another than those below.
    Online,
    /// A puzzle's rating, as on Lichess; not a game.
    Puzzle,
    /// Lichess.
    Lichess,
    /// Chess.com, whose ratings are lower than those of Lichess for the same strength.
    #[serde(rename = "chess.com")]
    ChessCom,
}

/// Text that names no rating pool.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unknown rating pool {0:?} (expected lichess, chess.com, online, over-the-board, puzzle or unknown)")]
pub struct UnknownRatingPool(pub String);

impl RatingPool {
    /// Every pool, in the order of the encodings and of the record format.
    pub const ALL: [RatingPool; 6] = [
        RatingPool::Unknown,
        RatingPool::OverTheBoard,
        RatingPool::Online,
        RatingPool::Puzzle,
        RatingPool::Lichess,
        RatingPool::ChessCom,
    ];

    /// Whether the ratings are those of a server.
    pub const fn is_online(self) -> bool {
        matches!(self, RatingPool::Online | RatingPool::Lichess | RatingPool::ChessCom)
    }

    /// Whether `pool` is this one or a part of it: `online` includes every server.
    pub const fn includes(self, pool: RatingPool) -> bool {
        self as u8 == pool as u8 || matches!(self, RatingPool::Online) && pool.is_online()
    }

    /// The index in [`RatingPool::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The name in commands, specs and tables.
    pub const fn name(self) -> &'static str {
        match self {
            RatingPool::Unknown => "unknown",
            RatingPool::OverTheBoard => "over-the-board",
            RatingPool::Online => "online",
            RatingPool::Puzzle => "puzzle",
            RatingPool::Lichess => "lichess",
            RatingPool::ChessCom => "chess.com",
        }
    }

    /// The name in reports and in the PGN tag `Pool`, with spaces.
    pub const fn label(self) -> &'static str {
        match self {
            RatingPool::OverTheBoard => "over the board",
            _ => self.name(),
        }
    }
}

impl fmt::Display for RatingPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for RatingPool {
    type Err = UnknownRatingPool;

    fn from_str(text: &str) -> Result<Self, UnknownRatingPool> {
        let known = RatingPool::ALL.into_iter().find(|pool| pool.name() == text || pool.label() == text);
        known.ok_or_else(|| UnknownRatingPool(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_labels_are_parsed() {
        for pool in RatingPool::ALL {
            assert_eq!((pool.to_string().parse(), pool.label().parse()), (Ok(pool), Ok(pool)));
        }
        assert_eq!("fide".parse::<RatingPool>(), Err(UnknownRatingPool("fide".to_owned())));
    }

    #[test]
    fn online_includes_every_server() {
        let included = |pool: RatingPool| RatingPool::ALL.map(|other| pool.includes(other));
        assert_eq!(included(RatingPool::Online), [false, false, true, false, true, true]);
        assert_eq!(included(RatingPool::Lichess), [false, false, false, false, true, false]);
        assert_eq!(RatingPool::ALL.map(RatingPool::index), [0, 1, 2, 3, 4, 5]);
    }
}
