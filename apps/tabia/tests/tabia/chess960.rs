//! Chess960 in the terminal and in matches.

use std::io::Write as _;
use std::process::Stdio;

use tabia_game::PgnReader;

use crate::process::{Folder, fail, read_json, succeed, tabia, text};

/// `tabia play` with these lines typed.
fn played(args: &[&str], lines: &str) -> String {
    let mut child = tabia(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{args:?}");
    text(&output.stdout)
}

#[test]
fn a_game_from_a_numbered_position() {
    let said = played(&["play", "random,seed=1", "--chess960", "867"], "d1c1\npgn\nquit\n");
    for words in [
        "Chess960 position 867",
        "[Variant \"Chess960\"]",
        "[FEN \"bqrkrnnb/pppppppp/8/8/8/8/PPPPPPPP/BQRKRNNB w KQkq - 0 1\"]",
        "1. O-O-O",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let number = |seed: &str| {
        let said = played(&["play", "random", "--seed", seed, "--chess960"], "fen\nquit\n");
        said.lines().next().unwrap().to_owned()
    };
    assert_eq!(number("3"), number("3"));
    assert_ne!(number("3"), number("4"));
    let wrong = fail(tabia(["play", "random", "--chess960", "960"]));
    assert!(wrong.contains("expected 0 to 959"), "{wrong}");
}

#[test]
fn the_games_of_a_pair_have_the_same_start() {
    let folder = Folder::new();
    let (pgn, json) = (folder.file("games.pgn"), folder.file("games.json"));
    let mut command = tabia(["arena", "level:1", "random", "--chess960", "--games", "4", "--seed", "5"]);
    succeed(command.arg("--pgn").arg(&pgn).arg("--json").arg(&json));
    let games = read_json(&json)["games"].as_array().unwrap().clone();
    let fens: Vec<&str> = games.iter().map(|game| game["fen"].as_str().unwrap()).collect();
    assert!(fens[0] == fens[1] && fens[2] == fens[3] && fens[0] != fens[2], "{fens:?}");
    let read: Vec<_> = PgnReader::new(std::fs::read(&pgn).unwrap().as_slice()).map(Result::unwrap).collect();
    assert_eq!(read.len(), 4);
    for game in &read {
        let fen = tabia_game::fen_of(game.start());
        let tagged = game.headers.get("Variant") == Some("Chess960");
        assert!(fens.contains(&fen.as_str()) && tagged, "{fen}");
    }
    let one = tabia(["arena", "level:1", "random", "--chess960", "--opening", "1000"]).output().unwrap();
    assert!(text(&one.stderr).contains("expected 0 to 959"), "{}", text(&one.stderr));
}
