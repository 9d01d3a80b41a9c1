//! Detection of a game's rating pool from its tags and clocks.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::time::Duration;

use shakmaty::Color;
use tabia_encoding::RatingPool;

use crate::{Game, Headers, Stage, TimeControl};

const LICHESS: &str = "lichess";
const CHESS_COM: &str = "chess.com";

/// Parts of the names and addresses of other servers, as `Site`, `Link` and `Event` have them.
const OTHER_SERVERS: [&str; 9] = [
    "chess24.com",
    "freechess.org",
    "playchess.com",
    "chessclub.com",
    "internet chess club",
    "chesstempo.com",
    "gameknot.com",
    "internet",
    "online",
];

/// Prefixes of event names on Chess.com.
const CHESS_COM_EVENTS: [&str; 3] = ["live chess", "let's play", "titled tuesday"];

/// Prefix of event names on FICS.
const FICS_EVENTS: &str = "fics ";

/// Parts of the names of tournaments on Lichess.
const LICHESS_EVENTS: [&str; 4] = [" arena", "team battle", " marathon", "bullet"];

/// Lichess says "Rated Blitz game", "Casual Rapid tournament", "Rated game".
const SPEEDS: [&str; 8] =
    ["ultrabullet", "bullet", "blitz", "rapid", "classical", "correspondence", "game", "tournament"];

/// FIDE publishes ratings from 1000 (since 2024 from 1400); nobody has reached 2900.
const FIDE_RATINGS: std::ops::Range<u16> = 1000..2900;

/// Servers' games are nearly all faster, and classical chess over the board is slower.
const SLOW: Duration = Duration::from_secs(45 * 60);

impl Game {
    /// The rating pool according to tags and clocks. The first of these decides:
    ///
    /// 1. The tag `Pool`, as `tabia-lab data export` writes it.
    /// 2. A FIDE identity is over the board, also of a game shown on a server: who writes the identity writes the rating
    ///    that goes with it.
    /// 3. A server in `Site` or `Link`, and titles that only servers give (`BOT`, `LM`), are online: `lichess` or
    ///    `chess.com` where it is one of these.
    /// 4. A `Site` that is a place is over the board, if the ratings can be FIDE's.
    /// 5. The names that servers give to events are online.
    /// 6. A fast time control or clock is online. Servers always export the time control, collections of tournament games
    ///    hardly ever do.
    /// 7. So ratings that can be FIDE's, and none of the above, are over the board.
    ///
    /// Otherwise unknown.
    pub fn rating_pool(&self) -> RatingPool {
        let headers = &self.headers;
        if let Some(pool) = headers.get("Pool").and_then(|name| name.parse().ok()) {
            pool
        } else if has_fide_id(headers) {
            RatingPool::OverTheBoard
        } else if let Some(server) = server_of_site(headers) {
            server
        } else if has_place(headers) && can_be_fide(headers) {
            RatingPool::OverTheBoard
        } else if let Some(server) = server_of_event(headers) {
            server
        } else if self.is_fast() && !has_place(headers) {
            RatingPool::Online
        } else if can_be_fide(headers) {
            RatingPool::OverTheBoard
        } else {
            RatingPool::Unknown
        }
    }

    /// Whether there are clocks, and they are those of servers: under 45 minutes for the game, or days for a move.
    fn is_fast(&self) -> bool {
        let control = self.headers.time_control();
        let is_staged = match &control {
            TimeControl::Stages(stages) => match stages.as_slice() {
                [Stage { moves: None, .. }] => false,
                [Stage { moves: Some(moves), .. }] if moves.get() == 1 => return true,
                _ => true,
            },
            _ => false,
        };
        // The first clock that is shown outweighs the tag, which some write in minutes.
        let shown = self.mainline().find_map(|node| self.notes(node).clock);
        !is_staged && shown.or_else(|| control.start()).is_some_and(|start| start < SLOW)
    }
}

fn says(headers: &Headers, tag: &str, is_told: impl Fn(&str) -> bool) -> bool {
    headers.get(tag).is_some_and(|value| is_told(&value.trim().to_ascii_lowercase()))
}

fn has_fide_id(headers: &Headers) -> bool {
    let is_identity = |value: &str| value.bytes().any(|digit| matches!(digit, b'1'..=b'9'));
    ["WhiteFideId", "BlackFideId"].iter().any(|tag| says(headers, tag, is_identity))
}

/// The server that a text names.
fn server_named(value: &str) -> Option<RatingPool> {
    if value.contains(LICHESS) {
        Some(RatingPool::Lichess)
    } else if value.contains(CHESS_COM) {
        Some(RatingPool::ChessCom)
    } else {
        OTHER_SERVERS.iter().any(|server| value.contains(server)).then_some(RatingPool::Online)
    }
}

fn server_of_site(headers: &Headers) -> Option<RatingPool> {
    let named = |tag: &str| server_named(&headers.get(tag)?.to_ascii_lowercase());
    let is_title = |title: &str| matches!(title, "bot" | "lm");
    let has_title = || ["WhiteTitle", "BlackTitle"].iter().any(|tag| says(headers, tag, is_title));
    named("Site").or_else(|| named("Link")).or_else(|| {
        if has_title() {
            Some(server_of_event(headers).unwrap_or(RatingPool::Lichess))
        } else {
            headers.get("FICSGamesDBGameNo").map(|_| RatingPool::Online)
        }
    })
}

fn server_of_event(headers: &Headers) -> Option<RatingPool> {
    let event = headers.get("Event")?.trim().to_ascii_lowercase();
    let speed = event.strip_prefix("rated ").or_else(|| event.strip_prefix("casual "));
    if CHESS_COM_EVENTS.iter().any(|begin| event.starts_with(begin)) {
        Some(RatingPool::ChessCom)
    } else if event.starts_with(FICS_EVENTS) {
        Some(RatingPool::Online)
    } else if speed.is_some_and(|speed| SPEEDS.iter().any(|known| speed.starts_with(known)))
        || LICHESS_EVENTS.iter().any(|part| event.contains(part))
    {
        Some(RatingPool::Lichess)
    } else {
        server_named(&event)
    }
}

fn has_place(headers: &Headers) -> bool {
    says(headers, "Site", |site| site.contains(char::is_alphabetic) && !site.contains("://"))
}

/// Whether a rating is known and every known one is in FIDE's range.
fn can_be_fide(headers: &Headers) -> bool {
    let mut ratings = Color::ALL.into_iter().filter_map(|color| headers.rating(color)).peekable();
    ratings.peek().is_some() && ratings.all(|rating| FIDE_RATINGS.contains(&rating.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PgnReader;

    #[test]
    fn the_pool_is_detected_from_tags_and_clocks() {
        const RATED: &str = r#"[WhiteElo "1943"] [BlackElo "1701"]"#;
        let cases = [
            // Nothing, or nothing but ratings.
            ("", "1. e4 *", RatingPool::Unknown),
            (r#"[Event "?"]"#, "1. e4 *", RatingPool::Unknown),
            (RATED, "1. e4 *", RatingPool::OverTheBoard),
            (r#"[WhiteElo "1943"] [BlackElo "?"]"#, "1. e4 *", RatingPool::OverTheBoard),
            (r#"[WhiteElo "1943"] [BlackElo "640"]"#, "1. e4 *", RatingPool::Unknown),
            (r#"[WhiteElo "3450"] [BlackElo "3390"]"#, "1. e4 *", RatingPool::Unknown),
            (r#"[WhiteElo "2700"] [WhiteTitle "GM"]"#, "1. e4 *", RatingPool::OverTheBoard),
            // What our own exports say.
            (r#"[Pool "chess.com"] [Site "lichess.org"]"#, "1. e4 *", RatingPool::ChessCom),
            (r#"[Pool "online"] [WhiteElo "1943"]"#, "1. e4 *", RatingPool::Online),
            (r#"[Pool "unknown"] [WhiteElo "1943"]"#, "1. e4 *", RatingPool::Unknown),
            // Servers.
            (r#"[Event "Live Chess"] [WhiteElo "640"]"#, "1. e4 *", RatingPool::ChessCom),
            (r#"[Event "Match"] [Site "Internet Chess Club"]"#, "1. e4 *", RatingPool::Online),
            (r#"[Event "Rated Blitz game"]"#, "1. e4 *", RatingPool::Lichess),
            (r#"[Event "Rated game"] [Site "?"] [WhiteElo "1800"]"#, "1. e4 *", RatingPool::Lichess),
            (
                r#"[Event "Casual Rapid game"] [Site "https://lichess.org/abcdefgh"]"#,
                "1. e4 *",
                RatingPool::Lichess,
            ),
            (
                r#"[Event "rated ultrabullet tournament https://lichess.org/tournament/x"]"#,
                "1. e4 *",
                RatingPool::Lichess,
            ),
            (
                r#"[Event "Hourly Arena"] [Site "https://lichess.org/abcdefgh"]"#,
                "1. e4 *",
                RatingPool::Lichess,
            ),
            (r#"[Event "Hourly HyperBullet Arena"] [WhiteElo "1800"]"#, "1. e4 *", RatingPool::Lichess),
            (r#"[Event "Intercollege Team Battle"] [WhiteElo "1800"]"#, "1. e4 *", RatingPool::Lichess),
            (r#"[Event "Live Chess"] [Site "Chess.com"]"#, "1. e4 *", RatingPool::ChessCom),
            (
                r#"[Event "Match"] [Link "https://www.chess.com/game/live/1"]"#,
                "1. e4 *",
                RatingPool::ChessCom,
            ),
            (
                r#"[Event "FICS rated standard game"] [Site "FICS freechess.org"]"#,
                "1. e4 *",
                RatingPool::Online,
            ),
            (r#"[Event "Ch"] [FICSGamesDBGameNo "1"]"#, "1. e4 *", RatingPool::Online),
            (r#"[WhiteElo "2400"] [BlackElo "2300"] [BlackTitle "BOT"]"#, "1. e4 *", RatingPool::Lichess),
            (r#"[WhiteElo "2400"] [BlackElo "2300"] [WhiteTitle "LM"]"#, "1. e4 *", RatingPool::Lichess),
            // Places and FIDE's own numbers.
            (
                r#"[Event "Tata Steel"] [Site "Wijk aan Zee"] [WhiteFideId "1503014"]"#,
                "1. e4 *",
                RatingPool::OverTheBoard,
            ),
            (
                r#"[Site "https://lichess.org/broadcast/x"] [BlackFideId "1503014"]"#,
                "1. e4 *",
                RatingPool::OverTheBoard,
            ),
            (r#"[Event "Titled Tuesday"] [WhiteFideId "1503014"]"#, "1. e4 *", RatingPool::OverTheBoard),
            (
                r#"[Event "Rated Open"] [Site "London"] [WhiteElo "1900"]"#,
                "1. e4 *",
                RatingPool::OverTheBoard,
            ),
            (
                r#"[Event "Chess Arena"] [Site "Prague"] [WhiteElo "1900"]"#,
                "1. e4 *",
                RatingPool::OverTheBoard,
            ),
            (r#"[Event "Match"] [Site "Paris"]"#, "1. e4 *", RatingPool::Unknown),
            (r#"[Event "Open"] [WhiteFideId "?"] [BlackFideId "0"]"#, "1. e4 *", RatingPool::Unknown),
            (
                r#"[Site "Saint Louis USA"] [WhiteElo "2700"] [TimeControl "300+3"]"#,
                "1. e4 {[%clk 0:05:02]} *",
                RatingPool::OverTheBoard,
            ),
            // Clocks.
            (r#"[WhiteElo "1675"] [TimeControl "180+0"]"#, "1. e4 *", RatingPool::Online),
            (r#"[WhiteElo "640"] [TimeControl "600"]"#, "1. e4 *", RatingPool::Online),
            (r#"[WhiteElo "1675"]"#, "1. e4 {[%clk 0:03:00]} *", RatingPool::Online),
            (r#"[WhiteElo "1675"] [TimeControl "1/86400"]"#, "1. e4 *", RatingPool::Online),
            (
                r#"[WhiteElo "2412"] [TimeControl "40/7200:20/3600:900+30"]"#,
                "1. e4 *",
                RatingPool::OverTheBoard,
            ),
            (r#"[WhiteElo "2412"] [TimeControl "5400+30"]"#, "1. e4 *", RatingPool::OverTheBoard),
            // Minutes where PGN asks for seconds, as some broadcasts are.
            (
                r#"[Event "Round 1: Doe, Jane - Roe, Richard"] [WhiteElo "2412"] [TimeControl "90+30"]"#,
                "1. e4 {[%clk 1:30:27]} *",
                RatingPool::OverTheBoard,
            ),
            (r#"[WhiteElo "1800"] [TimeControl "40/80, SD30; +30"]"#, "1. e4 *", RatingPool::OverTheBoard),
        ];
        for (tags, moves, pool) in cases {
            let pgn = format!("{}\n\n{moves}\n", tags.replace("] [", "]\n["));
            let game = PgnReader::new(pgn.as_bytes()).next().unwrap().unwrap();
            assert_eq!(game.rating_pool(), pool, "{tags} {moves}");
        }
    }
}
