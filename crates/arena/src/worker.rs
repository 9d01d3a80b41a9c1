//! One thread's share of a run: plays the games it is handed with players of its own.

use std::sync::mpsc::{Receiver, Sender, channel};

use shakmaty::ByColor;
use tabia_search::Player;

use crate::{
    Entrant, Fault, Fixture, Lifetime, Openings, PlayedGame, PlayerId, Rules, Stop, Timer, mix, play_game,
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
pub(crate) struct Hall<'a> {
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
    hall: Hall<'a>,
    orders: Receiver<Order>,
    news: Sender<News>,
    players: Vec<Option<Box<dyn Player>>>,
}

/// A worker with its handle.
pub(crate) fn worker(number: usize, hall: Hall<'_>, news: Sender<News>) -> (WorkerHandle, WorkerActor<'_>) {
    let (orders, inbox) = channel();
    let players = hall.entrants.iter().map(|_| None).collect();
    (WorkerHandle { orders }, WorkerActor { number, hall, orders: inbox, news, players })
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
        let ByColor { white, black } = fixture.players;
        let mut white_player = self.player(white, fixture, 0)?;
        let mut black_player = self.player(black, fixture, 1)?;
        let opening = &self.hall.openings.list()[fixture.opening];
        let players = ByColor { white: white_player.as_mut(), black: black_player.as_mut() };
        let played = play_game(players, opening, self.hall.rules, self.hall.timer, self.hall.stop);
        let fault = played.as_ref().and_then(|played| played.fault.clone());
        for (color, id, player) in
            [(shakmaty::Color::White, white, white_player), (shakmaty::Color::Black, black, black_player)]
        {
            let spoiled = matches!(&fault, Some(Fault { by, kind }) if *by == color && kind.spoils_player());
            let keeps = self.hall.entrants[id.0].lifetime() == Lifetime::Worker && !spoiled;
            self.players[id.0] = keeps.then_some(player);
        }
        Ok(played)
    }

    /// The worker's player, made where there is none; it comes back after the game.
    fn player(
        &mut self,
        id: PlayerId,
        fixture: Fixture,
        seat: u64,
    ) -> Result<Box<dyn Player>, (PlayerId, String)> {
        if let Some(player) = self.players[id.0].take() {
            return Ok(player);
        }
        let entrant = self.hall.entrants[id.0];
        let seed = match entrant.lifetime() {
            Lifetime::Worker => self.hall.seed,
            Lifetime::Game => mix(self.hall.seed ^ mix(2 * u64::from(fixture.game) + seat + 1)),
        };
        entrant.build(seed).map_err(|what| (id, what))
    }
}
