//! `tabia-lab strength`, `behaviour`, `diversity` and `soak`, with `tabia uci` in place of Stockfish.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use tempfile::TempDir;

fn lab(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tabia-lab"));
    command.args(arguments).stdin(Stdio::null());
    command
}

/// The `tabia` program, which is built beside the laboratory.
fn tabia() -> Option<PathBuf> {
    let program = Path::new(env!("CARGO_BIN_EXE_tabia-lab")).with_file_name("tabia");
    tabia_requires::installed("the program tabia", program.is_file().then_some(program))
}

fn network() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/models/human.safetensors")
}

/// Games that end within a few moves, by the fifty-move rule or mate.
fn openings(folder: &TempDir) -> PathBuf {
    let book = folder.path().join("short.fen");
    let fens = "4k3/8/8/8/8/8/3R4/4K3 w - - 96 80\n6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 96 80\n";
    std::fs::write(&book, fens).expect("a book");
    book
}

fn fit(folder: &TempDir, opponent: &str, rounds: &str) -> Command {
    let mut command = lab(&["strength"]);
    command.arg(network()).args(["--fit", "--rounds", rounds, "--elos", "1400,1600"]);
    command.args(["--games", "8", "--fit-games", "8", "--jobs", "2", "--stockfish", opponent]);
    command.arg("--openings").arg(openings(folder)).arg("--games-in").arg(folder.path().join("games"));
    command.arg("--write").arg(folder.path().join("fitted.safetensors"));
    command
        .arg("--json")
        .arg(folder.path().join("curve.json"))
        .arg("--plot")
        .arg(folder.path().join("curve.svg"));
    command
}

/// The card of a safetensors file.
fn card(file: &Path) -> Value {
    let bytes = std::fs::read(file).expect("a network");
    let (length, rest) = bytes.split_first_chunk::<8>().expect("a header");
    let header = &rest[..usize::try_from(u64::from_le_bytes(*length)).expect("a small header")];
    let header: Value = serde_json::from_slice(header).expect("JSON");
    serde_json::from_str(header["__metadata__"]["tabia.card"].as_str().expect("a card")).expect("JSON")
}

#[test]
fn fit_is_written_to_the_card_and_verified_by_its_own_games() {
    let Some(tabia) = tabia() else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let opponent = format!("'{}' uci --player 'human:{}'", tabia.display(), network().display());
    let output = fit(&folder, &opponent, "1").output().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("round 1:") && said.contains("verifying after 1:"), "{said}");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("mean gap"), "{printed}");

    let curve: Value =
        serde_json::from_slice(&std::fs::read(folder.path().join("curve.json")).expect("a curve"))
            .expect("JSON");
    let strength = card(&folder.path().join("fitted.safetensors"))["strength"].clone();
    let knots = strength["knots"].as_array().expect("knots").clone();
    assert_eq!(knots.iter().map(|knot| knot["asked"].as_u64()).collect::<Vec<_>>(), [Some(1400), Some(1600)]);
    for (knot, shown) in knots.iter().zip(curve["shown"].as_array().expect("a curve")) {
        let rating = shown["rating"].as_f64().expect("a rating");
        assert_eq!(knot["shown"]["rating"].as_f64(), Some(rating.round()));
        assert_eq!(knot["shown"]["games"], shown["games"]);
        assert!(knot["nodes"].as_u64().is_some_and(|nodes| nodes > 0));
    }
    let verified =
        std::fs::read_to_string(folder.path().join("games").join("verifying-after-1.pgn")).expect("games");
    assert_eq!(curve["games"].as_u64(), Some(verified.matches("[Result ").count() as u64));
    assert_eq!(curve["games"].as_u64(), Some(24));
    let legs: Vec<&Value> = curve["legs"].as_array().expect("scales").iter().map(|on| &on["leg"]).collect();
    assert_eq!(
        legs,
        ["stockfish"],
        "no Maia networks, no games of people, and the fifth level is too strong"
    );
    assert_eq!(curve["faults"], Value::Array(Vec::new()));
    assert_eq!(strength["method"], curve["method"]);

    let second = fit(&folder, &opponent, "1").output().expect("the program starts");
    let said = String::from_utf8_lossy(&second.stderr);
    assert!(second.status.success(), "{said}");
    assert!(said.contains("of them played before"), "{said}");
    assert_eq!(second.stdout, output.stdout, "the same games, the same answer");

    let third = fit(&folder, &opponent, "2").output().expect("the program starts");
    let said = String::from_utf8_lossy(&third.stderr);
    assert!(third.status.success(), "{said}");
    assert!(said.contains("verifying after 1: 24 games, 24 of them played before"), "{said}");
    assert!(said.contains("verifying after 2: 24 games, 2 at a time"), "games of its own: {said}");
}

/// The games of the fixture as if people of 1400 and 1600 had played them on Lichess.
fn games_of_people(folder: &TempDir) -> PathBuf {
    let games = std::fs::read_to_string(fixture("eval/games.pgn")).expect("a fixture");
    let mut text = String::new();
    for line in games.lines() {
        let line = match line.split_whitespace().next() {
            Some("[WhiteElo") => "[Site \"https://lichess.org/abcdefgh\"]\n[WhiteElo \"1400\"]",
            Some("[BlackElo") => "[BlackElo \"1600\"]",
            Some("[Site") => continue,
            _ => line,
        };
        text.push_str(line);
        text.push('\n');
    }
    let path = folder.path().join("people.pgn");
    std::fs::write(&path, text).expect("games");
    path
}

#[test]
fn people_are_a_scale_and_what_was_judged_is_kept() {
    let Some(tabia) = tabia() else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let opponent = format!("'{}' uci --player 'human:{}'", tabia.display(), network().display());
    let (people, openings) = (games_of_people(&folder), openings(&folder));
    let (games, json) = (folder.path().join("games"), folder.path().join("curve.json"));
    let measure = |more: &[&str]| {
        let mut command =
            lab(&["strength", "--elos", "1400,1600", "--games", "8", "--jobs", "2", "--no-levels"]);
        command.args(["--stockfish", &opponent, "--people-positions", "20", "--judge-nodes", "100"]);
        command.arg(network()).arg("--people").arg(&people).arg("--openings").arg(&openings);
        command.arg("--games-in").arg(&games).arg("--json").arg(&json).args(more);
        command.output().expect("the program starts")
    };
    let first = measure(&[]);
    let said = String::from_utf8_lossy(&first.stderr);
    assert!(first.status.success(), "{said}");
    let printed = String::from_utf8_lossy(&first.stdout).into_owned();
    for words in ["stockfish", "people", "apart", "losses in the same positions", "mates in 1"] {
        assert!(printed.contains(words), "{words}: {printed}");
    }
    let curve: Value = serde_json::from_slice(&std::fs::read(&json).expect("a curve")).expect("JSON");
    let legs: Vec<&Value> = curve["legs"].as_array().expect("scales").iter().map(|on| &on["leg"]).collect();
    assert_eq!(legs, ["stockfish", "people"]);
    let of_people = |row: &&Value| row["who"] == "people" && row["rating"] == 1400;
    let errors = curve["errors"].as_array().expect("errors");
    let people = errors.iter().find(of_people).expect("people of 1400");
    assert!(people["positions"].as_u64() >= Some(20), "{people}");
    assert_eq!(errors.len(), 6, "people and two players in the positions of two ratings");

    // A line cut short by a crash is judged again, the others are not.
    let kept = games.join("people.jsonl");
    let text = std::fs::read_to_string(&kept).expect("judged moves");
    std::fs::write(&kept, &text[..text.len() - 9]).expect("cut short");
    let second = measure(&[]);
    let said = String::from_utf8_lossy(&second.stderr);
    assert!(second.status.success() && said.contains("of them judged before"), "{said}");
    assert_eq!(String::from_utf8_lossy(&second.stdout), printed, "the same answer");

    let other = measure(&["--people-pool", "chess.com"]);
    let said = String::from_utf8_lossy(&other.stderr);
    assert!(!other.status.success() && said.contains("judged under other conditions"), "{said}");
    let absent = measure(&["--scale", "maia"]);
    let said = String::from_utf8_lossy(&absent.stderr);
    assert!(
        !absent.status.success() && said.contains("--scale maia: none of its players took part"),
        "{said}"
    );
}

#[test]
fn opponent_without_a_rating_is_refused() {
    let Some(tabia) = tabia() else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = fit(&folder, &format!("'{}' uci --player random", tabia.display()), "1")
        .output()
        .expect("the program starts");
    assert!(!output.status.success());
    assert!(!folder.path().join("fitted.safetensors").exists(), "nothing is written");
}

fn succeed(mut command: Command) -> String {
    let output = command.output().expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn fixture(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name).display().to_string()
}

/// As short as possible: a small network with three seconds on the clock.
#[test]
fn soak_in_time_trouble_has_no_faults() {
    let mut command = lab(&["soak", "--time-trouble", "--games", "2", "--jobs", "1", "--seed", "3"]);
    command.arg(network());
    let text = succeed(command);
    assert!(text.starts_with("2 games, ") && text.contains("no fault"), "{text}");
    assert!(text.contains("that the network gives less than 1%"), "{text}");
}

#[test]
fn behaviour_and_diversity_print_tables() {
    let games = fixture("eval/games.pgn");
    let model = fixture("models/human.safetensors");
    let table = succeed(lab(&["behaviour", &games, "--model", &model, "--asked", "1"]));
    assert!(table.contains("rating") && table.contains("resigned"), "{table}");
    let table = succeed(lab(&["diversity", "level:1", "--games", "2"]));
    assert!(table.contains("level:1"), "{table}");
}
