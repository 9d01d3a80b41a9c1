//! Matches as a user meets them: played, killed, gone on with, and counted.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::process::{Folder, fail, read_json, succeed, tabia, text};

fn games_of(path: &Path) -> Vec<Value> {
    read_json(path)["games"].as_array().unwrap().clone()
}

fn arena(pgn: &Path, json: &Path, more: &[&str]) -> Command {
    let mut command = tabia(["arena", "level:1", "random"]);
    command.arg("--pgn").arg(pgn).arg("--json").arg(json).args(more);
    command
}

#[test]
fn a_match_gives_the_same_games_whatever_the_jobs() {
    let folder = Folder::new();
    let run = |jobs: &str| {
        let (pgn, json) = (folder.file(&format!("{jobs}.pgn")), folder.file(&format!("{jobs}.json")));
        let shown = succeed(arena(&pgn, &json, &["--games", "5", "--jobs", jobs]));
        (shown, read_json(&json), std::fs::read_to_string(&pgn).unwrap())
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
    succeed(tabia(["elo"]).arg(folder.file("1.pgn")).arg("--json").arg(&counted));
    assert_eq!(read_json(&counted)["report"]["encounters"], one["report"]["encounters"]);
}

#[test]
fn at_time_odds_the_first_player_keeps_its_clock_and_a_run_resumes_with_the_same_clocks_only() {
    let folder = Folder::new();
    let (pgn, json) = (folder.file("odds.pgn"), folder.file("odds.json"));
    let odds = |games: &str, other: &str| {
        arena(&pgn, &json, &["--games", games, "--tc", "300+2", "--opponent-tc", other])
    };
    succeed(odds("2", "60"));
    let games = std::fs::read_to_string(&pgn).unwrap();
    for (name, white, black) in [("level:1", "300+2", "60+0"), ("random", "60+0", "300+2")] {
        let game = games.split("[Event ").find(|game| game.contains(&format!("[White \"{name}\"]")));
        let game = game.unwrap_or_else(|| panic!("no game with White {name}: {games}"));
        let has = |tag: &str, value: &str| game.contains(&format!("[{tag} \"{value}\"]"));
        assert!(has("WhiteTimeControl", white) && has("BlackTimeControl", black), "{game}");
        assert!(!game.contains("[TimeControl "), "{game}");
    }
    let refused = fail(odds("4", "30"));
    assert!(refused.contains("300+2, others 60+0") && refused.contains("300+2, others 30+0"), "{refused}");
    let mut more = odds("4", "60");
    let said = String::from_utf8_lossy(&more.output().unwrap().stderr).into_owned();
    assert!(said.contains("2 games are already in"), "{said}");
    assert_eq!(games_of(&json).len(), 4);
}

#[test]
fn a_killed_run_goes_on_with_nothing_lost_or_played_twice() {
    let folder = Folder::new();
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

    succeed(arena(&pgn, &json, &["--games", "20"]));
    assert!(std::fs::read_to_string(&index).unwrap().starts_with(&kept), "nothing is lost");
    assert_eq!(games_of(&json), games_of(&whole));
    assert_eq!(read_json(&json)["report"], read_json(&whole)["report"]);
    assert_eq!(std::fs::read_to_string(&pgn).unwrap().matches("[Event \"").count(), 20);

    let other = fail(arena(&pgn, &json, &["--games", "20", "--seed", "2"]));
    assert!(other.contains("seed"), "{other}");
    succeed(arena(&pgn, &json, &["--games", "22"]));
    assert_eq!(games_of(&json)[..20], games_of(&whole)[..], "a run can be made longer");
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_run_after_the_games_under_way() {
    let folder = Folder::new();
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
    assert!(said.contains("resumes"), "{said}");
    assert!(shown.contains("level:1 against random"), "{shown}");
    assert_eq!(read_json(&json)["end"], "stopped");
}

#[test]
fn a_test_ends_the_match() {
    let folder = Folder::new();
    let (pgn, json) = (folder.file("games.pgn"), folder.file("games.json"));
    let shown = succeed(arena(&pgn, &json, &["--sprt", "-100,100"]));
    assert!(shown.contains("LLR +") && shown.contains("H1"), "{shown}");
    let result = read_json(&json);
    assert_eq!((&result["end"], &result["test"]["verdict"]), (&json!("proved"), &json!("accept-h1")));
}

#[test]
fn more_than_two_players_meet_as_the_format_says() {
    let folder = Folder::new();
    let json = folder.file("games.json");
    for (format, encounters) in [("round-robin", 3), ("gauntlet", 2)] {
        let args = ["arena", "level:1", "random", "random", "--games", "2", "--format", format];
        let shown = succeed(tabia(args).arg("--json").arg(&json));
        assert!(shown.contains("random (2)"), "{shown}");
        let result = read_json(&json);
        assert_eq!(result["report"]["encounters"].as_array().map(Vec::len), Some(encounters), "{format}");
    }
}

#[test]
fn mistakes_are_said_before_any_game() {
    let refused = |args: &[&str], word: &str| {
        let said = fail(tabia(args));
        assert!(said.contains(word), "{args:?}: {said}");
    };
    refused(&["arena", "level:9", "random"], "1 to 5");
    refused(&["arena", "level:1"], "SPEC");
    refused(&["arena", "level:1", "net:absent.onnx"], "absent.onnx");
    refused(&["arena", "level:1", "uci:no-such-engine"], "no-such-engine");
    refused(&["arena", "level:1", "random", "level:2", "--format", "match"], "3 players");
    refused(&["arena", "level:1", "random", "--sprt", "5"], "--sprt");
    refused(&["arena", "level:1", "random", "--sprt", "a,b"], "--sprt");
    refused(&["arena", "level:1", "random", "--sprt", "5,0"], "elo0 < elo1");
    refused(&["arena", "level:1", "random", "level:2", "--sprt", "0,5"], "two players");
    refused(&["arena", "level:1", "random", "--tc", "fast"], "10+0.1");
    refused(&["arena", "level:1", "random", "--tc", "1+0", "--nodes", "5"], "--nodes");
    refused(&["arena", "level:1", "random", "--opponent-tc", "60"], "--tc");
    refused(&["arena", "level:1", "random", "--openings", "absent.epd"], "absent.epd");
    refused(&["elo", "absent.pgn"], "absent.pgn");
    refused(&["elo", "-"], "games");
    refused(&["validate", "--stockfish", "no-such-engine"], "no-such-engine");
    if !Path::new("/usr/games/stockfish").exists() {
        assert!(fail(tabia(["validate"]).env("PATH", "")).contains("apt-get install stockfish"));
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
    let folder = Folder::new();
    let json = folder.file("a.json");
    let plain = folder.written("a.pgn", results());
    let packed = folder.written("a.pgn.zst", zstd::encode_all(results().as_bytes(), 3).unwrap());
    for file in [&plain, &packed] {
        let shown = succeed(tabia(["elo", "--sprt", "0,5", "--json"]).args([&json, file]));
        for figure in ["+136 =111 -96", "+40.7 [", "+49.8 +- 36.8", "99.6%", "LLR +"] {
            assert!(shown.contains(figure), "{figure}: {shown}");
        }
        let elo = &read_json(&json)["report"]["encounters"][0]["elo"];
        let half = (elo["high"].as_f64().unwrap() - elo["low"].as_f64().unwrap()) / 2.0;
        assert!((half - 30.43).abs() < 0.01, "{half}");
    }
    // The same twice over, one of them from the standard input.
    let mut command = tabia(["elo", "-"]);
    command.arg(&packed).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(results().trim_end().as_bytes()).unwrap();
    let shown = text(&child.wait_with_output().unwrap().stdout);
    assert!(shown.contains("+272 =222 -192"), "{shown}");
}

#[test]
fn elo_rates_many_players_and_counts_what_it_can() {
    let folder = Folder::new();
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
    let output = tabia(["elo"]).arg(folder.written("pool.pgn", games)).output().unwrap();
    let (shown, said) = (text(&output.stdout), text(&output.stderr));
    assert!(said.contains("without a result") && said.contains("against itself"), "{said}");
    let names: Vec<&str> = shown.lines().skip(1).take(3).filter_map(|row| row.split(' ').next()).collect();
    assert_eq!(names, ["best", "middle", "last"], "{shown}");
    for rating in ["+191 [", "+0 [", "-191 ["] {
        assert!(shown.contains(rating), "{rating}: {shown}");
    }
}

#[test]
fn model_files_alone_are_players() {
    let folder = Folder::new();
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/models");
    let json = folder.file("match.json");
    let mut command = tabia(["arena"]);
    command.arg(models.join("statedict/policy-mlp.pt")).arg(models.join("challenge-mlp.onnx"));
    command.args(["--games", "2", "--opening", "start of nothing"]);
    let complaint = fail(command);
    assert!(complaint.contains("--opening") && complaint.contains("expected one of"), "{complaint}");

    let names: Vec<String> =
        tabia_arena::Openings::balanced().list().iter().map(tabia_arena::Opening::label).collect();
    let warm = format!("{},temperature=0.5", models.join("statedict/policy-mlp.pt").display());
    let mut command = tabia(["arena", &warm]);
    command.arg(models.join("challenge-mlp.onnx"));
    command.args(["--games", "2", "--opening", &names[2]]).arg("--json").arg(&json);
    let shown = succeed(command);
    assert!(shown.contains("human:") && shown.contains("net:"), "{shown}");
    assert!(
        games_of(&json).iter().all(|game| game["opening_label"] == names[2].as_str()),
        "{}",
        read_json(&json)
    );
}
