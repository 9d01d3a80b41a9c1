//! The players of one thread: made where they are needed, kept where they may be.

use shakmaty::{ByColor, Color};
use tabia_players::Player;

use crate::{Entrant, Fault, Fixture, Lifetime, PlayerId, mix};

/// The players that live from game to game, by entrant.
pub(crate) struct Roster {
    players: Vec<Option<Box<dyn Player>>>,
    seed: u64,
}

impl Roster {
    /// Nobody yet, of so many entrants in a run with this seed.
    pub(crate) fn new(entrants: usize, seed: u64) -> Roster {
        Roster { players: (0..entrants).map(|_| None).collect(), seed }
    }

    /// The players of a game.
    pub(crate) fn call(
        &mut self,
        fixture: &Fixture,
        entrants: ByColor<&dyn Entrant>,
    ) -> Result<ByColor<Box<dyn Player>>, (PlayerId, String)> {
        let white = self.player(fixture, Color::White, entrants.white)?;
        let black = self.player(fixture, Color::Black, entrants.black)?;
        Ok(ByColor { white, black })
    }

    /// After a game, keeps the players that may live on.
    pub(crate) fn dismiss(
        &mut self,
        fixture: &Fixture,
        entrants: ByColor<&dyn Entrant>,
        players: ByColor<Box<dyn Player>>,
        fault: Option<&Fault>,
    ) {
        let ByColor { white, black } = players;
        for (color, player) in [(Color::White, white), (Color::Black, black)] {
            let spoiled = fault.is_some_and(|fault| fault.by == color && fault.kind.spoils_player());
            let keeps = entrants[color].lifetime() == Lifetime::Worker && !spoiled;
            self.players[fixture.players[color].0] = keeps.then_some(player);
        }
    }

    fn player(
        &mut self,
        fixture: &Fixture,
        color: Color,
        entrant: &dyn Entrant,
    ) -> Result<Box<dyn Player>, (PlayerId, String)> {
        let id = fixture.players[color];
        if let Some(player) = self.players[id.0].take() {
            return Ok(player);
        }
        let seat = color.fold_wb(0, 1);
        let seed = match entrant.lifetime() {
            Lifetime::Worker => self.seed,
            Lifetime::Game => mix(self.seed ^ mix(2 * u64::from(fixture.game) + seat + 1)),
        };
        entrant.build(seed).map_err(|what| (id, what))
    }
}
