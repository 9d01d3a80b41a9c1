//! What the server sends: one JSON object a line. Unknown types and fields are ignored.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use serde::Deserialize;
use shakmaty::Color;

/// A line that is not what it should be.
#[derive(Debug, thiserror::Error)]
#[error("unreadable line from the server: {0}")]
pub struct BadLine(serde_json::Error);

/// Reads a line; `None` for the blank lines that keep a connection alive.
fn parse<'a, T: Deserialize<'a>>(line: &'a str) -> Result<Option<T>, BadLine> {
    let line = line.trim();
    if line.is_empty() {
        return Ok(None);
    }
    serde_json::from_str(line).map(Some).map_err(BadLine)
}

/// A line of the account's stream, `/api/stream/event`.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Event {
    /// A game has started, or goes on when the stream opens.
    GameStart {
        /// Which.
        game: GameRef,
    },
    /// A game has ended.
    GameFinish {
        /// Which.
        game: GameRef,
    },
    /// A challenge to the account, or by it.
    Challenge {
        /// Its terms.
        challenge: Box<Challenge>,
    },
    /// A challenge was withdrawn.
    ChallengeCanceled {
        /// Its terms.
        challenge: Box<Challenge>,
    },
    /// A challenge by the account was declined.
    ChallengeDeclined {
        /// Its terms.
        challenge: Box<Challenge>,
    },
    /// Something that bots do not need.
    #[serde(other)]
    Other,
}

impl Event {
    /// Reads a line; `None` for a blank one.
    ///
    /// # Errors
    /// If it is no event.
    pub fn parse(line: &str) -> Result<Option<Event>, BadLine> {
        parse(line)
    }
}

/// A game in an event.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GameRef {
    /// Its id, also in its address.
    pub game_id: String,
}

/// A challenge.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Challenge {
    /// Its id, which becomes that of the game.
    pub id: String,
    /// Who challenges; unknown for anonymous users.
    pub challenger: Option<Person>,
    /// Who is challenged; unknown for open challenges.
    pub dest_user: Option<Person>,
    /// The variant.
    pub variant: Variant,
    /// Whether ratings change.
    pub rated: bool,
    /// The speed, by the server's names.
    pub speed: Speed,
    /// The time control.
    pub time_control: ChallengeClock,
    /// The position the game starts from, where it is not the usual one.
    pub initial_fen: Option<String>,
    /// The game that this is a rematch of.
    pub rematch_of: Option<String>,
}

/// A user, as challenges and games show them.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Person {
    /// The name in lower case; none for the server's own engine.
    pub id: Option<String>,
    /// The name.
    pub name: Option<String>,
    /// `GM`, `BOT` and others.
    pub title: Option<String>,
    /// The rating for the game's speed.
    pub rating: Option<u16>,
    /// The level of the server's own engine.
    pub ai_level: Option<u8>,
}

impl Person {
    /// The name on one line, or what stands for it.
    pub fn shown(&self) -> String {
        match (self.name.as_ref().or(self.id.as_ref()), self.ai_level) {
            (_, Some(level)) => format!("Stockfish level {level}"),
            (Some(name), None) => name.chars().filter(|c| !c.is_control()).collect(),
            (None, None) => "Anonymous".to_owned(),
        }
    }

    /// Whether the account is a bot.
    pub fn is_bot(&self) -> bool {
        self.title.as_deref() == Some("BOT") || self.ai_level.is_some()
    }

    /// Whether this is the user of a name or id.
    pub fn is(&self, name: &str) -> bool {
        [&self.id, &self.name].into_iter().flatten().any(|own| own.eq_ignore_ascii_case(name))
    }
}

/// The variant of a game.
#[derive(Clone, Debug, Deserialize)]
pub struct Variant {
    /// `standard`, `chess960`, `fromPosition` and others.
    pub key: String,
}

/// The speed of a game by the server's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Speed {
    /// Below half a minute for 40 moves; not for bots.
    UltraBullet,
    /// Below 3 minutes.
    Bullet,
    /// Below 8 minutes.
    Blitz,
    /// Below 25 minutes.
    Rapid,
    /// Longer.
    Classical,
    /// Days for a move, or unlimited.
    Correspondence,
    /// A speed this program does not know.
    #[serde(other)]
    Unknown,
}

impl Speed {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Speed::UltraBullet => "ultrabullet",
            Speed::Bullet => "bullet",
            Speed::Blitz => "blitz",
            Speed::Rapid => "rapid",
            Speed::Classical => "classical",
            Speed::Correspondence => "correspondence",
            Speed::Unknown => "unknown",
        }
    }
}

/// The time control of a challenge.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum ChallengeClock {
    /// A clock.
    Clock {
        /// Seconds for the game.
        limit: u32,
        /// Seconds for a move.
        increment: u32,
    },
    /// Days for a move, or no limit at all.
    #[serde(other)]
    None,
}

/// A line of a game's stream, `/api/bot/game/stream/ID`.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum GameLine {
    /// The whole game: the first line of every stream.
    GameFull(Box<GameFull>),
    /// What has changed.
    GameState(GameState),
    /// Whether the opponent has left.
    #[serde(rename_all = "camelCase")]
    OpponentGone {
        /// Whether they are gone.
        gone: bool,
        /// When a win can be claimed.
        claim_win_in_seconds: Option<u64>,
    },
    /// Chat, and what bots do not need.
    #[serde(other)]
    Other,
}

impl GameLine {
    /// Reads a line; `None` for a blank one.
    ///
    /// # Errors
    /// If it is no line of a game.
    pub fn parse(line: &str) -> Result<Option<GameLine>, BadLine> {
        parse(line)
    }
}

/// A game, as its stream begins.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GameFull {
    /// Its id.
    pub id: String,
    /// The variant.
    pub variant: Variant,
    /// The speed.
    pub speed: Speed,
    /// Whether ratings change.
    pub rated: bool,
    /// The time control; none in correspondence games.
    pub clock: Option<GameClock>,
    /// When it was made, in milliseconds since 1970.
    #[serde(default)]
    pub created_at: i64,
    /// White.
    pub white: Person,
    /// Black.
    pub black: Person,
    /// The position it starts from; `startpos` is the usual one.
    #[serde(default)]
    pub initial_fen: String,
    /// The moves, clocks and offers so far.
    pub state: GameState,
}

/// The time control of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct GameClock {
    /// Milliseconds for the game.
    pub initial: u64,
    /// Milliseconds for a move.
    pub increment: u64,
}

/// The state of a game.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct GameState {
    /// All moves in UCI notation, with spaces between.
    pub moves: String,
    /// White's clock in milliseconds.
    pub wtime: i64,
    /// Black's clock in milliseconds.
    pub btime: i64,
    /// White's increment in milliseconds.
    pub winc: i64,
    /// Black's increment in milliseconds.
    pub binc: i64,
    /// `started`, `mate`, `resign` and others.
    pub status: String,
    /// Who won.
    pub winner: Option<Winner>,
    /// Whether White offers a draw.
    pub wdraw: bool,
    /// Whether Black offers a draw.
    pub bdraw: bool,
    /// Whether White asks to take a move back.
    pub wtakeback: bool,
    /// Whether Black asks to take a move back.
    pub btakeback: bool,
}

/// The winner of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Winner {
    /// White.
    White,
    /// Black.
    Black,
}

impl From<Winner> for Color {
    fn from(winner: Winner) -> Color {
        match winner {
            Winner::White => Color::White,
            Winner::Black => Color::Black,
        }
    }
}

impl GameState {
    /// Whether the game goes on.
    pub fn is_running(&self) -> bool {
        matches!(self.status.as_str(), "created" | "started")
    }

    /// Whether a side offers a draw.
    pub fn offers_draw(&self, color: Color) -> bool {
        color.fold_wb(self.wdraw, self.bdraw)
    }

    /// Whether a side asks to take a move back.
    pub fn asks_takeback(&self, color: Color) -> bool {
        color.fold_wb(self.wtakeback, self.btakeback)
    }
}

/// The bot's own account.
#[derive(Clone, Debug, Deserialize)]
pub struct Account {
    /// The name in lower case.
    pub id: String,
    /// The name.
    pub username: String,
    /// `BOT` for bots.
    pub title: Option<String>,
    /// How many games it has played.
    #[serde(default)]
    pub count: GameCount,
}

/// How many games an account has played.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct GameCount {
    /// All.
    #[serde(default)]
    pub all: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the API's reference, shortened.
    const CHALLENGE: &str = r#"{"type":"challenge","challenge":{"id":"H9fIRZUk","url":"https://lichess.org/H9fIRZUk",
        "status":"created","challenger":{"id":"bot1","name":"Bot1","rating":1500,"title":"BOT","provisional":true},
        "destUser":{"id":"bobby","name":"Bobby","rating":1635},"variant":{"key":"standard","name":"Standard"},
        "rated":true,"speed":"rapid","timeControl":{"type":"clock","limit":600,"increment":0,"show":"10+0"},
        "color":"random","perf":{"icon":"","name":"Rapid"},"rematchOf":"aaaaaaaa"},"compat":{"bot":true}}"#;

    #[test]
    fn events_are_read() {
        let Some(Event::Challenge { challenge }) = Event::parse(CHALLENGE).unwrap() else { panic!() };
        let challenger = challenge.challenger.unwrap();
        assert!(challenger.is_bot() && challenger.is("BOT1"));
        assert_eq!((challenge.speed, challenge.rematch_of.as_deref()), (Speed::Rapid, Some("aaaaaaaa")));
        assert!(matches!(challenge.time_control, ChallengeClock::Clock { limit: 600, increment: 0 }));

        let start =
            r#"{"type":"gameStart","game":{"fullId":"0FgNPGRzhDaW","gameId":"0FgNPGRz","color":"white"}}"#;
        let Some(Event::GameStart { game }) = Event::parse(start).unwrap() else { panic!() };
        assert_eq!(game.game_id, "0FgNPGRz");
        assert!(Event::parse("  \n").unwrap().is_none(), "keeps the connection alive");
        assert!(matches!(Event::parse(r#"{"type":"news","x":1}"#), Ok(Some(Event::Other))));
        for bad in ["{", "[]", r#"{"game":{}}"#, r#"{"type":"gameStart"}"#] {
            assert!(Event::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn games_are_read() {
        let full = r#"{"id":"BEOucQJo","variant":{"key":"standard","name":"Standard"},"speed":"rapid",
            "perf":{"name":"Rapid"},"rated":false,"createdAt":1745112707998,
            "white":{"id":"bobby","name":"Bobby","title":null,"rating":1751},
            "black":{"aiLevel":3},"initialFen":"startpos","clock":{"initial":900000,"increment":0},
            "type":"gameFull","state":{"type":"gameState","moves":"d2d3","wtime":900000,"btime":890000,
            "winc":0,"binc":0,"status":"started","bdraw":true}}"#;
        let Some(GameLine::GameFull(game)) = GameLine::parse(full).unwrap() else { panic!() };
        assert_eq!((game.white.shown(), game.black.shown()), ("Bobby".into(), "Stockfish level 3".into()));
        assert_eq!((game.state.wtime, game.state.btime), (900_000, 890_000));
        assert!(game.state.is_running() && game.state.offers_draw(Color::Black));
        assert!(!game.state.offers_draw(Color::White) && !game.state.asks_takeback(Color::Black));

        let gone = r#"{"type":"opponentGone","gone":true,"claimWinInSeconds":8}"#;
        let line = GameLine::parse(gone).unwrap();
        assert!(matches!(line, Some(GameLine::OpponentGone { gone: true, claim_win_in_seconds: Some(8) })));
        let chat = r#"{"type":"chatLine","username":"t","text":"hi","room":"player"}"#;
        assert!(matches!(GameLine::parse(chat), Ok(Some(GameLine::Other))));
    }
}
