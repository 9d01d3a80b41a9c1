//! A worker thread that plays games with its own players.

use std::sync::mpsc::{Receiver, Sender, channel};

use shakmaty::ByColor;

use crate::{
    Entrant, Openings, PlayedGame, Rules, ScheduledGame, Stop, Timer, play_game,
    roster::{Roster, Unfit},
};

/// Result of a game.
pub(crate) enum WorkerEvent {
    Finished {
        worker: usize,
        scheduled: ScheduledGame,
        played: Box<PlayedGame>,
    },
    /// The game was aborted by a stop request.
    Aborted,
    /// A player cannot be built, or does not play the opening.
    Unfit(Unfit),
}

/// Shared by all workers of a run.
#[derive(Clone, Copy)]
pub(crate) struct WorkerContext<'a> {
    pub(crate) entrants: &'a [&'a dyn Entrant],
    pub(crate) openings: &'a Openings,
    pub(crate) rules: &'a Rules,
    pub(crate) seed: u64,
    pub(crate) timer: &'a dyn Timer,
    pub(crate) stop: &'a Stop,
}

pub(crate) struct Worker<'a> {
    number: usize,
    context: WorkerContext<'a>,
    games: Receiver<ScheduledGame>,
    events: Sender<WorkerEvent>,
    roster: Roster,
}

impl Worker<'_> {
    /// A worker and the channel that gives it games. It ends when that channel is closed.
    pub(crate) fn new(
        number: usize,
        context: WorkerContext<'_>,
        events: Sender<WorkerEvent>,
    ) -> (Sender<ScheduledGame>, Worker<'_>) {
        let (sender, games) = channel();
        let roster = Roster::new(context.entrants.len(), context.seed);
        (sender, Worker { number, context, games, events, roster })
    }

    /// Plays until the channel is closed, a game is aborted or a player cannot be built.
    pub(crate) fn run(mut self) {
        while let Ok(scheduled) = self.games.recv() {
            let event = match self.play(scheduled) {
                Ok(Some(played)) => {
                    WorkerEvent::Finished { worker: self.number, scheduled, played: Box::new(played) }
                }
                Ok(None) => WorkerEvent::Aborted,
                Err(unfit) => WorkerEvent::Unfit(unfit),
            };
            let is_last = !matches!(event, WorkerEvent::Finished { .. });
            if self.events.send(event).is_err() || is_last {
                break;
            }
        }
    }

    fn play(&mut self, scheduled: ScheduledGame) -> Result<Option<PlayedGame>, Unfit> {
        let WorkerContext { entrants, openings, rules, timer, stop, .. } = self.context;
        let entrants = scheduled.players.map(|id| entrants[id.0]);
        let opening = scheduled.opening_of(openings);
        let mut players = self.roster.take(&scheduled, entrants, opening.start())?;
        let ByColor { white, black } = &mut players;
        let seats = ByColor { white: white.as_mut(), black: black.as_mut() };
        let played = play_game(seats, opening, &rules.seated(scheduled.players), timer, stop);
        let forfeit = played.as_ref().and_then(|played| played.forfeit.as_ref());
        self.roster.put_back(&scheduled, entrants, players, forfeit);
        Ok(played)
    }
}
