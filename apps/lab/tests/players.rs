//! `tabia-lab strength`, `behaviour`, `diversity` and `soak`, with `tabia uci` in place of Stockfish; `tune`, `data selfplay`,
//! and `train` that evaluates by playing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tabia_data::{GameRecord, Set};

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

/// Fits a copy of the network in place: its card changes from one command to the next.
fn fit(folder: &TempDir, opponent: &str, rounds: &str) -> Command {
    let fitted = folder.path().join("fitted.safetensors");
    if !fitted.exists() {
        std::fs::copy(network(), &fitted).expect("a copy");
    }
    let mut command = lab(&["strength"]);
    command.arg(fitted).args(["--fit", "--rounds", rounds, "--elos", "1400,1600"]);
    command.args(["--games", "8", "--fit-games", "8", "--jobs", "2", "--stockfish", opponent]);
    command.arg("--openings").arg(openings(folder)).arg("--games-in").arg(folder.path().join("games"));
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
    let same = std::fs::read(folder.path().join("fitted.safetensors")).expect("the network")
        == std::fs::read(network()).expect("a fixture");
    assert!(same, "nothing is written");
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

fn fails(mut command: Command) -> String {
    let output = command.output().expect("the program starts");
    assert!(!output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn selfplay(folder: &TempDir, out: &str, rest: &[&str]) -> Command {
    let mut command = lab(&["data", "selfplay", "--shards", "2", "--out"]);
    command.arg(folder.path().join(out)).args(rest);
    command
}

fn games(folder: &TempDir, set: &str) -> Vec<GameRecord> {
    let set = Set::open(&folder.path().join(set)).expect("a whole set");
    set.iter().map(|record| GameRecord::from_bytes(&record.expect("a record").1).expect("a game")).collect()
}

#[test]
fn selfplay_gives_games_with_scores_and_results() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let player = ["--player", "engine,eval=baseline", "--depth", "1", "--games", "40", "--max-plies", "30"];
    let random = [&player[..], &["--random-plies", "4"]].concat();
    let said = succeed(selfplay(&folder, "one", &[&random[..], &["--jobs", "1"]].concat()));
    assert!(said.contains("40 games with "), "{said}");
    let played = games(&folder, "one");
    assert_eq!(played.len(), 40);
    for game in &played {
        assert!(game.head.result.is_some());
        assert!(game.plies.len() > 4, "an opening, random moves and more");
        let scored = game.plies.iter().filter(|ply| ply.evaluation.is_some()).count();
        assert!(scored > 0 && game.plies.last().is_some_and(|last| last.evaluation.is_some()));
    }
    // The same games on any number of cores, and in parts.
    succeed(selfplay(&folder, "two", &[&random[..], &["--jobs", "2"]].concat()));
    assert_eq!(games(&folder, "two"), played);
    let parts: Vec<GameRecord> = ["1/2", "2/2"]
        .iter()
        .flat_map(|part| {
            let out = part.replace('/', "-of-");
            succeed(selfplay(&folder, &out, &[&random[..], &["--part", part]].concat()));
            games(&folder, &out)
        })
        .collect();
    let keys = |games: &[GameRecord]| games.iter().map(|game| game.key().unwrap().0).collect::<BTreeSet<_>>();
    assert_eq!((parts.len(), keys(&parts)), (40, keys(&played)));
    // A deterministic player repeats itself on 25 openings.
    let said = succeed(selfplay(&folder, "repeated", &player));
    assert!(said.contains("25 games with ") && said.contains("15 games that were played before"), "{said}");
}

#[test]
fn selfplay_of_several_players_is_balanced_and_resumes() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = ["--player", "random", "--player", "level:1", "--games", "64", "--max-plies", "40"];
    succeed(selfplay(&folder, "whole", &[&options[..], &["--jobs", "2"]].concat()));
    // What a killed run leaves: some chunks and a journal that lists them.
    let whole = games(&folder, "whole");
    let again = fails(selfplay(&folder, "whole", &options));
    assert!(again.contains("already holds a set"), "{again}");
    let mut running = selfplay(&folder, "killed", &[&options[..], &["--jobs", "1"]].concat())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let journal = folder.path().join("killed/games.journal");
    // It may also be done before it is killed.
    while running.try_wait().expect("a child").is_none()
        && std::fs::read_to_string(&journal).map_or(true, |text| !text.contains("written"))
    {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    running.kill().ok();
    running.wait().expect("a child");
    if journal.exists() && !folder.path().join("killed/set.json").exists() {
        let other = [&options[..], &["--seed", "2"]].concat();
        let error = fails(selfplay(&folder, "killed", &other));
        assert!(error.contains("was started with other settings"), "{error}");
        succeed(selfplay(&folder, "killed", &options));
    }
    assert_eq!(games(&folder, "killed"), whole);
    let error = fails(selfplay(&folder, "none", &["--player", "nobody"]));
    assert!(error.contains("nobody"), "{error}");
}

#[test]
fn tuning_is_saved_extended_and_tested() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let tune = |rest: &[&str]| {
        let mut command = lab(&["tune"]);
        command.args(rest).current_dir(folder.path());
        command
    };
    let table = succeed(tune(&["--list"]));
    assert!(table.starts_with("parameter") && table.contains("futility_per_ply"), "{table}");
    let options =
        ["--only", "futility,razoring", "--baseline", "--nodes", "30", "--jobs", "2", "--out", "tuned.json"];
    let games = |count: &'static str| [&options[..], &["--games", count]].concat();
    succeed(tune(&games("8")));
    let read = || -> Value {
        serde_json::from_slice(&std::fs::read(folder.path().join("tuned.json")).unwrap()).unwrap()
    };
    assert_eq!((&read()["games"], read()["values"].as_object().unwrap().len()), (&8.into(), 2));
    let said = succeed(tune(&games("8")));
    assert!(said.contains("has 8 games already"), "{said}");
    succeed(tune(&games("12")));
    assert_eq!(read()["games"], 12);
    let error = fails(tune(&[&games("12")[..], &["--seed", "2"]].concat()));
    assert!(error.contains("started with other settings"), "{error}");
    let error = fails(tune(&["--only", "luck"]));
    assert!(error.contains("no parameter \"luck\""), "{error}");

    let test = |rest: &[&str]| {
        tune(&[&["test", "--baseline", "--nodes", "30", "--games", "4", "--sprt", "0,50"][..], rest].concat())
    };
    let said = succeed(test(&["--set", "futility=150", "--pgn", "games.pgn"]));
    assert!(said.contains("engine,futility=150") && said.contains("SPRT of 0 against 50"), "{said}");
    assert!(folder.path().join("games.pgn").exists());
    let error = fails(test(&[]));
    assert!(error.contains("nothing to test"), "{error}");
    let error = fails(test(&["--set", "futility=-5"]));
    assert!(error.contains("futility is -5 (expected 20 to 300)"), "{error}");
}

#[test]
fn training_is_evaluated_by_playing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let config = "name = 'tiny'\n[net]\nkind = 'challenge'\nbody = 'dense'\nhidden = [8]\n\
        [data]\nbatch = 16\nlanes = 2\ncursors = 8\nheld_out_ppm = 200000\n\
        [evaluation]\ntimes = 2\npositions = 20\nfinal_positions = 20\ngames = 2\nnodes = 20\n";
    let train = |run: &str, evaluation: &str| {
        std::fs::write(folder.path().join("config.toml"), format!("{config}{evaluation}\n")).unwrap();
        let mut command = lab(&["train", "config.toml", "--device", "cpu", "--max-positions", "320"]);
        command.args(["--out", run, "--data", &fixture("shards/evaluations")]).current_dir(folder.path());
        command
    };
    succeed(train("run", "match = 'engine vs engine:previous'"));
    let lines = std::fs::read_to_string(folder.path().join("run/metrics.jsonl")).unwrap();
    let played: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|line| line["kind"] == "evaluation")
        .map(|line| line["groups"]["against engine:previous"].clone())
        .collect();
    assert_eq!(played.len(), 2, "{lines}");
    for group in &played {
        assert_eq!(group["count"], 2, "{group}");
        assert!((0.0..=1.0).contains(&group["points"].as_f64().unwrap()), "{group}");
    }
    let error = fails(train("other", "match = 'engine:other.onnx vs engine'"));
    assert!(error.contains("does not play with the network in training"), "{error}");
    let error = fails(train("other", "ladder = 9"));
    assert!(error.contains("no level 9"), "{error}");
}
