//! A bot that plays at the server, with a player that follows a script.

use std::{
    sync::{Arc, Mutex},
    thread::{self, JoinHandle},
    time::Duration,
};

use shakmaty::{Position, uci::UciMove};
use tabia_game::History;
use tabia_lichess::{
    Bot, BotHandle, BotSettings, BuildPlayer, Client, Notice, Observer, RequestError, Score, Stop, Timing,
    Token,
};
use tabia_players::{Action, Choice, Decision, Limits, Player, PlayerError, SearchControl};

use crate::server::{Server, TOKEN};

/// Morphy against two allies: mate at ply 33.
pub(crate) const OPERA: [&str; 33] = [
    "e2e4", "e7e5", "g1f3", "d7d6", "d2d4", "c8g4", "d4e5", "g4f3", "d1f3", "d6e5", "f1c4", "g8f6", "f3b3",
    "d8e7", "b1c3", "c7c6", "c1g5", "b7b5", "c3b5", "c6b5", "c4b5", "b8d7", "e1c1", "a8d8", "d1d7", "d8d7",
    "h1d1", "e7e6", "b5d7", "f6d7", "b3b8", "d7b8", "d1d8",
];

/// The moves of Black.
pub(crate) fn black() -> Vec<&'static str> {
    OPERA.iter().skip(1).step_by(2).copied().collect()
}

/// The moves of White.
pub(crate) fn white() -> Vec<&'static str> {
    OPERA.iter().step_by(2).copied().collect()
}

/// Short waits.
pub(crate) fn timing() -> Timing {
    Timing {
        rate_limited: Duration::from_millis(200),
        first_retry: Duration::from_millis(10),
        longest_retry: Duration::from_millis(100),
        silence: Duration::from_secs(30),
        request: Duration::from_secs(60),
        first_move: Duration::from_secs(600),
    }
}

/// What the scripted player does at a ply besides moving.
pub(crate) type Behaviour = fn(usize) -> (Action, bool);

/// Plays the moves of [`OPERA`].
struct Scripted(Behaviour);

impl Player for Scripted {
    fn name(&self) -> String {
        "Scripted".to_owned()
    }

    fn decide(&mut self, game: &History, _: &Limits, _: &dyn SearchControl) -> Result<Decision, PlayerError> {
        let ply = game.situation().last_moves.len();
        let uci: UciMove = OPERA[ply].parse().unwrap();
        let mv = uci.to_move(game.current()).unwrap();
        assert!(game.current().is_legal(mv));
        let (action, accepts_draw) = (self.0)(ply);
        let choice = Choice { mv, ponder: None, lines: Vec::new(), nodes: 1 };
        Ok(Decision { choice, action, accepts_draw, think_time: Duration::ZERO })
    }
}

pub(crate) fn scripted(behaviour: Behaviour) -> Arc<BuildPlayer> {
    Arc::new(move |_| Ok(Box::new(Scripted(behaviour))))
}

pub(crate) fn plain(_: usize) -> (Action, bool) {
    (Action::Move, false)
}

/// What the bot has told.
#[derive(Default)]
pub(crate) struct Told {
    lines: Mutex<Vec<String>>,
    games: Mutex<Vec<String>>,
}

impl Observer for Told {
    fn notice(&self, notice: &Notice) {
        self.lines.lock().unwrap().push(notice.to_string());
    }

    fn finished(&self, game: &tabia_game::Game) {
        let mut pgn = Vec::new();
        tabia_game::write_game(game, &mut pgn).unwrap();
        self.games.lock().unwrap().push(String::from_utf8(pgn).unwrap());
    }
}

/// A running bot.
pub(crate) struct Seated {
    handle: BotHandle,
    thread: JoinHandle<Result<Score, RequestError>>,
    pub(crate) told: Arc<Told>,
}

impl Seated {
    pub(crate) fn with(
        server: &Server,
        settings: BotSettings,
        timing: Timing,
        player: Arc<BuildPlayer>,
    ) -> Seated {
        let client = Arc::new(Client::new(&server.url(), Token::new(TOKEN).unwrap(), timing).unwrap());
        let account = client.account().unwrap();
        let told = Arc::new(Told::default());
        let (bot, handle) =
            Bot::new(client, &account, settings, player, Arc::clone(&told) as Arc<dyn Observer>);
        Seated { handle, thread: thread::spawn(|| bot.run()), told }
    }

    /// A bot that plays this many games.
    pub(crate) fn for_games(server: &Server, games: u64) -> Seated {
        let settings = BotSettings { games: Some(games), ..BotSettings::default() };
        Seated::with(server, settings, timing(), scripted(plain))
    }

    pub(crate) fn stop(&self, how: Stop) {
        self.handle.stop(how);
    }

    /// Waits for its end.
    pub(crate) fn end(self) -> (Result<Score, RequestError>, Vec<String>, Vec<String>) {
        let score = self.thread.join().unwrap();
        let lines = std::mem::take(&mut *self.told.lines.lock().unwrap());
        let games = std::mem::take(&mut *self.told.games.lock().unwrap());
        for line in &lines {
            assert!(!line.contains(TOKEN) && !line.contains('\n'), "{line}");
        }
        (score, lines, games)
    }
}

/// That the game was played as in the book, and nothing was sent that should not be.
#[track_caller]
pub(crate) fn assert_played(server: &Server, id: &str) {
    let state = server.state();
    let game = &state.games[id];
    assert_eq!(
        (game.moves.join(" "), game.status.as_str()),
        (OPERA.join(" "), "mate"),
        "{:#?}",
        state.requests
    );
    assert!(state.violations.is_empty(), "{:#?}", state.violations);
    assert_eq!(state.faults_left(), 0);
}
