use shakmaty::Chess;
use tabia_game::History;
use tabia_search::{Limits, SearchControl};

use crate::{Decision, Player, PlayerError};

/// A player whose decisions pass through a function, which may change its limits, check its time or record its moves.
pub struct Wrapped<F> {
    player: Box<dyn Player>,
    decide: F,
}

impl<F> Wrapped<F>
where
    F: FnMut(&mut dyn Player, &History, &Limits, &dyn SearchControl) -> Result<Decision, PlayerError> + Send,
{
    /// `decide` is called in place of the player's own [`Player::decide`].
    pub fn new(player: Box<dyn Player>, decide: F) -> Wrapped<F> {
        Wrapped { player, decide }
    }
}

impl<F> Player for Wrapped<F>
where
    F: FnMut(&mut dyn Player, &History, &Limits, &dyn SearchControl) -> Result<Decision, PlayerError> + Send,
{
    fn name(&self) -> String {
        self.player.name()
    }

    fn new_game(&mut self) {
        self.player.new_game();
    }

    fn check_start(&self, start: &Chess) -> Result<(), PlayerError> {
        self.player.check_start(start)
    }

    fn decide(
        &mut self,
        game: &History,
        limits: &Limits,
        control: &dyn SearchControl,
    ) -> Result<Decision, PlayerError> {
        (self.decide)(self.player.as_mut(), game, limits, control)
    }
}

/// The player, held to its own limits where it has any.
pub(crate) fn with_limits(player: Box<dyn Player>, own: Limits) -> Box<dyn Player> {
    if own.is_unlimited() {
        return player;
    }
    Box::new(Wrapped::new(player, move |player, game, limits, control| {
        player.decide(game, &limits.replaced_by(&own), control)
    }))
}
