//! The players of a worker, built on demand.

use shakmaty::{ByColor, Color};
use tabia_players::Player;

use crate::{Entrant, Forfeit, PlayerId, PlayerLifetime, ScheduledGame, mix};

/// Idle players by entrant.
pub(crate) struct Roster {
    players: Vec<Option<Box<dyn Player>>>,
    seed: u64,
}

impl Roster {
    /// No players yet.
    pub(crate) fn new(entrants: usize, seed: u64) -> Roster {
        Roster { players: (0..entrants).map(|_| None).collect(), seed }
    }

    /// Takes or builds the players of a game.
    pub(crate) fn take(
        &mut self,
        scheduled: &ScheduledGame,
        entrants: ByColor<&dyn Entrant>,
    ) -> Result<ByColor<Box<dyn Player>>, (PlayerId, String)> {
        let white = self.player(scheduled, Color::White, entrants.white)?;
        let black = self.player(scheduled, Color::Black, entrants.black)?;
        Ok(ByColor { white, black })
    }

    /// Keeps the players that can be reused after a game.
    pub(crate) fn put_back(
        &mut self,
        scheduled: &ScheduledGame,
        entrants: ByColor<&dyn Entrant>,
        players: ByColor<Box<dyn Player>>,
        forfeit: Option<&Forfeit>,
    ) {
        let ByColor { white, black } = players;
        for (color, player) in [(Color::White, white), (Color::Black, black)] {
            let failed =
                forfeit.is_some_and(|forfeit| forfeit.by == color && forfeit.reason.requires_rebuild());
            let reusable = entrants[color].lifetime() == PlayerLifetime::PerWorker && !failed;
            self.players[scheduled.players[color].0] = reusable.then_some(player);
        }
    }

    fn player(
        &mut self,
        scheduled: &ScheduledGame,
        color: Color,
        entrant: &dyn Entrant,
    ) -> Result<Box<dyn Player>, (PlayerId, String)> {
        let id = scheduled.players[color];
        if let Some(player) = self.players[id.0].take() {
            return Ok(player);
        }
        let seat = color.fold_wb(0, 1);
        let seed = match entrant.lifetime() {
            PlayerLifetime::PerWorker => self.seed,
            PlayerLifetime::PerGame => mix(self.seed ^ mix(2 * u64::from(scheduled.game) + seat + 1)),
        };
        entrant.build(seed).map_err(|reason| (id, reason))
    }
}
