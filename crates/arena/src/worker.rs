//! One thread's share of a run: plays the games it is handed with players of its own.

use std::sync::mpsc::{Receiver, Sender, channel};

use shakmaty::ByColor;

use crate::{
    Entrant, Fixture, Openings, PlayedGame, PlayerId, Rules, Stop, Timer, play_game, roster::Roster,
};

/// A game to play. A worker that is sent no more orders ends.
pub(crate) struct Order(pub(crate) Fixture);

/// What a worker reports.
pub(crate) enum News {
    /// A game is finished.
    Finished { worker: usize, fixture: Fixture, played: Box<PlayedGame> },
    /// A game was given up because the run is to stop.
    GivenUp,
    /// A player cannot be made.
    NoPlayer { player: PlayerId, what: String },
}

/// What all workers of a run share.
#[derive(Clone, Copy)]
pub(crate) struct WorkerContext<'a> {
    pub(crate) entrants: &'a [&'a dyn Entrant],
    pub(crate) openings: &'a Openings,
    pub(crate) rules: &'a Rules,
    pub(crate) seed: u64,
    pub(crate) timer: &'a dyn Timer,
    pub(crate) stop: &'a Stop,
}

/// Where orders go.
pub(crate) struct WorkerHandle {
    orders: Sender<Order>,
}

impl WorkerHandle {
    /// Hands over a game. A worker that is gone has said why.
    pub(crate) fn play(&self, fixture: Fixture) {
        let _ = self.orders.send(Order(fixture));
    }
}

/// The worker itself.
pub(crate) struct WorkerActor<'a> {
    number: usize,
    hall: WorkerContext<'a>,
    orders: Receiver<Order>,
    news: Sender<News>,
    roster: Roster,
}

/// A worker with its handle.
pub(crate) fn worker(
    number: usize,
    hall: WorkerContext<'_>,
    news: Sender<News>,
) -> (WorkerHandle, WorkerActor<'_>) {
    let (orders, inbox) = channel();
    let roster = Roster::new(hall.entrants.len(), hall.seed);
    (WorkerHandle { orders }, WorkerActor { number, hall, orders: inbox, news, roster })
}

impl WorkerActor<'_> {
    /// Plays until no more orders come, or a player cannot be made.
    pub(crate) fn run(mut self) {
        while let Ok(Order(fixture)) = self.orders.recv() {
            let (news, goes_on) = match self.play(fixture) {
                Ok(Some(played)) => {
                    (News::Finished { worker: self.number, fixture, played: Box::new(played) }, true)
                }
                Ok(None) => (News::GivenUp, false),
                Err((player, what)) => (News::NoPlayer { player, what }, false),
            };
            // The run ends when nobody listens any more.
            if self.news.send(news).is_err() || !goes_on {
                break;
            }
        }
    }

    fn play(&mut self, fixture: Fixture) -> Result<Option<PlayedGame>, (PlayerId, String)> {
        let entrants = fixture.players.map(|id| self.hall.entrants[id.0]);
        let mut players = self.roster.call(&fixture, entrants)?;
        let opening = &self.hall.openings.list()[fixture.opening];
        let ByColor { white, black } = &mut players;
        let seats = ByColor { white: white.as_mut(), black: black.as_mut() };
        let played = play_game(seats, opening, self.hall.rules, self.hall.timer, self.hall.stop);
        let fault = played.as_ref().and_then(|played| played.fault.as_ref());
        self.roster.dismiss(&fixture, entrants, players, fault);
        Ok(played)
    }
}
