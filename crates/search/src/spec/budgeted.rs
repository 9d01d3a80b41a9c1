use tabia_game::History;

use super::Budget;
use crate::{Choice, Limits, Player, PlayerError, SearchControl};

/// A player whose spec says how long it thinks, whatever it is given.
pub struct Budgeted {
    player: Box<dyn Player>,
    budget: Budget,
}

impl Budgeted {
    /// The player with its budget.
    pub fn new(player: Box<dyn Player>, budget: Budget) -> Budgeted {
        Budgeted { player, budget }
    }
}

impl Player for Budgeted {
    fn name(&self) -> String {
        self.player.name()
    }

    fn new_game(&mut self) {
        self.player.new_game();
    }

    fn choose(
        &mut self,
        game: &History,
        limits: &Limits,
        watch: &dyn SearchControl,
    ) -> Result<Choice, PlayerError> {
        self.player.choose(game, &self.budget.over(limits), watch)
    }
}
