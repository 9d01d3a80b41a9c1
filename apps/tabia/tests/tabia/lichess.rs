//! `tabia lichess` against a server on this machine.

use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::json;
use shakmaty::Color;

use crate::lichess_server::{BOT, Fault, Server, TOKEN};
use crate::process::{Folder, fail, succeed, tabia, text};

/// A folder with a token only its owner can read.
fn token() -> (Folder, PathBuf) {
    let folder = Folder::new();
    let file = folder.written("token", format!("{TOKEN}\n"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
    (folder, file)
}

/// The bot with a player that is quick.
fn bot(server: &Server, token: &PathBuf, args: &[&str]) -> Command {
    let mut command = tabia(["lichess", "--player", "random,seed=1", "--url", &server.url(), "--token-file"]);
    command.arg(token).args(args);
    command
}

fn started(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Ends the program where it is.
fn killed(mut child: Child) -> String {
    child.kill().unwrap();
    let mut said = String::new();
    child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    child.wait().unwrap();
    said
}

/// A script of any moves, with the opponent pausing once and resigning at the end.
fn script() -> Vec<&'static str> {
    let mut script = vec!["+any"; 10];
    script.insert(5, "+hold");
    script
}

#[track_caller]
fn assert_without_token(said: &str) {
    assert!(!said.contains(TOKEN) && !said.contains("lip_"), "{said}");
}

#[test]
fn a_game_goes_on_after_the_program_was_killed() {
    let server = Server::start();
    let (folder, token) = token();
    let pgn = folder.file("games.pgn");
    let args = ["--games", "1", "--pgn", pgn.to_str().unwrap()];
    server.challenge("abcdefgh", Color::White, &script(), &json!({}));
    let first = started(&mut bot(&server, &token, &args));
    server.wait_for("the pause", |state| {
        state.games.get("abcdefgh").is_some_and(|game| game.moves.len() == 11)
    });
    let said = killed(first);
    assert_without_token(&said);
    assert!(said.contains("Mary (1021): casual 3+2 standard: accepted"), "{said}");
    assert!(!pgn.exists() || std::fs::read(&pgn).unwrap().is_empty());
    server.release("abcdefgh");
    let output = bot(&server, &token, &args).output().unwrap();
    let said = text(&output.stdout) + &text(&output.stderr);
    assert_without_token(&said);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("White against Mary (1021), going on at move 7"), "{said}");
    let state = server.state();
    assert!(state.violations.is_empty(), "{:#?}", state.violations);
    let game = &state.games["abcdefgh"];
    assert_eq!((game.moves.len(), game.status.as_str()), (21, "resign"));
    assert!(said.contains("1 game: 1 won, 0 drawn, 0 lost"), "{said}");
    let saved = std::fs::read_to_string(&pgn).unwrap();
    assert_eq!(saved.matches("[Event ").count(), 1, "{saved}");
    assert!(saved.contains("[Result \"1-0\"]") && saved.contains("11. "), "{saved}");
    assert_without_token(&saved);
}

#[test]
fn a_human_like_player_takes_its_time_within_the_clock() {
    let server = Server::start();
    let (_folder, token) = token();
    server.begin("abcdefgh", Color::Black, &[], &["+any", "+any", "+any"]);
    server.set_clock("abcdefgh", 2_500);
    let mut command = tabia(["lichess", "--player", "human,elo=1500,seed=1", "--games", "1", "--no-chat"]);
    let said = succeed(command.args(["--url", &server.url(), "--token-file"]).arg(&token));
    assert!(said.contains(&format!("{BOT} at {} plays as ", server.url())), "{said}");
    let state = server.state();
    assert!(state.violations.is_empty() && state.games["abcdefgh"].chat.is_empty());
    // The opponent resigns after three moves.
    let game = &state.games["abcdefgh"];
    assert_eq!((game.moves.len(), game.status.as_str()), (6, "resign"));
}

#[cfg(unix)]
#[test]
fn an_interrupt_finishes_the_games() {
    let server = Server::start();
    let (_folder, token) = token();
    server.challenge("abcdefgh", Color::White, &script(), &json!({}));
    let child = started(&mut bot(&server, &token, &["--goodbye", "Bye"]));
    server.wait_for("the pause", |state| {
        state.games.get("abcdefgh").is_some_and(|game| game.moves.len() == 11)
    });
    succeed(Command::new("kill").args(["-INT", &child.id().to_string()]));
    // The signal may arrive after this challenge, but not after many.
    let mut asked = 0;
    while !server.state().declined.contains_key(&format!("x{asked}")) {
        asked += 1;
        let id = format!("x{asked}");
        server.challenge(&id, Color::White, &["+any"], &json!({}));
        server
            .wait_for("an answer", |state| state.games.contains_key(&id) || state.declined.contains_key(&id));
    }
    assert_eq!(server.state().declined[&format!("x{asked}")], "later");
    server.release("abcdefgh");
    let output = child.wait_with_output().unwrap();
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("finishing the games in progress; press Ctrl-C again to leave them"), "{said}");
    let state = server.state();
    assert_eq!(state.games["abcdefgh"].status, "resign");
    assert!(state.games["abcdefgh"].chat.contains(&"room=player&text=Bye".to_owned()));
    assert_without_token(&said);
}

#[test]
fn the_token_is_never_shown() {
    let server = Server::start();
    let (folder, token) = token();
    // The server repeats the token in its errors.
    server.fault("/move/", [Fault::Status(500), Fault::Status(400), Fault::DoneThenStatus(502)]);
    server.fault("/chat", [Fault::Status(400), Fault::Status(503)]);
    server.fault("/stream/", [Fault::Status(500), Fault::Drop]);
    server.challenge("abcdefgh", Color::White, &["+any", "+any"], &json!({}));
    let output = bot(&server, &token, &["--games", "1"]).output().unwrap();
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success() && said.contains("refused (400): fault, said Bearer [token]"), "{said}");
    assert_without_token(&said);

    for (what, status, expected) in [
        ("/api/account", 401, "does not accept the token"),
        ("/api/account", 500, "the server failed (500)"),
        ("/stream/event", 403, "does not accept the token"),
    ] {
        server.fault(what, [Fault::Status(status)]);
        let output = bot(&server, &token, &[]).output().unwrap();
        let said = text(&output.stdout) + &text(&output.stderr);
        assert!(!output.status.success() && said.contains(expected), "{said}");
        assert_without_token(&said);
    }
    let unsafe_url = fail(tabia(["lichess", "--url", "http://lichess.invalid", "--token-file"]).arg(&token));
    assert!(unsafe_url.contains("refusing to send the token unencrypted"), "{unsafe_url}");
    let wrong = folder.written("wrong", "lip_not a token");
    let said = fail(tabia(["lichess", "--token-file"]).arg(&wrong));
    assert!(said.contains("something else than a token") && said.contains("wrong"), "{said}");
    assert_without_token(&said);
}

#[cfg(unix)]
#[test]
fn a_token_that_others_can_read_is_warned_of() {
    use std::os::unix::fs::PermissionsExt as _;
    let server = Server::start();
    let (_folder, token) = token();
    server.state().title = None;
    assert!(!fail(bot(&server, &token, &[])).contains("warning"));
    std::fs::set_permissions(&token, std::fs::Permissions::from_mode(0o644)).unwrap();
    let said = fail(bot(&server, &token, &[]));
    assert!(said.contains("warning: ") && said.contains("chmod 600"), "{said}");
}

#[test]
fn an_account_becomes_a_bot_account_only_when_asked() {
    let server = Server::start();
    let (_folder, token) = token();
    server.state().title = None;
    server.state().played = 3;
    let said = fail(bot(&server, &token, &[]));
    assert!(said.contains("TabiaBot is not a bot account: --upgrade makes it one"), "{said}");
    let said = fail(bot(&server, &token, &["--upgrade"]));
    assert!(said.contains("TabiaBot has played 3 games: only an account without games"), "{said}");
    assert!(server.state().title.is_none());
    server.state().played = 0;
    let upgrade = || succeed(bot(&server, &token, &["--upgrade"]));
    assert_eq!(upgrade(), "TabiaBot is a bot account from now on\n");
    assert_eq!(upgrade(), "TabiaBot is a bot account already\n");
    let upgrades = server.state().requests.iter().filter(|request| request.ends_with("/upgrade")).count();
    assert_eq!(upgrades, 1);
}
