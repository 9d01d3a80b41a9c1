use tabia_game::History;
use tabia_search::{Engine, EngineOptions, Evaluator, Limits, SearchControl};

use crate::{Decision, Player, PlayerError};

/// The alpha-beta [`Engine`] as a player.
pub struct EnginePlayer {
    name: String,
    engine: Engine,
}

impl EnginePlayer {
    /// An engine called `name`.
    pub fn new(name: String, options: EngineOptions, evaluator: Box<dyn Evaluator>) -> EnginePlayer {
        EnginePlayer { name, engine: Engine::new(options, evaluator) }
    }

    /// The same with endgame tables.
    #[cfg(feature = "syzygy")]
    pub fn with_tables(mut self, tables: Option<tabia_search::TableUse>) -> EnginePlayer {
        self.engine.set_tables(tables);
        self
    }
}

impl Player for EnginePlayer {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn new_game(&mut self) {
        self.engine.new_game();
    }

    fn decide(
        &mut self,
        game: &History,
        limits: &Limits,
        control: &dyn SearchControl,
    ) -> Result<Decision, PlayerError> {
        Ok(Decision::by_score(game, self.engine.search(game, limits, control)?))
    }
}
