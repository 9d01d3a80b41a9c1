use std::time::Duration;

use shakmaty::{ByColor, Chess, Color, Move};
use tabia_encoding::{Elo, ForWhite, Pace, RatingPool, Score};

/// A game: its conditions, and every move with its annotations.
#[derive(Clone, Debug, PartialEq)]
pub struct GameRecord {
    /// Facts about the whole game.
    pub head: GameHead,
    /// The position before the first move.
    pub start: Chess,
    /// The moves, in order.
    pub plies: Vec<Ply>,
}

/// Facts about a whole game; each may be unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GameHead {
    /// The players' ratings.
    pub ratings: ByColor<Option<Elo>>,
    /// The rating pool.
    pub pool: RatingPool,
    /// The time control, if it has one period.
    pub pace: Option<Pace>,
    /// The winner: `Some(None)` is a draw, `None` an unknown result.
    pub result: Option<Option<Color>>,
    /// Hashes of the players' names.
    pub players: ByColor<Option<PlayerHash>>,
}

/// Hash of a player's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PlayerHash(pub u32);

/// A move of a game with its annotations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ply {
    /// The move.
    pub played: Move,
    /// The mover's clock after the move, in tenths of a second.
    pub clock: Option<Duration>,
    /// Engine evaluation of the position after the move.
    pub evaluation: Option<ForWhite<Score>>,
}
