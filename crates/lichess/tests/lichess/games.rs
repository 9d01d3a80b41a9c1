//! Challenges and games as they should go.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::json;
use shakmaty::Color;
use tabia_lichess::{Acceptance, BotSettings, BuildPlayer, Only, Stop, Timing};
use tabia_players::{Action, Decision, Limits, Player, PlayerError, SearchControl};

use crate::{
    server::{BOT, Server},
    table::{OPERA, Seated, assert_played, black, plain, scripted, timing, white},
};

#[test]
fn a_challenge_becomes_a_game_and_pgn() {
    let server = Server::start();
    server.challenge("abcdefgh", Color::White, &black(), &json!({"rated": true}));
    let settings = BotSettings {
        games: Some(1),
        greeting: Some("{opponent} & {me} + 1".to_owned()),
        goodbye: Some("x".repeat(200)),
        ..BotSettings::default()
    };
    let (score, lines, games) = Seated::with(&server, settings, timing(), scripted(plain)).end();
    assert_eq!(score.unwrap().won, 1);
    assert_played(&server, "abcdefgh");
    assert_eq!(
        lines,
        [
            "connected, waiting for challenges",
            "challenge by Mary (1021): rated 3+2 standard: accepted",
            "game abcdefgh: White against Mary (1021)",
            "game abcdefgh: won against Mary by checkmate after 17 moves",
        ]
    );
    let chat = &server.state().games["abcdefgh"].chat;
    assert_eq!(chat[0], format!("room=player&text=Mary+%26+{BOT}+%2B+1"));
    assert_eq!((chat.len(), chat[1].len()), (2, "room=player&text=".len() + 140));
    for part in ["[Site \"http://127.0.0.1", "[White \"TabiaBot\"]", "17. Rd8#", "1-0"] {
        assert!(games[0].contains(part), "{part} in {}", games[0]);
    }
}

#[test]
fn challenges_are_declined_for_their_reasons() {
    let server = Server::start();
    let clock = |limit, speed| json!({"timeControl": {"type": "clock", "limit": limit, "increment": 0}, "speed": speed});
    let bot = json!({"challenger": {"id": "b", "name": "B", "title": "BOT", "rating": 2000}});
    for (id, change) in [
        ("atomic", json!({"variant": {"key": "atomic"}})),
        ("fast", clock(30, "bullet")),
        ("slow", clock(1800, "classical")),
        (
            "days",
            json!({"timeControl": {"type": "correspondence", "daysPerTurn": 2}, "speed": "correspondence"}),
        ),
        ("rated", json!({"rated": true})),
        ("bot", bot),
        ("strong", json!({"challenger": {"id": "m", "name": "M", "rating": 2500}})),
    ] {
        server.challenge(id, Color::White, &black(), &change);
    }
    // What the bot itself has sent out is not for it to answer.
    server.challenge(
        "own",
        Color::White,
        &[],
        &json!({"challenger": {"id": BOT.to_lowercase(), "name": BOT}}),
    );
    server.challenge("good", Color::White, &black(), &json!({}));
    let acceptance = Acceptance {
        base: 60..=900,
        rated: Only::No,
        bots: Only::No,
        rating: 0..=2400,
        ..Acceptance::default()
    };
    let settings = BotSettings { acceptance, games: Some(1), ..BotSettings::default() };
    let (_, lines, _) = Seated::with(&server, settings, timing(), scripted(plain)).end();
    assert_played(&server, "good");
    let state = server.state();
    let declined: Vec<_> = state.declined.iter().map(|(id, reason)| (id.as_str(), reason.as_str())).collect();
    let expected = [
        ("atomic", "variant"),
        ("bot", "noBot"),
        ("days", "tooSlow"),
        ("fast", "tooFast"),
        ("rated", "casual"),
        ("slow", "tooSlow"),
        ("strong", "generic"),
    ];
    assert_eq!(declined, expected, "{lines:#?}");
}

#[test]
fn several_games_go_on_at_once_up_to_the_limit() {
    let server = Server::start();
    let mut held = black();
    held.insert(3, "+hold");
    server.challenge("a", Color::White, &held, &json!({}));
    server.challenge("b", Color::White, &held, &json!({}));
    let settings = BotSettings { max_games: 2, games: Some(3), ..BotSettings::default() };
    let bot = Seated::with(&server, settings, timing(), scripted(plain));
    server.wait_for("two games", |state| {
        state.games.len() == 2 && state.games.values().all(|game| game.moves.len() == 7)
    });
    server.challenge("c", Color::White, &black(), &json!({}));
    server.wait_for("the refusal", |state| state.declined.get("c").is_some_and(|reason| reason == "later"));
    server.release("a");
    server.release("b");
    server.wait_for("their ends", |state| state.games.values().all(|game| game.status == "mate"));
    // The bot hears of the end at its own time.
    let mut asked = 0;
    while !server.state().games.contains_key(&format!("d{asked}")) {
        asked += 1;
        let id = format!("d{asked}");
        server.challenge(&id, Color::Black, &white(), &json!({}));
        server
            .wait_for("an answer", |state| state.games.contains_key(&id) || state.declined.contains_key(&id));
    }
    let (score, lines, _) = bot.end();
    assert_eq!((score.as_ref().unwrap().won, score.unwrap().lost), (2, 1), "{lines:#?}");
    for id in ["a", "b", &format!("d{asked}")] {
        assert_played(&server, id);
    }
}

#[test]
fn rematches_are_accepted_up_to_their_limit() {
    let server = Server::start();
    let acceptance = Acceptance { rematches: 1, ..Acceptance::default() };
    let settings = BotSettings { acceptance, ..BotSettings::default() };
    let bot = Seated::with(&server, settings, timing(), scripted(plain));
    server.challenge("one", Color::White, &black(), &json!({}));
    server
        .wait_for("the first game", |state| state.games.get("one").is_some_and(|game| game.status == "mate"));
    server.challenge("two", Color::Black, &white(), &json!({"rematchOf": "one"}));
    server.wait_for("the second game", |state| {
        state.games.get("two").is_some_and(|game| game.status == "mate")
    });
    server.challenge("three", Color::White, &black(), &json!({"rematchOf": "two"}));
    server
        .wait_for("the refusal", |state| state.declined.get("three").is_some_and(|reason| reason == "later"));
    bot.stop(Stop::AfterGames);
    assert_eq!(bot.end().0.unwrap().games(), 2);
}

#[test]
fn stopping_finishes_the_games_and_declines_the_rest() {
    let server = Server::start();
    let mut held = black();
    held.insert(3, "+hold");
    server.challenge("a", Color::White, &held, &json!({}));
    let bot = Seated::with(&server, BotSettings::default(), timing(), scripted(plain));
    server.wait_for("the game", |state| state.games.get("a").is_some_and(|game| game.moves.len() == 7));
    bot.stop(Stop::AfterGames);
    server.challenge("b", Color::White, &black(), &json!({}));
    server.wait_for("the refusal", |state| state.declined.get("b").is_some_and(|reason| reason == "later"));
    server.release("a");
    assert_eq!(bot.end().0.unwrap().won, 1);
    assert_played(&server, "a");
}

#[test]
fn stopping_can_resign() {
    let server = Server::start();
    server.begin("long", Color::White, &OPERA[..6], &["+hold"]);
    server.begin("new", Color::Black, &[], &["+hold"]);
    let bot = Seated::with(&server, BotSettings::default(), timing(), scripted(plain));
    server.wait_for("a move", |state| state.games["long"].moves.len() == 7);
    server.wait_for("the streams", |state| {
        state.requests.iter().any(|request| request.ends_with("/game/stream/new"))
    });
    bot.stop(Stop::Resign);
    assert_eq!(bot.end().0.unwrap().lost, 1);
    let state = server.state();
    assert_eq!(
        (state.games["long"].status.as_str(), state.games["new"].status.as_str()),
        ("resign", "aborted")
    );
}

#[test]
fn the_players_decisions_resign_and_draw() {
    let behave = |behaviour, script: &[&str]| {
        let server = Server::start();
        server.challenge("abcdefgh", Color::White, script, &json!({}));
        let settings = BotSettings { games: Some(1), ..BotSettings::default() };
        let (score, lines, _) = Seated::with(&server, settings, timing(), scripted(behaviour)).end();
        assert!(score.is_ok(), "{lines:#?}");
        let state = server.state();
        assert!(state.violations.is_empty(), "{:#?}", state.violations);
        let game = &state.games["abcdefgh"];
        (game.status.clone(), game.moves.len(), game.bot_offered)
    };
    let act = |status: &str, plies, offered| (status.to_owned(), plies, offered);
    fn resigns(ply: usize) -> (Action, bool) {
        (if ply == 10 { Action::Resign } else { Action::Move }, false)
    }
    assert_eq!(behave(resigns, &black()), act("resign", 10, false));
    fn offers(ply: usize) -> (Action, bool) {
        (if ply == 4 { Action::OfferDraw } else { Action::Move }, false)
    }
    assert_eq!(behave(offers, &black()), act("mate", 33, true));
    // An offer is answered on the bot's turn.
    let mut offered = black();
    offered.insert(4, "+draw");
    assert_eq!(behave(|_| (Action::Move, true), &offered), act("draw", 10, false));
    assert_eq!(behave(plain, &offered), act("mate", 33, false));
}

#[test]
fn takebacks_are_refused_once() {
    let server = Server::start();
    let mut script = black();
    script.insert(4, "+takeback");
    server.challenge("abcdefgh", Color::White, &script, &json!({}));
    Seated::for_games(&server, 1).end().0.unwrap();
    assert_played(&server, "abcdefgh");
    let state = server.state();
    let answers: Vec<_> = state.requests.iter().filter(|request| request.contains("takeback")).collect();
    assert_eq!(answers, ["POST /api/bot/game/abcdefgh/takeback/no"]);
}

#[test]
fn a_win_is_claimed_when_the_opponent_is_gone() {
    let server = Server::start();
    let script: Vec<_> = black().into_iter().take(3).chain(["+gone"]).collect();
    server.challenge("abcdefgh", Color::White, &script, &json!({}));
    let (score, lines, _) = Seated::for_games(&server, 1).end();
    assert_eq!(score.unwrap().won, 1);
    assert!(lines.last().unwrap().ends_with("won against Mary by abandonment after 4 moves"), "{lines:#?}");
}

#[test]
fn nothing_is_claimed_from_an_opponent_who_comes_back() {
    let server = Server::start();
    let mut script = black();
    script.splice(3..3, ["+left", "+back", "+left"]);
    server.challenge("abcdefgh", Color::White, &script, &json!({}));
    assert_eq!(Seated::for_games(&server, 1).end().0.unwrap().won, 1);
    assert_played(&server, "abcdefgh");
    assert!(!server.state().requests.iter().any(|request| request.contains("claim")));
}

#[test]
fn a_game_that_does_not_begin_is_aborted() {
    let server = Server::start();
    server.begin("abcdefgh", Color::Black, &[], &["+hold"]);
    let impatient = Timing { first_move: Duration::from_millis(50), ..timing() };
    let bot = Seated::with(&server, BotSettings::default(), impatient, scripted(plain));
    server.wait_for("the abort", |state| state.games["abcdefgh"].status == "aborted");
    bot.stop(Stop::AfterGames);
    let (score, lines, games) = bot.end();
    assert_eq!((score.unwrap().games(), games.len()), (0, 0), "{lines:#?}");
}

/// A player that thinks for an hour, if nobody stops it.
struct Slow;

impl Player for Slow {
    fn name(&self) -> String {
        "Slow".to_owned()
    }

    fn decide(
        &mut self,
        game: &tabia_game::History,
        limits: &Limits,
        control: &dyn SearchControl,
    ) -> Result<Decision, PlayerError> {
        control.wait_until(Duration::from_secs(3600));
        assert!(control.stopped());
        let mut player = scripted(plain)(0).map_err(PlayerError::External)?;
        player.decide(game, limits, control)
    }
}

#[test]
fn a_player_that_thinks_too_long_is_stopped_before_the_flag_falls() {
    let server = Server::start();
    server.begin("abcdefgh", Color::White, &OPERA[..28], &black()[14..]);
    server.set_clock("abcdefgh", 200);
    let settings = BotSettings { games: Some(1), ..BotSettings::default() };
    let build: Arc<BuildPlayer> = Arc::new(|_| Ok(Box::new(Slow)));
    assert_eq!(Seated::with(&server, settings, timing(), build).end().0.unwrap().won, 1);
    assert_played(&server, "abcdefgh");
}

#[test]
fn a_player_that_fails_is_built_anew_once() {
    let play = |fails: usize| {
        let server = Server::start();
        server.begin("abcdefgh", Color::White, &OPERA[..2], &black()[1..]);
        let settings = BotSettings { games: Some(1), ..BotSettings::default() };
        let built = AtomicUsize::new(0);
        let build: Arc<BuildPlayer> = Arc::new(move |seed| match built.fetch_add(1, Ordering::Relaxed) {
            n if n >= fails => scripted(plain)(seed),
            0 => panic!("no network"),
            _ => Err("no network".to_owned()),
        });
        let (score, lines, _) = Seated::with(&server, settings, timing(), build).end();
        let told = lines.iter().filter(|line| line.contains("the player failed: ")).count();
        (score.unwrap().won, server.state().games["abcdefgh"].status.clone(), told)
    };
    assert_eq!(play(1), (1, "mate".to_owned(), 1));
    assert_eq!(play(9), (0, "resign".to_owned(), 2));
}

#[test]
fn a_challenge_that_is_withdrawn_is_forgotten() {
    let server = Server::start();
    server.challenge("gone", Color::White, &black(), &json!({}));
    server.cancel("gone");
    server.challenge("good", Color::White, &black(), &json!({}));
    Seated::for_games(&server, 1).end().0.unwrap();
    assert_played(&server, "good");
}
