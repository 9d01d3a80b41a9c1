use tabia_game::History;
use tabia_search::{Budget, Choice, Limits, Player, PlayerError, Watch};

/// A player whose spec says how long it thinks, whatever it is given.
pub(super) struct Budgeted {
    pub(super) player: Box<dyn Player>,
    pub(super) budget: Budget,
}

impl Player for Budgeted {
    fn name(&self) -> String {
        self.player.name()
    }

    fn new_game(&mut self) {
        self.player.new_game();
    }

    fn choose(&mut self, game: &History, limits: &Limits, watch: &dyn Watch) -> Result<Choice, PlayerError> {
        self.player.choose(game, &self.budget.over(limits), watch)
    }
}
