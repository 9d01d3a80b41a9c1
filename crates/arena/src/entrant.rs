use tabia_players::Player;

/// A participant, which builds a player for every worker.
///
/// Results do not depend on the number of workers if players are deterministic: their moves depend only on the game,
/// the limits and the seed, and [`Player::new_game`] resets their state.
pub trait Entrant: Send + Sync {
    /// Name. Identifies the entrant in ledgers, so it should include all settings that affect play.
    fn name(&self) -> String;

    /// Builds a player from a random seed.
    ///
    /// # Errors
    /// The reason. Ends the run.
    fn build(&self, seed: u64) -> Result<Box<dyn Player>, String>;

    /// Lifetime of a player.
    fn lifetime(&self) -> PlayerLifetime {
        PlayerLifetime::PerWorker
    }
}

/// Lifetime of a player.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlayerLifetime {
    /// One player per worker: for deterministic players and those that are slow to start.
    PerWorker,
    /// One player per game, with a seed derived from the run's seed and the game number: for randomised players.
    PerGame,
}
