use std::time::Duration;

use shakmaty::{Chess, Move};

use crate::RatingPool;

/// A rating as a player states it, on whatever scale the game was rated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Elo(pub u16);

/// How much time each player has for a whole game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pace {
    /// Time on the clock before the first move.
    pub base: Duration,
    /// Time added after every move.
    pub increment: Duration,
}

/// What is known of one of the two players; anything may be unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlayerInfo {
    /// The player's rating.
    pub rating: Option<Elo>,
    /// The time on the player's clock when the side to move starts to think.
    pub time_left: Option<Duration>,
}

/// Everything an encoder may look at: a position, how it came about, and who is playing.
///
/// A bare position is a complete situation ([`Situation::of`]); the rest is there for networks that see more.
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
    /// Whose scale the ratings are on.
    pub pool: RatingPool,
    /// The time control, where the game has one that two numbers describe.
    pub pace: Option<Pace>,
    /// The position a two-input network compares with: the root of a search. `None` means the position itself.
    pub context: Option<&'a Chess>,
}

impl<'a> Situation<'a> {
    /// A position of which nothing else is known.
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
