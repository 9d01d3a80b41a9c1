//! The players of a worker, built on demand.

use shakmaty::{ByColor, Chess, Color};
use tabia_players::Player;

use crate::{Entrant, Forfeit, PlayerId, PlayerLifetime, RunError, ScheduledGame, mix};

/// Idle players by entrant.
pub(crate) struct Roster {
    players: Vec<Option<Box<dyn Player>>>,
    seed: u64,
}

/// A player that cannot play a game.
pub(crate) struct Unfit {
    pub(crate) player: PlayerId,
    cause: UnfitCause,
}

enum UnfitCause {
    /// It cannot be built.
    Build(String),
    /// It does not play the opening.
    Start(String),
}

impl Unfit {
    pub(crate) fn of(self, name: String) -> RunError {
        match self.cause {
            UnfitCause::Build(reason) => RunError::Build { name, reason },
            UnfitCause::Start(reason) => RunError::Start { name, reason },
        }
    }
}

impl Roster {
    /// No players yet.
    pub(crate) fn new(entrants: usize, seed: u64) -> Roster {
        Roster { players: (0..entrants).map(|_| None).collect(), seed }
    }

    /// Takes or builds the players of a game from `start`, which both must play.
    pub(crate) fn take(
        &mut self,
        scheduled: &ScheduledGame,
        entrants: ByColor<&dyn Entrant>,
        start: &Chess,
    ) -> Result<ByColor<Box<dyn Player>>, Unfit> {
        let white = self.player(scheduled, Color::White, entrants.white)?;
        let black = self.player(scheduled, Color::Black, entrants.black)?;
        for (color, player) in [(Color::White, &white), (Color::Black, &black)] {
            let checked = player.check_start(start);
            let player = scheduled.players[color];
            checked.map_err(|error| Unfit { player, cause: UnfitCause::Start(error.to_string()) })?;
        }
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
    ) -> Result<Box<dyn Player>, Unfit> {
        let id = scheduled.players[color];
        if let Some(player) = self.players[id.0].take() {
            return Ok(player);
        }
        let seat = color.fold_wb(0, 1);
        let seed = match entrant.lifetime() {
            PlayerLifetime::PerWorker => self.seed,
            PlayerLifetime::PerGame => mix(self.seed ^ mix(2 * u64::from(scheduled.game) + seat + 1)),
        };
        entrant.build(seed).map_err(|reason| Unfit { player: id, cause: UnfitCause::Build(reason) })
    }
}
