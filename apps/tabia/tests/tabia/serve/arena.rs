//! Matches and challenges, as the page asks for them.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::server::Server;
use crate::process::{Folder, succeed, tabia};

const LEDGER: &[u8] = include_bytes!("../../../../../fixtures/arena/ledger.pgn.jsonl");
const GAMES: &[u8] = include_bytes!("../../../../../fixtures/arena/ledger.pgn");

fn serve() -> (Server, PathBuf) {
    let folder = Folder::new();
    let matches = folder.file("matches");
    fs::create_dir_all(&matches).unwrap();
    (Server::start(folder, "--ledgers", &matches), matches)
}

#[test]
fn a_match_that_was_played_is_listed_with_its_standings() {
    let (server, matches) = serve();
    let none = json!({ "matches": [], "challenges": [], "problems": [] });
    assert_eq!(server.ask("/api/arena").json(), none);
    assert_eq!(server.ask("/api/about").json()["arena"], true);

    let games = matches.join("levels.pgn");
    succeed(tabia(["arena", "level:1", "level:2", "--games", "4", "--pgn"]).arg(&games));
    let list = server.ask("/api/arena").json();
    let found = &list["matches"][0];
    assert_eq!((&found["name"], &found["games"]), (&json!("levels"), &json!(4)), "{list}");
    let players = found["report"]["players"].as_array().unwrap();
    assert_eq!(players.len(), 2);
    let points =
        |row: &Value| 2 * row["games"]["wins"].as_u64().unwrap() + row["games"]["draws"].as_u64().unwrap();
    assert_eq!(points(&players[0]) + points(&players[1]), 8);
    assert!(found["report"]["encounters"][0]["elo"].is_object(), "{found}");
    assert!(found["modified"].as_u64().unwrap() > 1_600_000_000);

    let pgn = server.ask("/api/arena/pgn?match=levels");
    assert_eq!((pgn.status, pgn.bytes), (200, fs::read(&games).unwrap()));
}

#[test]
fn a_match_that_goes_on_is_followed_and_only_news_travels() {
    let (server, matches) = serve();
    let lines: Vec<&[u8]> = LEDGER.split_inclusive(|byte| *byte == b'\n').collect();
    let index = matches.join("cup/run.pgn.jsonl");
    fs::create_dir_all(index.parent().unwrap()).unwrap();
    fs::write(matches.join("cup/run.pgn"), GAMES).unwrap();
    fs::write(&index, lines[..3].concat()).unwrap();
    let first = server.ask("/api/arena");
    assert_eq!(first.json()["matches"][0]["name"], "cup/run");
    assert_eq!(first.json()["matches"][0]["games"], 2);
    let tag = first.header("etag").unwrap();
    let again =
        || server.ask_with("/api/arena", &format!("Host: {}\r\nIf-None-Match: {tag}\r\n", server.address));
    assert_eq!(again().status, 304);
    // Another game, and a line that is still being written.
    fs::write(&index, [lines[..4].concat(), lines[4][..20].to_vec()].concat()).unwrap();
    assert_eq!(again().json()["matches"][0]["games"], 3);
    fs::remove_dir_all(matches.join("cup")).unwrap();
    assert_eq!(again().json()["matches"], json!([]));
}

#[test]
fn scorecards_are_listed_without_their_games_and_other_files_are_not() {
    let (server, matches) = serve();
    let card = json!({
        "challenger": "net", "parameters": 12, "passed": 1, "interrupted": false, "diversity": {},
        "levels": [{ "level": 1, "points": 40.0, "records": [{ "moves": ["e2e4"] }] }],
    });
    fs::write(matches.join("net.json"), card.to_string()).unwrap();
    fs::write(matches.join("other.json"), "{\"levels\": []}").unwrap();
    fs::write(matches.join("broken.json"), "{").unwrap();
    fs::write(matches.join("torn.pgn.jsonl"), "{\"ledger\":\"tabia arena\",\"version\":9}\n").unwrap();
    let list = server.ask("/api/arena").json();
    assert_eq!(list["challenges"].as_array().unwrap().len(), 1, "{list}");
    assert_eq!(list["challenges"][0]["scorecard"]["levels"], json!([{ "level": 1, "points": 40.0 }]));
    assert_eq!(list["problems"].as_array().unwrap().len(), 1);
    assert_eq!(list["problems"][0]["name"], "torn");
    assert!(list["problems"][0]["problem"].as_str().unwrap().contains("version 9"), "{list}");
}

#[test]
fn nothing_outside_the_folder_can_be_read() {
    let (server, matches) = serve();
    let outside = server.folder.written("outside.pgn", "secret");
    server.folder.written("outside.pgn.jsonl", LEDGER);
    fs::write(matches.join("alone.pgn.jsonl"), LEDGER).unwrap();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(server.folder.path(), matches.join("up")).unwrap();
        fs::write(matches.join("linked.pgn.jsonl"), LEDGER).unwrap();
        std::os::unix::fs::symlink(&outside, matches.join("linked.pgn")).unwrap();
    }
    for name in ["..%2Foutside", "up%2Foutside", "outside", "alone", "linked", "", "%2Fetc%2Fpasswd"] {
        let answer = server.ask(&format!("/api/arena/pgn?match={name}"));
        assert_eq!(answer.status, 404, "{name}: {}", answer.body);
    }
}
