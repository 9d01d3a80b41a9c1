//! `tabia review` as a user meets it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tabia_game::{Game, PgnReader};

use crate::process::{Folder, fail, fixture, read_json, succeed, tabia, text};

/// A game of three moves, won by White with a mate.
fn game(white: &str, black: &str, date: &str) -> String {
    format!(
        "[White \"{white}\"]\n[Black \"{black}\"]\n[Date \"{date}\"]\n[WhiteElo \"1500\"]\n[BlackElo \"1450\"]\n\
         [TimeControl \"180+2\"]\n[Site \"https://lichess.org/abcdefgh\"]\n[Result \"1-0\"]\n\n\
         1. e4 {{[%clk 0:03:00]}} e5 {{[%clk 0:03:00]}} 2. Bc4 {{[%clk 0:02:55]}} Nc6 {{[%clk 0:02:58]}} \
         3. Qh5 {{[%clk 0:02:50]}} Nf6 {{[%clk 0:02:40]}} 4. Qxf7# {{[%clk 0:02:51]}} 1-0\n\n"
    )
}

fn review(games: &Path, prefix: &Path, more: &[&str]) -> Command {
    let mut command = tabia(["review"]);
    command.arg(games).arg("--out").arg(prefix).args(["--nodes", "200", "--jobs", "2"]);
    command.arg("--model").arg(fixture("models/human.safetensors")).args(more);
    command
}

fn with(prefix: &Path, end: &str) -> PathBuf {
    PathBuf::from(format!("{}{end}", prefix.display()))
}

fn games_of(path: &Path) -> Vec<Game> {
    PgnReader::new(fs::read(path).unwrap().as_slice()).map(|game| game.expect("a sound game")).collect()
}

#[test]
fn a_review_writes_annotated_games_figures_and_a_report() {
    let folder = Folder::new();
    let pgn = [
        game("Ann", "Bob", "2024.01.02"),
        game("Cem", "ann", "2024.02.03"),
        game("Bob", "Cem", "2024.02.04"),
    ];
    let games = folder.written("games.pgn", pgn.concat());
    let prefix = folder.file("out");
    let said = succeed(review(&games, &prefix, &["--me", "ann"]));
    assert!(said.contains("2 games reviewed") && said.contains("you played like"), "{said}");

    let annotated = games_of(&with(&prefix, ".pgn"));
    assert_eq!(annotated.len(), 2, "only the games of the player");
    for game in &annotated {
        assert!(
            game.mainline().all(|node| game.notes(node).evaluation.is_some()),
            "every move has its %eval"
        );
        assert!(game.mainline().all(|node| game.notes(node).clock.is_some()), "clocks stay");
        // 3... Nf6 allows a mate in one.
        let blunder = game.mainline().nth(5).unwrap();
        assert!(game.notes(blunder).nags.iter().any(|nag| nag.0 == 4), "{:?}", game.notes(blunder));
        assert!(game.children(game.parent(blunder).unwrap()).count() > 1, "the better move is a variation");
    }
    let figures = read_json(&with(&prefix, ".json"));
    let report = &figures["report"];
    assert_eq!([&report["games"], &report["wins"], &report["losses"]], [2, 1, 1]);
    let all = &report["places"][0];
    assert_eq!((all["place"]["by"].as_str(), all["moves"].as_u64()), (Some("all"), Some(4 + 3)));
    for game in figures["games"].as_array().unwrap() {
        let moves = game["moves"].as_array().unwrap();
        assert_eq!((moves.len(), game["opening"].as_str()), (7, Some("Bishop's Opening")));
        let own = if game["white"] == "Ann" { "white" } else { "black" };
        assert!(
            moves.iter().all(|m| m["peers"].is_object() == (m["color"] == own)),
            "peers are those of the player"
        );
        assert_eq!((moves[4]["clock"].as_f64(), moves[4]["thinkTime"].as_f64()), (Some(175.0), Some(7.0)));
        assert_eq!(moves[6]["after"]["mate"], 1);
        assert_eq!(game["whiteSide"]["evidence"][0]["moves"], 4);
    }
    let page = fs::read_to_string(with(&prefix, ".html")).unwrap();
    assert!(page.contains("You played like") && page.contains("<svg") && page.contains("Phase"));
    assert!(!page.contains("<script") && !page.contains("src="), "nothing is loaded or run");
}

#[test]
fn an_interrupted_review_goes_on_and_counts_nothing_twice() {
    let folder = Folder::new();
    let names = ["Bob", "Cem", "Dan", "Eve"];
    let pgn: String = names.map(|name| game("Ann", name, "2024.01.02")).concat();
    // The same game twice is one game.
    let games = folder.written("games.pgn", format!("{pgn}{}", game("Ann", "Bob", "2024.01.02")));
    let (whole, cut) = (folder.file("whole"), folder.file("cut"));
    succeed(review(&games, &whole, &[]));
    let ledger = fs::read(with(&whole, ".ledger.jsonl")).unwrap();
    assert_eq!(ledger.iter().filter(|byte| **byte == b'\n').count(), 1 + names.len());
    // As a killed program leaves it: in the middle of a line.
    let lines: Vec<&[u8]> = ledger.split_inclusive(|byte| *byte == b'\n').collect();
    let killed = [lines[0], lines[1], &lines[2][..lines[2].len() / 2]].concat();
    fs::write(with(&cut, ".ledger.jsonl"), killed).unwrap();
    let resumed = review(&games, &cut, &[]).output().unwrap();
    assert!(text(&resumed.stderr).contains("1 of 4 games were reviewed before"), "{}", text(&resumed.stderr));
    for end in [".json", ".pgn", ".html"] {
        assert_eq!(fs::read(with(&whole, end)).unwrap(), fs::read(with(&cut, end)).unwrap(), "{end}");
    }
    let again = succeed(review(&games, &cut, &[]));
    assert!(again.contains("4 games reviewed"), "{again}");
    let keys = |path: &Path| -> Vec<Value> {
        let lines = fs::read_to_string(path).unwrap();
        let mut keys: Vec<String> = lines
            .lines()
            .skip(1)
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["key"].to_string())
            .collect();
        keys.sort();
        keys.into_iter().map(Value::from).collect()
    };
    assert_eq!(keys(&with(&cut, ".ledger.jsonl")), keys(&with(&whole, ".ledger.jsonl")));
}

#[test]
fn a_ledger_of_other_terms_is_refused_unless_a_fresh_one_is_asked_for() {
    let folder = Folder::new();
    let games = folder.written("games.pgn", game("Ann", "Bob", "2024.01.02"));
    let prefix = folder.file("out");
    succeed(review(&games, &prefix, &[]));
    let complaint = fail(review(&games, &prefix, &["--rating", "1900"]));
    assert!(complaint.contains("--fresh"), "{complaint}");
    succeed(review(&games, &prefix, &["--rating", "1900", "--fresh"]));
    assert_eq!(read_json(&with(&prefix, ".json"))["terms"]["rating"], 1900);
}

#[test]
fn the_newest_games_are_chosen_by_date() {
    let folder = Folder::new();
    let pgn = [
        game("Ann", "Bob", "2024.01.02"),
        game("Ann", "Cem", "2024.03.02"),
        game("Ann", "Dan", "2023.09.09"),
    ];
    let games = folder.written("games.pgn", pgn.concat());
    let prefix = folder.file("out");
    succeed(review(&games, &prefix, &["--newest", "1"]));
    let figures = read_json(&with(&prefix, ".json"));
    assert_eq!(
        (figures["games"].as_array().unwrap().len(), &figures["games"][0]["black"]),
        (1, &Value::from("Cem"))
    );
}

#[test]
fn broken_games_are_named_and_skipped() {
    let folder = Folder::new();
    let pgn =
        format!("[White \"Ann\"]\n[Black \"Bob\"]\n\n1. e4 Ke7 1-0\n\n{}", game("Ann", "Bob", "2024.01.02"));
    let games = folder.written("games.pgn", pgn);
    let prefix = folder.file("out");
    let output = review(&games, &prefix, &[]).output().unwrap();
    let complaints = text(&output.stderr);
    assert!(output.status.success() && complaints.contains("Ke7"), "{complaints}");
    assert!(complaints.contains("games of Ann"), "the most frequent name is chosen: {complaints}");
    assert_eq!(read_json(&with(&prefix, ".json"))["brokenGames"], 1);
}

#[test]
fn a_player_without_games_and_standard_input_are_refused() {
    let folder = Folder::new();
    let games = folder.written("games.pgn", game("Ann", "Bob", "2024.01.02"));
    let complaint = fail(review(&games, &folder.file("out"), &["--me", "Zoe"]));
    assert!(complaint.contains("Zoe") && complaint.contains("Ann"), "{complaint}");
    fail(review(Path::new("-"), &folder.file("out"), &[]));
    assert!(!with(&folder.file("out"), ".ledger.jsonl").exists(), "nothing is left behind");
}
