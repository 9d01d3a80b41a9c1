use tabia_players::Player;

/// Somebody who takes part: makes its player wherever one is needed, because every worker has its own.
///
/// Games come out the same whatever the number of workers if the players are deterministic: their choice depends on the
/// game, the limits and the seed alone, and [`Player::new_game`] makes them forget the last game.
pub trait Entrant: Send + Sync {
    /// What people call it; also what ties a ledger to it, so it should name everything the play depends on.
    fn name(&self) -> String;

    /// Makes a player.
    ///
    /// # Errors
    /// What is missing, in words: the run cannot go on then.
    fn build(&self, seed: u64) -> Result<Box<dyn Player>, String>;

    /// How long a player lives.
    fn lifetime(&self) -> Lifetime {
        Lifetime::Worker
    }
}

/// How long a player lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// As long as its worker: for players that need nothing random, and for those that are slow to start.
    Worker,
    /// One game, with a seed of its own that depends on the run's seed and the number of the game: for players that
    /// throw dice.
    Game,
}
