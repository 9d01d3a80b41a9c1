use std::time::Duration;

use shakmaty::{Chess, Move};

use crate::RatingPool;

/// A rating in some [pool](RatingPool).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Elo(pub u16);

/// A time control of base time and increment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pace {
    /// Time on the clock before the first move.
    pub base: Duration,
    /// Time added after each move.
    pub increment: Duration,
}

/// What is known of a player.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlayerInfo {
    /// The player's rating.
    pub rating: Option<Elo>,
    /// The remaining time when the side to move starts to think.
    pub time_left: Option<Duration>,
}

/// The input of an encoder: a position with its history, players and time control.
///
/// Everything but the position may be unknown ([`Situation::of`]).
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    /// The position to encode.
    pub position: &'a Chess,
    /// The positions before it in the same game, most recent first. Empty when unknown.
    pub earlier: &'a [Chess],
    /// The moves that led here, most recent first. Empty when unknown.
    pub last_moves: &'a [Move],
    /// The player to move.
    pub mover: PlayerInfo,
    /// The other player.
    pub opponent: PlayerInfo,
    /// The pool of both ratings.
    pub pool: RatingPool,
    /// The time control, if base and increment describe it.
    pub pace: Option<Pace>,
    /// The context of a two-input network: the root of a search. `None` means the position itself.
    pub context: Option<&'a Chess>,
}

impl<'a> Situation<'a> {
    /// A position with everything else unknown.
    pub fn of(position: &'a Chess) -> Self {
        Situation {
            position,
            earlier: &[],
            last_moves: &[],
            mover: PlayerInfo::default(),
            opponent: PlayerInfo::default(),
            pool: RatingPool::Unknown,
            pace: None,
            context: None,
        }
    }
}
