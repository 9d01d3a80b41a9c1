//! A game as the server's lines tell it.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::time::Duration;

use shakmaty::{ByColor, CastlingMode, Chess, Color, Move, Position as _, uci::UciMove};
use tabia_game::{DrawReason, Game, History, NodeId, Outcome, Status, WinReason, position_from_fen};
use tabia_players::{Limits, TimeLeft};

use crate::events::{GameFull, GameState, Person, Speed};

/// A game that the bot plays.
pub struct Followed {
    game: Game,
    bot: Color,
    opponent: Person,
    has_clock: bool,
    /// How castling is written.
    castling: CastlingMode,
    /// As the server writes them.
    moves: Vec<String>,
    at: NodeId,
    position: Chess,
    state: GameState,
}

/// Why a game cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CannotFollow {
    /// The bot plays neither side.
    #[error("it is a game of others")]
    NotOurs,
    /// The starting position is not one of chess.
    #[error("it starts from {0:?}: {1}")]
    Start(String, String),
    /// A move is not legal.
    #[error("{0:?} at ply {1} is not legal")]
    Move(String, usize),
}

/// What a state says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// Moves were made.
    Moves,
    /// None were.
    NoMoves,
    /// It is older than what is known, and was ignored.
    Old,
}

impl Followed {
    /// The game at the beginning of its stream, as the user of this name or id sees it; `server` is for its address in PGN.
    ///
    /// # Errors
    /// If the user does not play in it, or it is not a game of chess.
    pub fn new(full: &GameFull, user: &str, server: &str) -> Result<Followed, CannotFollow> {
        let bot = match (full.white.is(user), full.black.is(user)) {
            (true, _) => Color::White,
            (false, true) => Color::Black,
            (false, false) => return Err(CannotFollow::NotOurs),
        };
        let start = match full.initial_fen.as_str() {
            "" | "startpos" => Chess::default(),
            fen => position_from_fen(fen)
                .map_err(|error| CannotFollow::Start(fen.to_owned(), error.to_string()))?,
        };
        // In chess960 the king takes its rook; elsewhere it moves two squares.
        let castling = match full.variant.key.as_str() {
            "chess960" => CastlingMode::Chess960,
            _ => start.castles().mode(),
        };
        let mut game = Game::from_position(start.clone());
        write_headers(&mut game, full, server);
        let mut followed = Followed {
            game,
            bot,
            opponent: bot.fold_wb(&full.black, &full.white).clone(),
            has_clock: full.clock.is_some(),
            castling,
            moves: Vec::new(),
            at: NodeId::ROOT,
            position: start,
            state: GameState::default(),
        };
        followed.replay(&full.state)?;
        Ok(followed)
    }

    /// The beginning of another stream of the same game: what it says counts, whatever was known.
    ///
    /// # Errors
    /// If a move is not legal.
    pub fn restart(&mut self, full: &GameFull) -> Result<News, CannotFollow> {
        self.replay(&full.state)
    }

    /// A state of the stream.
    ///
    /// # Errors
    /// If a move is not legal.
    pub fn update(&mut self, state: &GameState) -> Result<News, CannotFollow> {
        let told: Vec<&str> = state.moves.split_ascii_whitespace().collect();
        // Moves are never taken back: a shorter game was told earlier.
        if told.len() < self.moves.len() && state.is_running() && self.agrees(&told) {
            return Ok(News::Old);
        }
        self.replay(state)
    }

    /// Whether the moves are those known, as far as they go.
    fn agrees(&self, told: &[&str]) -> bool {
        told.iter().zip(&self.moves).all(|(told, known)| told == known)
    }

    fn replay(&mut self, state: &GameState) -> Result<News, CannotFollow> {
        let told: Vec<&str> = state.moves.split_ascii_whitespace().collect();
        if told.len() < self.moves.len() || !self.agrees(&told) {
            // Another game than was known: it is read from the start.
            self.at = NodeId::ROOT;
            self.position = self.game.start().clone();
            self.moves.clear();
            let first = self.game.mainline().next();
            if let Some(first) = first {
                self.game.delete(first);
            }
        }
        let new = told.get(self.moves.len()..).unwrap_or_default();
        let news = if new.is_empty() { News::NoMoves } else { News::Moves };
        for uci in new {
            let ply = self.moves.len();
            let illegal = || CannotFollow::Move((*uci).to_owned(), ply);
            let parsed: UciMove = uci.parse().map_err(|_| illegal())?;
            let m = parsed.to_move(&self.position).map_err(|_| illegal())?;
            self.at = self.game.add_move(self.at, m).map_err(|_| illegal())?;
            self.position.play_unchecked(m);
            self.moves.push((*uci).to_owned());
        }
        self.state = state.clone();
        if news == News::Moves && self.has_clock {
            let clock = self.clock(!self.position.turn());
            self.game.notes_mut(self.at).clock = Some(clock);
        }
        if let Some(outcome) = self.outcome() {
            self.game.finish(outcome);
        }
        Ok(news)
    }

    /// The number of moves by both sides.
    pub fn plies(&self) -> usize {
        self.moves.len()
    }

    /// The opponent.
    pub fn opponent(&self) -> &Person {
        &self.opponent
    }

    /// The bot's colour.
    pub fn bot(&self) -> Color {
        self.bot
    }

    /// The last state.
    pub fn state(&self) -> &GameState {
        &self.state
    }

    /// Whether the bot is to move in a game that goes on.
    pub fn is_bots_turn(&self) -> bool {
        self.state.is_running() && self.position.turn() == self.bot && !self.position.legal_moves().is_empty()
    }

    /// The game as PGN has it.
    pub fn game(&self) -> &Game {
        &self.game
    }

    /// A move as the server reads it.
    pub fn uci(&self, m: Move) -> UciMove {
        m.to_uci(self.castling)
    }

    /// Whether a draw by repetition or the fifty moves can be claimed.
    pub fn can_claim_draw(&self) -> bool {
        matches!(self.game.status(self.at), Status::Ongoing { claim: Some(_) })
    }

    fn clock(&self, color: Color) -> Duration {
        let millis = color.fold_wb(self.state.wtime, self.state.btime);
        Duration::from_millis(millis.try_into().unwrap_or(0))
    }

    fn increment(&self, color: Color) -> Duration {
        let millis = color.fold_wb(self.state.winc, self.state.binc);
        Duration::from_millis(millis.try_into().unwrap_or(0))
    }

    /// The game as players see it, with the clocks of the last state.
    pub fn history(&self) -> History {
        let mut history = self.game.history(self.at);
        if self.has_clock {
            for color in Color::ALL {
                history.set_time_left(color, Some(self.clock(color)));
            }
        }
        history
    }

    /// The limits of the bot's move: its clock less `overhead`, the time that a move needs to reach the server and be
    /// noticed there; without clocks, `untimed` for a move.
    pub fn limits(&self, overhead: Duration, untimed: Duration) -> Limits {
        if !self.has_clock {
            return Limits { movetime: Some(untimed), ..Limits::default() };
        }
        let left = |color: Color| {
            let clock = self.clock(color);
            let remaining = if color == self.bot { usable(clock, overhead) } else { clock };
            TimeLeft { remaining, increment: self.increment(color) }
        };
        Limits { clocks: Some(ByColor::new_with(left)), ..Limits::default() }
    }

    /// When the bot must have moved, counted from the last state; `None` without clocks.
    pub fn latest(&self, overhead: Duration) -> Option<Duration> {
        self.has_clock.then(|| usable(self.clock(self.bot), overhead))
    }

    /// How the game ended; `None` while it goes on.
    pub fn outcome(&self) -> Option<Outcome> {
        if self.state.is_running() {
            return None;
        }
        let winner = self.state.winner.map(Color::from);
        let won = |by: WinReason| match winner {
            Some(winner) => Outcome::Win { winner, by },
            None => Outcome::Abandoned,
        };
        Some(match (self.state.status.as_str(), winner) {
            ("mate", _) => won(WinReason::Checkmate),
            ("resign", _) => won(WinReason::Resignation),
            ("outoftime", Some(_)) => won(WinReason::Timeout),
            ("outoftime", None) => Outcome::Draw(DrawReason::TimeoutVsInsufficientMaterial),
            ("timeout", None) => Outcome::Draw(DrawReason::Agreement),
            ("cheat", _) => won(WinReason::RulesInfraction),
            ("stalemate", _) => Outcome::Draw(DrawReason::Stalemate),
            ("insufficientMaterialClaim", _) => Outcome::Draw(DrawReason::InsufficientMaterial),
            ("draw", _) => match self.game.status(self.at) {
                Status::Over(Outcome::Draw(reason)) | Status::Ongoing { claim: Some(reason) } => {
                    Outcome::Draw(reason)
                }
                _ => Outcome::Draw(DrawReason::Agreement),
            },
            ("aborted", _) => Outcome::Abandoned,
            _ => won(WinReason::Abandonment),
        })
    }
}

/// The clock less the overhead, but at least half of it.
fn usable(clock: Duration, overhead: Duration) -> Duration {
    clock.saturating_sub(overhead).max(clock / 2)
}

fn write_headers(game: &mut Game, full: &GameFull, server: &str) {
    let mut set = |name: &str, value: String| {
        // A name of our own is valid.
        let _valid = game.headers.set(name, value);
    };
    let rated = if full.rated { "Rated" } else { "Casual" };
    let speed = full.speed.name();
    let speed = if full.speed == Speed::Unknown { String::new() } else { format!("{} ", capitalised(speed)) };
    set("Event", format!("{rated} {speed}game"));
    set("Site", format!("{server}/{}", full.id));
    if let Ok(made) = time::OffsetDateTime::from_unix_timestamp(full.created_at / 1000)
        && full.created_at > 0
    {
        let date = format!("{:04}.{:02}.{:02}", made.year(), u8::from(made.month()), made.day());
        set("Date", date.clone());
        set("UTCDate", date);
        set("UTCTime", format!("{:02}:{:02}:{:02}", made.hour(), made.minute(), made.second()));
    }
    set("White", full.white.shown());
    set("Black", full.black.shown());
    for (color, person) in [("White", &full.white), ("Black", &full.black)] {
        if let Some(rating) = person.rating {
            set(&format!("{color}Elo"), rating.to_string());
        }
        if let Some(title) = &person.title {
            set(&format!("{color}Title"), title.clone());
        }
    }
    let control = full
        .clock
        .map_or("-".to_owned(), |clock| format!("{}+{}", clock.initial / 1000, clock.increment / 1000));
    set("TimeControl", control);
    if full.variant.key == "chess960" {
        set("Variant", "Chess960".to_owned());
    }
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GameLine;

    fn full(fen: &str, moves: &str) -> GameFull {
        let text = format!(
            r#"{{"type":"gameFull","id":"abcdefgh","variant":{{"key":"standard"}},"speed":"blitz","rated":true,
            "createdAt":1745112707998,"white":{{"id":"mary","name":"Mary","rating":1021}},
            "black":{{"id":"tabia","name":"Tabia","title":"BOT","rating":1500}},"initialFen":"{fen}",
            "clock":{{"initial":180000,"increment":2000}},"state":{{"type":"gameState","moves":"{moves}",
            "wtime":170000,"btime":160000,"winc":2000,"binc":2000,"status":"started"}}}}"#
        );
        match GameLine::parse(&text) {
            Ok(Some(GameLine::GameFull(full))) => *full,
            other => panic!("{other:?}"),
        }
    }

    fn state(moves: &str, status: &str) -> GameState {
        GameState {
            moves: moves.into(),
            status: status.into(),
            wtime: 100,
            btime: 50_000,
            ..GameState::default()
        }
    }

    #[test]
    fn moves_arrive_once_in_any_order() {
        let mut game = Followed::new(&full("startpos", "e2e4"), "TABIA", "https://lichess.org").unwrap();
        assert!(game.is_bots_turn() && game.bot() == Color::Black);
        assert_eq!(game.update(&state("e2e4", "started")), Ok(News::NoMoves));
        assert_eq!(game.update(&state("e2e4 e7e5 g1f3", "started")), Ok(News::Moves));
        assert_eq!(game.update(&state("e2e4", "started")), Ok(News::Old));
        assert_eq!((game.plies(), game.is_bots_turn()), (3, true));
        // A new stream is believed.
        assert_eq!(game.restart(&full("startpos", "e2e4 c7c5")), Ok(News::Moves));
        assert_eq!((game.plies(), game.is_bots_turn()), (2, false));
        assert_eq!(
            game.update(&state("e2e4 c7c5 a1a5", "started")),
            Err(CannotFollow::Move("a1a5".into(), 2))
        );
        assert_eq!(Followed::new(&full("startpos", ""), "bob", "").err(), Some(CannotFollow::NotOurs));
        assert!(matches!(Followed::new(&full("8/8 w", ""), "mary", ""), Err(CannotFollow::Start(..))));
    }

    #[test]
    fn a_finished_game_is_pgn() {
        let mut game = Followed::new(&full("startpos", ""), "tabia", "https://lichess.org").unwrap();
        for (moves, clock) in [("f2f3", 170_000), ("f2f3 e7e5", 158_000), ("f2f3 e7e5 g2g4", 168_500)] {
            let time = GameState { wtime: clock, btime: clock, ..state(moves, "started") };
            game.update(&time).unwrap();
        }
        let mate =
            GameState { winner: Some(crate::events::Winner::Black), ..state("f2f3 e7e5 g2g4 d8h4", "mate") };
        game.update(&mate).unwrap();
        let mut pgn = Vec::new();
        tabia_game::write_game(game.game(), &mut pgn).unwrap();
        let pgn = String::from_utf8(pgn).unwrap();
        for part in [
            r#"[Event "Rated Blitz game"]"#,
            r#"[Site "https://lichess.org/abcdefgh"]"#,
            r#"[Date "2025.04.20"]"#,
            r#"[BlackTitle "BOT"]"#,
            r#"[WhiteElo "1021"]"#,
            r#"[TimeControl "180+2"]"#,
            "1. f3 {[%clk 0:02:50]} 1... e5 {[%clk 0:02:38]}",
            "Qh4#",
            "0-1",
        ] {
            assert!(pgn.contains(part), "{part} in {pgn}");
        }
    }

    #[test]
    fn outcomes_are_those_of_the_server() {
        use crate::events::Winner;
        let outcome = |status: &str, winner, moves: &str| {
            let mut game = Followed::new(&full("startpos", ""), "mary", "").unwrap();
            game.update(&GameState { winner, ..state(moves, status) }).unwrap();
            game.outcome().map(Outcome::reason)
        };
        assert_eq!(outcome("started", None, "e2e4"), None);
        assert_eq!(outcome("resign", Some(Winner::White), "e2e4"), Some("resignation"));
        assert_eq!(outcome("outoftime", Some(Winner::White), "e2e4"), Some("time forfeit"));
        assert_eq!(outcome("outoftime", None, "e2e4"), Some("time forfeit against insufficient material"));
        assert_eq!(outcome("draw", None, "e2e4"), Some("agreement"));
        let again = "g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1 f6g8";
        assert_eq!(outcome("draw", None, again), Some("threefold repetition"));
        assert_eq!(outcome("timeout", Some(Winner::Black), "e2e4"), Some("abandonment"));
        assert_eq!(outcome("aborted", None, ""), Some("abandonment"));
        assert_eq!(outcome("something new", None, ""), Some("abandonment"));
    }

    #[test]
    fn clocks_leave_time_for_the_way() {
        let game = Followed::new(&full("startpos", "e2e4"), "tabia", "").unwrap();
        let (overhead, untimed) = (Duration::from_secs(1), Duration::from_secs(5));
        let clocks = game.limits(overhead, untimed).clocks.unwrap();
        assert_eq!(clocks.black.remaining, Duration::from_secs(159), "the bot's");
        assert_eq!(clocks.white.remaining, Duration::from_secs(170), "the opponent's");
        assert_eq!(clocks.black.increment, Duration::from_secs(2));
        assert_eq!(game.latest(overhead), Some(Duration::from_secs(159)));
        assert_eq!(usable(Duration::from_millis(600), overhead), Duration::from_millis(300));
        let history = game.history();
        assert_eq!(history.situation().mover.time_left, Some(Duration::from_secs(160)));
        let slow = GameFull { clock: None, ..full("startpos", "e2e4") };
        let game = Followed::new(&slow, "tabia", "").unwrap();
        let limits = game.limits(overhead, untimed);
        assert_eq!((limits.clocks, limits.movetime), (None, Some(untimed)));
        assert_eq!(game.latest(overhead), None);
    }

    #[test]
    fn castling_is_written_as_the_variant_does() {
        let castle = |fen: &str, color: &str| {
            let game = Followed::new(&full(fen, ""), color, "").unwrap();
            let m = game.position.legal_moves().into_iter().find(|m| m.is_castle()).unwrap();
            game.uci(m).to_string()
        };
        assert_eq!(castle("4k3/8/8/8/8/8/8/4K2R w K - 0 1", "mary"), "e1g1");
        assert_eq!(castle("4k3/8/8/8/8/8/8/1K4R1 w K - 0 1", "mary"), "b1g1");
        let mut game = Followed::new(&full("4k3/8/8/8/8/8/8/4K2R w K - 0 1", ""), "mary", "").unwrap();
        assert_eq!(game.update(&state("e1h1", "started")), Ok(News::Moves), "both ways are read");
    }
}
