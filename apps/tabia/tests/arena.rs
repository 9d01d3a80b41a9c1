//! Matches as a user meets them: played, killed, gone on with, and counted.

mod folder;
mod process;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use folder::Folder;
use process::{fail, succeed, tabia, text};

fn json_of(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).expect("a file")).expect("JSON")
}

fn games_of(path: &Path) -> Vec<Value> {
    json_of(path)["games"].as_array().expect("games").clone()
}

fn arena(pgn: &Path, json: &Path, more: &[&str]) -> Command {
    let mut command = tabia(&["arena", "level:1", "random"]);
    command.arg("--pgn").arg(pgn).arg("--json").arg(json).args(more);
    command
}

#[test]
fn a_match_gives_the_same_games_whatever_the_jobs() {
    let folder = Folder::new("jobs");
    let run = |jobs: &str| {
        let (pgn, json) = (folder.file(&format!("{jobs}.pgn")), folder.file(&format!("{jobs}.json")));
        let shown = succeed(arena(&pgn, &json, &["--games", "5", "--jobs", jobs]));
        (shown, json_of(&json), std::fs::read_to_string(&pgn).unwrap())
    };
    let (shown, one, pgn) = run("1");
    let (_, three, _) = run("3");
    assert_eq!(one["games"], three["games"]);
    assert_eq!(one["games"].as_array().map(Vec::len), Some(6), "rounded up to pairs");
    assert_eq!((&one["end"], &one["test"]), (&json!("complete"), &Value::Null));
    for words in ["level:1 against random", "95% interval", "LOS", "pairs   [", "White", "Black", "opening"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert_eq!(pgn.matches("[Event \"").count(), 6);

    // The PGN file alone gives the same totals.
    let counted = folder.file("counted.json");
    let mut elo = tabia(&["elo"]);
    elo.arg(folder.file("1.pgn")).arg("--json").arg(&counted);
    succeed(elo);
    assert_eq!(json_of(&counted)["report"]["encounters"], one["report"]["encounters"]);
}

#[test]
fn a_killed_run_goes_on_with_nothing_lost_or_played_twice() {
    let folder = Folder::new("killed");
    let (whole_pgn, whole) = (folder.file("whole.pgn"), folder.file("whole.json"));
    succeed(arena(&whole_pgn, &whole, &["--games", "20"]));

    let (pgn, json) = (folder.file("killed.pgn"), folder.file("killed.json"));
    let index = folder.file("killed.pgn.jsonl");
    let lines = || std::fs::read_to_string(&index).map_or(0, |text| text.lines().count());
    let mut child =
        arena(&pgn, &json, &["--games", "20"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while lines() < 4 && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    // The signal that cannot be caught.
    child.kill().unwrap();
    child.wait().unwrap();
    let kept = std::fs::read_to_string(&index).unwrap();
    assert!(lines() >= 4 && !json.exists(), "killed in the middle: {kept}");

    let mut again = arena(&pgn, &json, &["--games", "20"]);
    let output = again.output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("games are already in"), "{}", text(&output.stderr));
    assert!(std::fs::read_to_string(&index).unwrap().starts_with(&kept), "nothing is lost");
    assert_eq!(games_of(&json), games_of(&whole));
    assert_eq!(json_of(&json)["report"], json_of(&whole)["report"]);
    assert_eq!(std::fs::read_to_string(&pgn).unwrap().matches("[Event \"").count(), 20);

    let other = fail(arena(&pgn, &json, &["--games", "20", "--seed", "2"]));
    assert_eq!(other.matches("seed: 1 then, 2 now").count(), 1, "{other}");
    assert!(other.contains("another file"), "{other}");
    succeed(arena(&pgn, &json, &["--games", "22"]));
    assert_eq!(games_of(&json)[..20], games_of(&whole)[..], "a run can be made longer");
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_run_after_the_games_under_way() {
    let folder = Folder::new("interrupted");
    let (pgn, json) = (folder.file("games.pgn"), folder.file("games.json"));
    let index = folder.file("games.pgn.jsonl");
    let child = arena(&pgn, &json, &["--games", "100000", "--jobs", "1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while std::fs::read_to_string(&index).map_or(0, |text| text.lines().count()) < 2 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    let (shown, said) = (text(&output.stdout), text(&output.stderr));
    assert!(!output.status.success());
    assert!(said.contains("of 100000 games") && said.contains("the same command resumes"), "{said}");
    assert!(shown.contains("level:1 against random"), "{shown}");
    assert_eq!(json_of(&json)["end"], "stopped");
}

#[test]
fn a_test_ends_the_match() {
    let folder = Folder::new("sprt");
    let (pgn, json) = (folder.file("games.pgn"), folder.file("games.json"));
    let shown = succeed(arena(&pgn, &json, &["--sprt", "-100,100"]));
    assert!(shown.contains("SPRT of -100 against 100 normalised Elo: LLR +"), "{shown}");
    assert!(shown.contains("H1 accepted"), "{shown}");
    let result = json_of(&json);
    assert_eq!((&result["end"], &result["test"]["verdict"]), (&json!("proved"), &json!("accept-h1")));
}

#[test]
fn more_than_two_players_meet_as_the_format_says() {
    let folder = Folder::new("formats");
    let json = folder.file("games.json");
    for (format, encounters) in [("round-robin", 3), ("gauntlet", 2)] {
        let mut command =
            tabia(&["arena", "level:1", "random", "random", "--games", "2", "--format", format]);
        command.arg("--json").arg(&json);
        let shown = succeed(command);
        assert!(shown.contains("random (2)"), "{shown}");
        let result = json_of(&json);
        assert_eq!(result["report"]["encounters"].as_array().map(Vec::len), Some(encounters), "{format}");
    }
}

#[test]
fn mistakes_are_said_before_any_game() {
    let refused = |args: &[&str], words: &[&str]| {
        let said = fail(tabia(args));
        for word in words {
            assert!(said.contains(word), "{args:?}: {said}");
        }
    };
    refused(&["arena", "level:9", "random"], &["invalid level 9", "1 to 5"]);
    refused(&["arena", "level:1"], &["2 values"]);
    refused(&["arena", "level:1", "net:absent.onnx"], &["absent.onnx", "No such file"]);
    refused(&["arena", "level:1", "uci:no-such-engine"], &["no-such-engine"]);
    refused(&["arena", "level:1", "random", "level:2", "--format", "match"], &["3 players"]);
    refused(&["arena", "level:1", "random", "--sprt", "5"], &["--sprt", "as in 0,5"]);
    refused(&["arena", "level:1", "random", "--sprt", "a,b"], &["--sprt", "as in 0,5"]);
    refused(&["arena", "level:1", "random", "--sprt", "5,0"], &["elo0 < elo1"]);
    refused(&["arena", "level:1", "random", "level:2", "--sprt", "0,5"], &["match of two players"]);
    refused(&["arena", "level:1", "random", "--tc", "fast"], &["--tc", "10+0.1"]);
    refused(&["arena", "level:1", "random", "--tc", "1+0", "--nodes", "5"], &["cannot be used with"]);
    refused(&["arena", "level:1", "random", "--openings", "absent.epd"], &["--openings", "absent.epd"]);
    refused(&["elo", "absent.pgn"], &["absent.pgn"]);
    refused(&["elo", "-"], &["no finished games"]);
    refused(&["validate", "--stockfish", "no-such-engine"], &["no-such-engine"]);
    let mut nowhere = tabia(&["validate"]);
    nowhere.env("PATH", "");
    if !Path::new("/usr/games/stockfish").exists() {
        assert!(fail(nowhere).contains("apt-get install stockfish"));
    }
}

/// 136 wins, 111 draws and 96 losses, which fastchess' own tests give as 40.70 +- 30.43 Elo.
fn results() -> String {
    let results = [("1-0", 136), ("1/2-1/2", 111), ("0-1", 96)];
    let games = results.iter().flat_map(|(result, count)| std::iter::repeat_n(result, *count));
    games
        .map(|result| {
            format!("[White \"one\"]\n[Black \"two\"]\n[Result \"{result}\"]\n\n1. e4 e5 {result}\n\n")
        })
        .collect()
}

#[test]
fn elo_agrees_with_a_worked_example() {
    let folder = Folder::new("elo");
    let (plain, packed, json) = (folder.file("a.pgn"), folder.file("a.pgn.zst"), folder.file("a.json"));
    std::fs::write(&plain, results()).unwrap();
    std::fs::write(&packed, zstd::encode_all(results().as_bytes(), 3).unwrap()).unwrap();
    for file in [&plain, &packed] {
        let mut command = tabia(&["elo"]);
        command.arg(file).arg("--json").arg(&json).args(["--sprt", "0,5"]);
        let shown = succeed(command);
        assert!(shown.contains("+136 =111 -96"), "{shown}");
        assert!(shown.contains("Elo     +40.7 ["), "{shown}");
        assert!(shown.contains("nElo    +49.8 +- 36.8"), "{shown}");
        assert!(shown.contains("LOS     99.6%"), "{shown}");
        assert!(shown.contains("SPRT of 0 against 5 normalised Elo: LLR +"), "{shown}");
        let elo = &json_of(&json)["report"]["encounters"][0]["elo"];
        let half = (elo["high"].as_f64().unwrap() - elo["low"].as_f64().unwrap()) / 2.0;
        assert!((half - 30.43).abs() < 0.01, "{half}");
    }
    // The same twice over, one of them from the standard input.
    let mut command = tabia(&["elo", "-"]);
    command.arg(&packed).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(results().trim_end().as_bytes()).unwrap();
    let shown = text(&child.wait_with_output().unwrap().stdout);
    assert!(shown.contains("+272 =222 -192"), "{shown}");
}

#[test]
fn elo_rates_many_players_and_counts_what_it_can() {
    let folder = Folder::new("pool");
    let pgn = folder.file("pool.pgn");
    let game = |white: &str, black: &str, result: &str| {
        format!("[White \"{white}\"]\n[Black \"{black}\"]\n[Result \"{result}\"]\n\n{result}\n\n")
    };
    // Three points of four against the next: 190.8 Elo apart.
    let mut games = String::new();
    for (strong, weak) in [("best", "middle"), ("middle", "last")] {
        for result in ["1-0", "1-0", "1-0", "0-1"] {
            games += &game(weak, strong, if result == "1-0" { "0-1" } else { "1-0" });
        }
    }
    games += &game("last", "best", "*");
    games += &game("last", "last", "1-0");
    std::fs::write(&pgn, games).unwrap();
    let mut command = tabia(&["elo"]);
    command.arg(&pgn);
    let output = command.output().unwrap();
    let (shown, said) = (text(&output.stdout), text(&output.stderr));
    assert!(said.contains("1 games without a result") && said.contains("against itself"), "{said}");
    let names: Vec<&str> = shown.lines().skip(1).take(3).filter_map(|row| row.split(' ').next()).collect();
    assert_eq!(names, ["best", "middle", "last"], "{shown}");
    for rating in ["+191 [", "+0 [", "-191 ["] {
        assert!(shown.contains(rating), "{rating}: {shown}");
    }
}
