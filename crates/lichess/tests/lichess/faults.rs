//! Servers and networks that fail: no move is lost, none is sent twice.

use serde_json::json;
use shakmaty::Color;
use tabia_lichess::{BotSettings, RequestError, Stop, Timing};

use crate::{
    server::{Fault, Server},
    table::{OPERA, Seated, assert_played, black, plain, scripted, timing, white},
};

#[test]
fn moves_survive_requests_that_fail() {
    let faults = [
        Fault::Drop,
        Fault::DoneThenDrop,
        Fault::Status(503),
        Fault::DoneThenStatus(502),
        Fault::Status(429),
        Fault::DoneThenDrop,
        Fault::DoneThenStatus(500),
        Fault::Drop,
        Fault::Status(429),
        Fault::Status(500),
        Fault::DoneThenDrop,
    ];
    for (bot, script) in [(Color::White, black()), (Color::Black, white())] {
        let server = Server::start();
        server.fault("/move/", faults);
        server.challenge("abcdefgh", bot, &script, &json!({}));
        let (score, lines, games) = Seated::for_games(&server, 1).end();
        assert_eq!(score.unwrap().games(), 1, "{lines:#?}");
        assert_played(&server, "abcdefgh");
        assert_eq!(games.len(), 1);
    }
}

#[test]
fn moves_survive_streams_that_fail() {
    let server = Server::start();
    let streams =
        [Fault::CutAfter(0), Fault::CutAfter(1), Fault::Status(502), Fault::Drop, Fault::Status(429)];
    server.fault("/game/stream/", streams.into_iter().chain((2..6).map(Fault::CutAfter)));
    server.fault("/stream/event", [Fault::Status(503), Fault::CutAfter(0), Fault::Drop, Fault::CutAfter(1)]);
    server.challenge("abcdefgh", Color::White, &black(), &json!({}));
    let (score, lines, games) = Seated::for_games(&server, 1).end();
    assert_eq!((score.unwrap().won, games.len()), (1, 1), "{lines:#?}");
    assert_played(&server, "abcdefgh");
}

#[test]
fn moves_survive_everything_at_once() {
    let server = Server::start();
    server.state().is_doubled = true;
    server.fault("/game/stream/", (1..8).map(Fault::CutAfter));
    server
        .fault("/move/", [Fault::DoneThenDrop, Fault::Status(429), Fault::Drop, Fault::DoneThenStatus(504)]);
    server.fault("/accept", [Fault::DoneThenDrop]);
    server.fault("/chat", [Fault::Drop]);
    server.challenge("abcdefgh", Color::Black, &white(), &json!({}));
    let settings =
        BotSettings { games: Some(1), greeting: Some("Hello".to_owned()), ..BotSettings::default() };
    let bot = Seated::with(&server, settings, timing(), scripted(plain));
    let (score, lines, _) = bot.end();
    assert_eq!(score.unwrap().lost, 1, "{lines:#?}");
    assert_played(&server, "abcdefgh");
}

#[test]
fn events_that_come_twice_happen_once() {
    let server = Server::start();
    server.state().is_doubled = true;
    server.challenge("abcdefgh", Color::White, &black(), &json!({}));
    let bot = Seated::for_games(&server, 2);
    server.wait_for("the first game", |state| {
        state.games.get("abcdefgh").is_some_and(|game| game.status == "mate")
    });
    server.repeat_events();
    server.challenge("ijklmnop", Color::Black, &white(), &json!({}));
    let (score, lines, games) = bot.end();
    assert_eq!(score.unwrap().games(), 2, "{lines:#?}");
    assert_eq!(games.len(), 2);
    assert_played(&server, "abcdefgh");
    assert_played(&server, "ijklmnop");
    let accepted = server.state().requests.iter().filter(|request| request.ends_with("/accept")).count();
    assert_eq!(accepted, 2);
}

#[test]
fn a_game_goes_on_after_a_restart() {
    let server = Server::start();
    let mut script = black();
    script.insert(5, "+hold");
    server.challenge("abcdefgh", Color::White, &script, &json!({}));
    let first = Seated::for_games(&server, 1);
    server.wait_for("six moves", |state| {
        state.games.get("abcdefgh").is_some_and(|game| game.moves.len() == 11)
    });
    first.stop(Stop::Leave);
    let (score, lines, games) = first.end();
    assert_eq!((score.unwrap().games(), games.len()), (0, 0), "{lines:#?}");
    // The opponent moves while nobody is there.
    server.release("abcdefgh");
    let (score, lines, games) = Seated::for_games(&server, 1).end();
    assert_eq!((score.unwrap().won, games.len()), (1, 1), "{lines:#?}");
    assert!(lines.iter().any(|line| line.contains("going on at move 7")), "{lines:#?}");
    assert_played(&server, "abcdefgh");
}

#[test]
fn after_too_many_requests_none_is_made() {
    let server = Server::start();
    let endless = Timing { rate_limited: std::time::Duration::from_secs(3600), ..timing() };
    server.begin("abcdefgh", Color::White, &[], &black());
    server.fault("/move/", [Fault::Status(429)]);
    let bot = Seated::with(&server, BotSettings::default(), endless, scripted(plain));
    server.wait_for("the refusal", |state| state.faults_left() == 0);
    server.challenge("ijklmnop", Color::White, &black(), &json!({}));
    server.repeat_events();
    bot.stop(Stop::Leave);
    let (_, lines, _) = bot.end();
    let state = server.state();
    assert!(state.requests.last().unwrap().contains("/move/e2e4"), "{:#?}", state.requests);
    assert!(lines.iter().any(|line| line.contains("too many requests: waiting 3600 s")), "{lines:#?}");
}

#[test]
fn a_token_that_is_not_accepted_ends_the_bot() {
    let server = Server::start();
    server.fault("/stream/event", [Fault::Status(401)]);
    let (score, ..) = Seated::for_games(&server, 1).end();
    let error = score.unwrap_err();
    assert!(matches!(error, RequestError::Unauthorised(_)), "{error}");
    let text = error.to_string();
    assert!(text.contains("Bearer [token]") && !text.contains("lip_"), "{text}");
}

#[test]
fn a_move_that_is_always_refused_is_given_up() {
    let server = Server::start();
    server.begin("abcdefgh", Color::White, &[], &black());
    server.fault("/move/", [Fault::Status(400); 3]);
    let bot = Seated::with(&server, BotSettings::default(), timing(), scripted(plain));
    server.wait_for("three attempts", |state| state.faults_left() == 0);
    bot.stop(Stop::AfterGames);
    let (_, lines, _) = bot.end();
    assert!(lines.iter().any(|line| line.ends_with("left: the server refuses the move")), "{lines:#?}");
    assert_eq!(server.state().requests.iter().filter(|request| request.contains(OPERA[0])).count(), 3);
}
