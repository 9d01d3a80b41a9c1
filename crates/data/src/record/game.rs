use std::time::Duration;

use shakmaty::{ByColor, Chess, Color, Move};
use tabia_encoding::{Elo, ForWhite, Pace, RatingPool, Score};

/// One game: who played under which conditions, and every move with what was noted about it.
#[derive(Clone, Debug, PartialEq)]
pub struct GameRecord {
    /// What is known of the game as a whole.
    pub head: GameHead,
    /// The position before the first move.
    pub start: Chess,
    /// The moves, in order.
    pub plies: Vec<Ply>,
}

/// What is known of a game as a whole; anything may be unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GameHead {
    /// The players' ratings, in the pool's scale.
    pub ratings: ByColor<Option<Elo>>,
    /// Whose scale the ratings are on.
    pub pool: RatingPool,
    /// Time per player, where the whole game has one period.
    pub pace: Option<Pace>,
    /// Who won: `Some(None)` is a draw, `None` an unknown result.
    pub result: Option<Option<Color>>,
    /// Who played, as far as telling players apart needs it.
    pub players: ByColor<Option<PlayerHash>>,
}

/// Tells players apart without naming them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PlayerHash(pub u32);

/// One move of a game and what was noted about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ply {
    /// The move, legal where it is played.
    pub played: Move,
    /// What the mover's clock showed after the move, to a tenth of a second.
    pub clock: Option<Duration>,
    /// An engine's opinion of the position after the move.
    pub evaluation: Option<ForWhite<Score>>,
}
