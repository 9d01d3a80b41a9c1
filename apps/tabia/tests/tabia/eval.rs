//! `tabia eval` as a user meets it, against the same figures worked out from the games as the game crate reads them.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use shakmaty::Move;
use tabia_data::{RecordKind, SetPlan, SetWriter, ShardOptions};
use tabia_encoding::time_bin;
use tabia_game::{Game, History, PgnReader};
use tabia_model::{Evaluation, Model};
use tabia_players::think_time_for;

use crate::process::{Folder, fail, fixture, read_json, succeed, tabia};

fn games_file() -> PathBuf {
    fixture("eval/games.pgn")
}

fn network(name: &str) -> PathBuf {
    fixture("models").join(name)
}

/// The spec of a network of the fixtures.
fn spec(kind: &str, name: &str) -> String {
    format!("{kind}{}", network(name).display())
}

fn eval(what: &str, files: &[&Path], more: &[&str]) -> Command {
    let mut command = tabia(["eval", what]);
    command.args(files).args(more);
    command
}

/// What a command says with `--json`.
fn json(mut command: Command) -> Value {
    let folder = Folder::new();
    let file = folder.file("figures.json");
    succeed(command.arg("--json").arg(&file));
    read_json(&file)
}

/// A position, the move that was played in it and how many seconds that took.
type Moment = (History, Move, Option<f32>);

/// The games of the fixture, and each of their positions from ply 10 on with the move that was played.
fn positions() -> Vec<(Game, Vec<Moment>)> {
    let bytes = std::fs::read(games_file()).unwrap();
    let games: Vec<Game> = PgnReader::new(bytes.as_slice()).map(|game| game.expect("a sound game")).collect();
    let positions = |game: &Game| {
        let mut history = game.history(tabia_game::NodeId::ROOT);
        let mut found = Vec::new();
        for (ply, node) in game.mainline().enumerate() {
            let played = game.move_to(node).unwrap();
            let clock = game.notes(node).clock;
            let increment = game.headers.time_control().pace().map(|pace| pace.increment);
            let before = history.situation().mover.time_left;
            let thought = clock
                .zip(before)
                .zip(increment)
                .map(|((after, before), increment)| (before + increment).saturating_sub(after).as_secs_f32());
            if ply >= 10 {
                found.push((history.clone(), played, thought));
            }
            history.push(played, clock);
        }
        found
    };
    games.into_iter().map(|game| (game.clone(), positions(&game))).collect()
}

fn ask(model: &Model, history: &History) -> Evaluation {
    model.evaluate(&[history.situation()]).unwrap().remove(0)
}

fn near(found: &Value, expected: f64) -> bool {
    found.as_f64().is_some_and(|found| (found - expected).abs() < 1e-4)
}

#[test]
fn figures_are_those_of_the_games_read_another_way() {
    let nets = [("human:", "human.safetensors"), ("maia:", "lc0-se-classical.pb.gz")];
    let specs = nets.map(|(kind, name)| spec(kind, name));
    let args = ["--model", &specs[0], "--model", &specs[1], "--by", "elo,phase,time,pool", "--best", "maia"];
    let figures = json(eval("human", &[&games_file()], &args));
    let groups = figures["report"]["groups"].as_array().unwrap();
    let all = &groups[0];
    let games = positions();
    let count: usize = games.iter().map(|(_, positions)| positions.len()).sum();
    assert_eq!(all["positions"], count);
    assert_eq!(all["games"], games.len());
    for (number, (_, name)) in nets.iter().enumerate() {
        let model = Model::open(network(name)).unwrap();
        let (mut top1, mut top5, mut loss) = (0, 0, 0.0);
        for (history, played, _) in games.iter().flat_map(|(_, positions)| positions) {
            let policy = ask(&model, history).policy.unwrap();
            let rank = policy.candidates().iter().position(|candidate| candidate.mv == *played).unwrap();
            top1 += usize::from(rank == 0);
            top5 += usize::from(rank < 5);
            loss -= f64::from(policy.probability(*played)).ln();
        }
        let of = &all["figures"][number];
        assert!(near(&of["top1"]["value"], top1 as f64 / count as f64), "{name}: {of}");
        assert!(near(&of["top5"]["value"], top5 as f64 / count as f64), "{name}: {of}");
        assert!(near(&of["log_loss"]["value"], loss / count as f64), "{name}: {of}");
        let reliability = of["calibration"]["bins"].as_array().unwrap();
        let binned: u64 = reliability.iter().map(|bin| bin["positions"].as_u64().unwrap()).sum();
        assert_eq!(binned, count as u64);
    }
    let difference = [0, 1].map(|number| all["figures"][number]["top1"]["value"].as_f64().unwrap());
    assert!(near(&all["comparison"]["top1"]["value"], difference[0] - difference[1]));
    for by in ["elo", "phase", "time", "pool"] {
        let bands: Vec<&Value> = groups.iter().filter(|group| group["by"] == by).collect();
        let total: u64 = bands.iter().map(|band| band["positions"].as_u64().unwrap()).sum();
        assert_eq!(total, count as u64, "{by}");
    }
    let bands = |by: &str| -> Vec<&str> {
        groups.iter().filter(|group| group["by"] == by).map(|group| group["band"].as_str().unwrap()).collect()
    };
    assert_eq!(bands("time"), ["bullet", "blitz", "rapid", "unknown"]);
    assert_eq!(bands("elo").last(), Some(&"unknown"));
}

#[test]
fn the_rating_pool_is_assumed_game_by_game_and_said() {
    let model = spec("", "human.safetensors");
    let said = |what: &str, more: &[&str]| {
        succeed(eval(what, &[&games_file()], &[&["--model", &model], more].concat()))
    };
    let assumed = "1 over the board, 4 lichess, 1 unknown (assumed from tags and clocks; --pool overrides)";
    assert!(
        said("human", &[]).contains(&format!("rating pool of the games: {assumed}\n")),
        "{}",
        said("human", &[])
    );
    assert!(said("time", &[]).contains("4 lichess (assumed"), "{}", said("time", &[]));
    assert!(said("human", &["--pool", "online"]).contains("6 online (by --pool)"));
    let figures = json(eval("human", &[&games_file()], &["--model", &model, "--by", "pool"]));
    assert_eq!(
        figures["pools"],
        serde_json::json!({
            "over the board": 1,
            "lichess": 4,
            "chess.com": 0,
            "online": 0,
            "puzzle": 0,
            "unknown": 1,
        })
    );
    let groups = figures["report"]["groups"].as_array().unwrap().iter();
    let bands: Vec<&str> =
        groups.filter(|group| group["by"] == "pool").map(|group| group["band"].as_str().unwrap()).collect();
    assert_eq!(bands, ["over the board", "lichess", "unknown"]);
}

#[test]
fn no_interval_has_zero_width() {
    // Eight games in which the only legal move is played: the network is always right.
    let folder = Folder::new();
    let file = folder.file("games.pgn");
    let game = |n: u32| {
        format!(
            "[WhiteElo \"{}\"]\n[BlackElo \"1500\"]\n[SetUp \"1\"]\n[FEN \"7k/8/5K2/8/8/8/8/6Q1 b - - 0 1\"]\n\n1... Kh7 *\n\n",
            1500 + n
        )
    };
    std::fs::write(&file, (0..8).map(game).collect::<String>()).unwrap();
    let model = spec("", "human.safetensors");
    let args = ["--model", &model, "--model", &spec("maia:", "lc0-se-classical.pb.gz"), "--first-ply", "0"];
    let args = [&args[..], &["--by", "elo"]].concat();
    let said = succeed(eval("human", &[&file], &args));
    assert!(said.contains("100.0% [58.9, 100.0]") && !said.contains("±0.0"), "{said}");
    let figures = json(eval("human", &[&file], &args));
    let top1 = &figures["report"]["groups"][0]["figures"][0]["top1"];
    assert!(near(&top1["low"], 0.5885) && near(&top1["high"], 1.0), "{top1}");
    // Nothing tells how far the difference of two that agree may go.
    let ahead = &figures["report"]["groups"][0]["comparison"]["top1"];
    assert_eq!((&ahead["value"], &ahead["low"]), (&0.0.into(), &Value::Null), "{ahead}");
}

#[test]
fn threads_and_copies_change_nothing_and_samples_are_whole_games() {
    let model = spec("", "human.safetensors");
    let figures = |files: &[&Path], more: &[&str]| {
        let args = [&["--model", &model, "--by", "elo"], more].concat();
        json(eval("human", files, &args))["report"].clone()
    };
    let file = games_file();
    let once = figures(&[&file], &["--jobs", "1"]);
    assert_eq!(once, figures(&[&file, &file], &["--jobs", "3"]));
    let lengths: Vec<usize> = positions().iter().map(|(_, positions)| positions.len()).collect();
    let some = figures(&[&file], &["--positions", "40"]);
    assert_eq!(some, figures(&[&file], &["--positions", "40", "--jobs", "2"]));
    let (games, count) = (&some["groups"][0]["games"], some["groups"][0]["positions"].as_u64().unwrap());
    assert!(count >= 40 && games.as_u64().unwrap() < lengths.len() as u64, "{count} of {games}");
}

#[test]
fn a_set_gives_what_its_games_give_and_splits_as_trainings_do() {
    let folder = Folder::new();
    let out = folder.file("set");
    let file = tabia_data::SourceFile::find(&games_file()).unwrap().remove(0);
    let chunks = tabia_data::Chunks::open(&file, &tabia_data::BytesRead::default()).unwrap();
    let mut records: Vec<_> = chunks
        .flat_map(|chunk| chunk.read(&tabia_data::GameRules::default()).games)
        .map(|game| (game.key().unwrap(), game.to_bytes().unwrap()))
        .collect();
    records.sort();
    let kind = RecordKind::Games;
    let plan = SetPlan { kind, shards: 1, packing: ShardOptions::of(kind), fingerprint: String::new() };
    let mut set = SetWriter::create(&out, plan).unwrap();
    for (key, bytes) in &records {
        set.push(*key, bytes).unwrap();
    }
    set.finish(Vec::new(), std::collections::BTreeMap::new()).unwrap();

    let model = spec("", "human.safetensors");
    let figures = |from: &Path, more: &[&str]| {
        json(eval("human", &[from], &[&["--model", &model], more].concat()))["report"].clone()
    };
    assert_eq!(figures(&out, &[]), figures(&games_file(), &[]));
    let held_out = records.iter().filter(|(key, bytes)| {
        let players = tabia_data::GameBytes::parse(bytes).unwrap().head.players;
        let split = tabia_data::Split { seed: 1, held_out_ppm: 500_000, by: tabia_data::SplitBy::Record };
        split.side(*key, players) == tabia_data::Side::HeldOut
    });
    let halves = figures(&out, &["--held-out", "500000"]);
    assert_eq!(halves["groups"][0]["games"], held_out.count());
    assert_eq!(halves, figures(&games_file(), &["--held-out", "500000"]));
}

#[test]
fn clocks_and_speeds_leave_positions_out() {
    let model = spec("", "human.safetensors");
    let count = |more: &[&str]| {
        let args = [&["--model", &model], more].concat();
        json(eval("human", &[&games_file()], &args))["report"]["groups"][0]["positions"].clone()
    };
    let positions = positions();
    let left = |seconds: u64| {
        let all = positions.iter().flat_map(|(_, positions)| positions);
        let known = all.filter_map(|(history, ..)| history.situation().mover.time_left);
        known.filter(|left| left.as_secs() >= seconds).count()
    };
    assert!(left(170) < left(0));
    assert_eq!(count(&["--min-clock", "170"]), left(170));
    let blitz = positions.iter().find(|(game, _)| game.headers.get("TimeControl") == Some("180+0")).unwrap();
    assert_eq!(count(&["--speed", "blitz"]), blitz.1.len());
    assert_eq!(count(&["--speed", "blitz,unknown", "--min-clock", "1"]), blitz.1.len());
}

/// The ratings of both players.
fn ratings(game: &Game) -> Option<[u16; 2]> {
    let rating = |tag: &str| game.headers.get(tag).and_then(|text| text.parse().ok());
    Some([rating("WhiteElo")?, rating("BlackElo")?])
}

#[test]
fn a_protocol_counts_the_positions_of_its_paper() {
    let model = spec("", "human.safetensors");
    let positions = positions();
    let expected = |takes: &dyn Fn(&Game) -> bool| {
        let games = positions.iter().filter(|(game, _)| takes(game));
        let all = games.flat_map(|(_, positions)| positions);
        all.filter(|(history, ..)| {
            history.situation().mover.time_left.is_some_and(|left| left.as_secs() >= 30)
        })
        .count()
    };
    let is_rapid = |game: &Game| game.headers.get("TimeControl").is_some_and(|time| time.starts_with("600+"));
    let is_blitz = |game: &Game| game.headers.get("TimeControl") == Some("180+0");
    let in_one_band = |game: &Game| {
        ratings(game)
            .is_some_and(|[white, black]| white / 100 == black / 100 && (1100..2000).contains(&white))
    };
    let count = |more: &[&str]| {
        let figures = json(eval("human", &[&games_file()], &[&["--model", &model], more].concat()));
        (figures["report"]["groups"][0]["positions"].as_u64().unwrap() as usize, figures)
    };
    let (maia, figures) = count(&["--protocol", "maia"]);
    assert_eq!(maia, expected(&|game| is_rapid(game) && in_one_band(game)));
    assert!(maia > 0);
    assert_eq!(figures["terms"]["protocol"], "maia");
    assert_eq!(figures["terms"]["same_band"], 100);
    assert_eq!(figures["terms"]["pools"], serde_json::json!(["lichess"]));
    let bands = figures["report"]["groups"].as_array().unwrap();
    assert_eq!((&bands[1]["by"], &bands[1]["band"]), (&"elo".into(), &"1800-1899".into()));
    assert_eq!(count(&["--protocol", "maia2"]).0, expected(&is_rapid));
    assert_eq!(count(&["--protocol", "maia3"]).0, expected(&is_blitz));
    let wider = ["--protocol", "maia", "--same-band", "any", "--ratings", "any", "--speed", "blitz,rapid"];
    assert_eq!(count(&wider).0, expected(&|game| is_rapid(game) || is_blitz(game)));
    // What is printed selects the same positions.
    let said = succeed(eval("human", &[&games_file()], &["--model", &model, "--protocol", "maia"]));
    let options = said.lines().find_map(|line| line.strip_prefix("protocol maia: ")).expect("the filters");
    assert_eq!(count(&options.split(' ').collect::<Vec<_>>()).0, maia);
    let none =
        eval("human", &[&games_file()], &["--model", &model, "--protocol", "maia2", "--ratings", "100-200"]);
    assert!(fail(none).contains("6 games"));
}

#[test]
fn protocols_are_listed_in_the_help() {
    let help = succeed(tabia(["eval", "human", "--help"]));
    for name in ["maia:", "maia2:", "maia3:"] {
        assert!(help.contains(&format!("- {name}")), "{help}");
    }
}

#[test]
fn of_a_folder_the_network_nearest_to_the_rating_predicts() {
    let folder = Folder::new();
    for (name, rating) in [("lc0-se-classical.pb.gz", "1700.pb.gz"), ("lc0-plain-conv.pb.gz", "1900.pb.gz")] {
        std::fs::copy(network(name), folder.file(&format!("maia-{rating}"))).unwrap();
    }
    folder.written("golden.json", "{}");
    let family = format!("maia:{}", folder.file("").display());
    let alone = [spec("maia:", "lc0-se-classical.pb.gz"), spec("maia:", "lc0-plain-conv.pb.gz")];
    let args = [
        "--model",
        &family,
        "--model",
        &alone[0],
        "--model",
        &alone[1],
        "--by",
        "elo",
        "--band-width",
        "100",
    ];
    let figures = json(eval("human", &[&games_file()], &args));
    let bands = figures["report"]["groups"].as_array().unwrap().iter().filter(|group| group["by"] == "elo");
    let mut seen = 0;
    for band in bands {
        // The bands of 1700 and 1900 are 1700-1799 and 1900-1999; an unknown rating is 1500.
        let from = band["band"].as_str().unwrap().split('-').next().unwrap().parse::<u16>();
        let nearest = match from {
            Ok(1800) => continue,
            Ok(from) if from > 1800 => 2,
            _ => 1,
        };
        assert_eq!(band["figures"][0], band["figures"][nearest], "{band}");
        assert_ne!(band["figures"][0], band["figures"][3 - nearest], "{band}");
        seen += 1;
    }
    assert!(seen >= 3);
    let said =
        fail(eval("human", &[&games_file()], &["--model", &format!("maia:{}", fixture("eval").display())]));
    assert!(said.contains("maia-1100.pb.gz"), "{said}");
}

#[test]
fn networks_that_take_both_ratings_are_told_them() {
    let model = spec("maia:", "maia/maia3.pt");
    let figures =
        json(eval("human", &[&games_file()], &["--model", &model, "--model", &format!("{model},elo=1000")]));
    let net = Model::open(network("maia/maia3.pt")).unwrap();
    let (mut loss, mut count) = (0.0, 0);
    for (history, played, _) in positions().iter().flat_map(|(_, positions)| positions) {
        loss -= f64::from(ask(&net, history).policy.unwrap().probability(*played)).ln();
        count += 1;
    }
    let of = &figures["report"]["groups"][0]["figures"];
    assert!(near(&of[0]["log_loss"]["value"], loss / f64::from(count)), "{of}");
    assert_ne!(of[0]["log_loss"]["value"], of[1]["log_loss"]["value"]);
}

#[test]
fn a_picture_shows_every_band_that_has_enough_games() {
    let folder = Folder::new();
    // A game that comes again with other ratings is another: six are enough for an interval.
    let games = std::fs::read_to_string(games_file()).unwrap();
    let game = games.split("\n[Event ").next().unwrap();
    let rated = |n: usize| format!("{}\n\n", game.replace("\"1850\"", &format!("\"{}\"", 1850 + n)));
    let file = folder.file("games.pgn");
    std::fs::write(&file, (0..6).map(rated).collect::<String>()).unwrap();
    let picture = folder.file("bands.svg");
    let model = spec("human:", "human.safetensors");
    let plot = picture.display().to_string();
    let said = succeed(eval("human", &[&file], &["--model", &model, "--plot", &plot]));
    assert!(said.contains("top-1 by elo"), "{said}");
    let drawn = std::fs::read_to_string(picture).unwrap();
    let bands = said.lines().skip_while(|line| !line.starts_with("top-1 by elo")).skip(1);
    let with_interval =
        bands.take_while(|line| !line.is_empty()).filter(|line| line.contains(['±', '['])).count();
    assert_eq!(drawn.matches("<circle").count(), with_interval, "{said}\n{drawn}");
    assert!(with_interval > 0, "{said}");
}

#[test]
fn the_network_that_comes_along_is_asked_by_default() {
    let said =
        succeed(eval("human", &[&games_file()], &["--positions", "1", "--first-ply", "40", "--by", "phase"]));
    assert!(said.contains("\nhuman ") && said.contains("top-1 by phase"), "{said}");
}

#[test]
fn puzzles_are_solved_by_the_likeliest_move_or_any_mate() {
    let name = "lc0-se-classical.pb.gz";
    let model = Model::open(network(name)).unwrap();
    let folder = Folder::new();
    // In both, the puzzle asks for what the network plays or for something else.
    let fens =
        ["r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq -", "8/5k2/8/3P4/8/2K5/8/8 b - -"];
    let mut lines = String::new();
    for (fen, rating) in fens.into_iter().zip([1200, 1600]) {
        let position = tabia_game::position_from_fen(&format!("{fen} 0 1")).unwrap();
        let history = History::new(position, shakmaty::ByColor::default());
        let policy = ask(&model, &history).policy.unwrap();
        let moves = [policy.candidates()[0], policy.candidates()[1]];
        for candidate in moves {
            let san = shakmaty::san::San::from_move(history.current(), candidate.mv);
            lines.push_str(&format!("{fen} bm {san}; pv {san}; c0 \"Rating: {rating}\";\n"));
        }
    }
    let file = folder.written("puzzles.epd", &lines);
    let figures = json(eval("puzzles", &[&file], &["--model", &spec("maia:", name)]));
    let of = &figures["report"]["figures"][0];
    assert_eq!(figures["report"]["puzzles"], 4);
    assert!(near(&of["solved"]["value"], 0.5) && near(&of["first_move"]["value"], 0.5), "{of}");
    assert!(near(&of["rating"]["rating"], 1400.0), "{of}");
    assert_eq!(of["bands"].as_array().unwrap().len(), 2);

    let mate = "6k1/5ppp/8/8/8/8/8/R3R1K1 w - - bm Ra8#; pv Ra8#; c0 \"Rating: 1000\";\n";
    std::fs::write(&file, mate).unwrap();
    let solved =
        |net: &str| json(eval("puzzles", &[&file], &["--model", net]))["report"]["figures"][0].clone();
    assert!(near(&solved("human")["solved"]["value"], 1.0));
}

#[test]
fn puzzles_are_asked_at_every_rating_of_networks_that_heed_it() {
    let models = [
        "--model",
        &spec("human:", "human.safetensors"),
        "--model",
        &spec("maia:", "lc0-se-classical.pb.gz"),
    ];
    let puzzles = fixture("eval/puzzles.epd");
    let figures = json(eval("puzzles", &[&puzzles], &[&models[..], &["--elo", "1000,2000"]].concat()));
    assert_eq!(figures["report"]["puzzles"], 21);
    let figures = figures["report"]["figures"].as_array().unwrap();
    let asked: Vec<&Value> = figures.iter().map(|of| &of["asked"]).collect();
    let (low, high) = (&Value::from(1000), &Value::from(2000));
    assert_eq!(asked, [low, high, &Value::Null, low, high], "the networks, then the player as it plays");
    assert_eq!((&figures[2]["solver"], &figures[3]["solver"]), (&"network".into(), &"player".into()));
    let said = succeed(eval("puzzles", &[&puzzles], &[&models[..], &["--puzzles", "7"]].concat()));
    assert!(
        said.starts_with("7 puzzles") && said.contains("human at 1400") && said.contains("human plays 2400"),
        "{said}"
    );
}

#[test]
fn times_are_judged_by_the_bins_of_the_network() {
    let model = spec("human:", "human.safetensors");
    let figures = json(eval("time", &[&games_file()], &["--model", &model]));
    let groups = figures["report"]["groups"].as_array().unwrap();
    let net = Model::open(network("human.safetensors")).unwrap();
    let (mut loss, mut count) = (0.0, 0);
    for (history, played, thought) in positions().iter().flat_map(|(_, positions)| positions) {
        let Some(seconds) = thought else { continue };
        let said = ask(&net, history);
        let policy = said.policy.unwrap();
        let of_move = policy.candidates().iter().find(|of| of.mv == *played).unwrap().probability;
        let chances = think_time_for(&said.think_time.unwrap(), of_move);
        loss -= f64::from(chances[time_bin(*seconds)]).ln();
        count += 1;
    }
    assert_eq!(groups[0]["moves"], count);
    let of = &groups[0]["figures"];
    assert!(near(&of[0]["log_loss"]["value"], loss / f64::from(count)), "{of}");
    let tellers: Vec<&Value> = (1..4).map(|number| &of[number]["teller"]).collect();
    assert_eq!(tellers, ["constant", "clock-share", "marginal"]);
    assert!(of[1]["log_loss"].is_null() && of[2]["log_loss"].is_null());
    // The chances of these very moves cannot be worse than one time for all of them.
    let score = |number: usize| of[number]["ranked_score"]["value"].as_f64().unwrap();
    assert!(score(3) < score(1), "{of}");
    let moves = |group: &str| -> u64 {
        let found = groups.iter().find(|found| found["group"] == group);
        found.map_or(0, |found| found["moves"].as_u64().unwrap())
    };
    assert_eq!(moves("recaptures") + moves("other moves"), count as u64);
    assert!(moves("recaptures") > 0);
    assert_eq!(moves("opening") + moves("middlegame") + moves("endgame"), count as u64);
    assert_eq!(moves("bullet") + moves("blitz") + moves("rapid"), count as u64);
    assert_eq!(figures, json(eval("time", &[&games_file()], &["--model", &model, "--jobs", "1"])));
}

#[test]
fn what_cannot_be_judged_is_refused_by_name() {
    let (file, puzzles, lost) = (games_file(), fixture("eval/puzzles.epd"), PathBuf::from("lost.pgn"));
    let (headless, untimed) = (spec("", "challenge-mlp.onnx"), spec("maia:", "lc0-se-classical.pb.gz"));
    for (what, games, more, named) in [
        ("human", &file, &["--model", &headless][..], "challenge-mlp.onnx"),
        ("human", &file, &["--model", "engine"], "engine"),
        ("human", &file, &["--model", "maia:lost.pb.gz"], "lost.pb.gz"),
        ("time", &file, &["--model", &untimed], "lc0-se-classical"),
        ("human", &file, &["--best", "maia"], "--best maia"),
        ("human", &lost, &[], "lost.pgn"),
        ("human", &file, &["--first-ply", "900"], "6 games"),
        ("puzzles", &file, &[], "puzzles"),
        ("time", &puzzles, &[], "clocks"),
        ("human", &file, &["--speed", "fast"], "bullet"),
    ] {
        let said = fail(eval(what, &[games], more));
        assert!(said.contains(named), "{what} {more:?}: {said}");
    }
}

/// Games of Ann and others, with names and ratings.
fn named_games() -> String {
    let moves =
        "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O Be7 6. Re1 b5 7. Bb3 d6 8. c3 O-O 9. h3 Nb8 1-0";
    let game = |number: usize| {
        format!(
            "[White \"Ann\"]\n[Black \"Bob {number}\"]\n[Site \"https://lichess.org/{number}\"]\n[WhiteElo \"{}\"]\n\
             [BlackElo \"1500\"]\n\n{moves}\n\n",
            1600 + number
        )
    };
    (0..6).map(game).collect()
}

#[test]
fn ratings_are_estimated_from_one_and_five_games() {
    let folder = Folder::new();
    let games = folder.written("games.pgn", named_games());
    let model = spec("human:", "human.safetensors");
    let figures = json(eval("rating", &[&games], &["--model", &model, "--first-ply", "4"]));
    let groups = figures["report"]["groups"].as_array().unwrap();
    let of = |pool: &Value, games: u64| {
        groups.iter().find(|group| group["pool"] == *pool && group["games"] == games).unwrap()
    };
    // Ann has six games, each Bob one.
    assert_eq!(
        (&of(&"lichess".into(), 1)["players"], &of(&"lichess".into(), 1)["estimates"]),
        (&7.into(), &12.into())
    );
    assert_eq!(of(&"lichess".into(), 5)["estimates"], 1);
    assert!(groups.iter().all(|group| group["games"] != 20), "nobody has twenty games");
    let ann = &figures["sides"].as_array().unwrap()[0];
    assert_eq!((ann["evidence"]["moves"].as_u64(), ann["rating"].as_u64()), (Some(7), Some(1600)));
    let one = of(&Value::Null, 1);
    assert!(one["error"].as_f64().unwrap() > 0.0 && one["width"].as_f64().unwrap() > 0.0);
}

#[test]
fn predicted_errors_are_compared_with_a_judge_for_any_number_of_threads() {
    let folder = Folder::new();
    let games = folder.written("games.pgn", named_games());
    let model = network("human.safetensors");
    let figures = |jobs| {
        let args =
            ["--judge", "engine,eval=baseline", "--judge-nodes", "300", "--nodes", "300", "--jobs", jobs];
        let mut command = eval("blunders", &[&games], &args);
        command.args(["--per-game", "3", "--model"]).arg(&model);
        json(command)
    };
    let one = figures("1");
    let all = &one["report"]["groups"][0];
    assert_eq!((all["band"].as_str(), all["positions"].as_u64()), (Some("all"), Some(18)));
    assert!(all["predicted"].as_f64().is_some_and(|share| (0.0..=1.0).contains(&share)));
    let bands: u64 = one["report"]["groups"].as_array().unwrap()[1..]
        .iter()
        .map(|group| group["positions"].as_u64().unwrap())
        .sum();
    assert_eq!(bands, 18);
    assert_eq!(one, figures("3"));
}
