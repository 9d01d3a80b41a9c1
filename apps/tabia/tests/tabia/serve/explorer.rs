//! The explorer's answers.

use std::num::NonZeroI32;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use shakmaty::uci::UciMove;
use shakmaty::{ByColor, Chess, Color, Position as _};
use tabia_data::{
    EvaluationRecord, GameHead, GameRecord, Line, Ply, RecordKind, Session, SetPlan, SetWriter, ShardOptions,
};
use tabia_encoding::{Elo, ForWhite, Pace, RatingPool, Score};

use super::server::Server;
use crate::process::{Folder, fail, tabia};

struct Served(Server);

impl Served {
    /// Serves a set of two games and one of two analysed positions.
    fn start() -> Served {
        let folder = Folder::new();
        let games = [
            game(&["e2e4", "e7e5", "g1f3", "b8c6"], 1500, 1612),
            game(&["d2d4", "d7d5", "c2c4"], 2210, 2150),
        ];
        let games: Vec<_> =
            games.iter().map(|game| (game.key().unwrap(), game.to_bytes().unwrap())).collect();
        write_set(&folder.file("games"), RecordKind::Games, games);
        let analysed =
            [analysed(&[], 30, &[("e2e4", 30), ("d2d4", 30)]), analysed(&["e2e4"], 50, &[("e7e5", 20)])];
        let analysed: Vec<_> =
            analysed.iter().map(|one| (one.key().unwrap(), one.to_bytes().unwrap())).collect();
        write_set(&folder.file("analysed"), RecordKind::Evaluations, analysed);
        let data = folder.path().to_owned();
        Served(Server::start(folder, "--data", &data))
    }

    fn ask(&self, path: &str) -> (u16, Value) {
        self.ask_as(&self.0.address, path)
    }

    /// The status and the JSON of the answer; null when it is none.
    fn ask_as(&self, host: &str, path: &str) -> (u16, Value) {
        let answer = self.0.ask_with(path, &format!("Host: {host}\r\n"));
        let (status, head) = (answer.status, &answer.head);
        assert!(head.to_ascii_lowercase().contains("nosniff") || status == 421, "{head}");
        (status, serde_json::from_str(&answer.body).unwrap_or(Value::Null))
    }

    fn position(&self, path: &str) -> Value {
        let (status, view) = self.ask(path);
        assert_eq!(status, 200, "{path}: {view}");
        view
    }
}

fn write_set(dir: &Path, kind: RecordKind, mut records: Vec<(tabia_data::RecordKey, Vec<u8>)>) {
    records.sort();
    let plan = SetPlan { kind, shards: 2, packing: ShardOptions::of(kind), fingerprint: "test".to_owned() };
    let mut writer = SetWriter::create(dir, plan).unwrap();
    for (key, bytes) in records {
        writer.push(key, &bytes).unwrap();
    }
    writer.finish(Vec::new(), std::collections::BTreeMap::new()).unwrap();
}

fn play(position: &mut Chess, uci: &str) -> shakmaty::Move {
    let m = uci.parse::<UciMove>().unwrap().to_move(position).unwrap();
    position.play_unchecked(m);
    m
}

fn game(moves: &[&str], white: u16, black: u16) -> GameRecord {
    let mut position = Chess::default();
    let clock = |ply: usize| Some(Duration::from_secs(180 - ply as u64));
    let plies = moves
        .iter()
        .enumerate()
        .map(|(ply, uci)| Ply { played: play(&mut position, uci), clock: clock(ply), evaluation: None })
        .collect();
    let pace = Pace { base: Duration::from_secs(180), increment: Duration::ZERO };
    let ratings = ByColor { white: Some(Elo(white)), black: Some(Elo(black)) };
    let result = Some(Some(Color::White));
    let head =
        GameHead { ratings, pool: RatingPool::Online, pace: Some(pace), result, ..GameHead::default() };
    GameRecord { head, start: Chess::default(), plies }
}

fn analysed(moves: &[&str], depth: u8, lines: &[(&str, i32)]) -> EvaluationRecord {
    let mut position = Chess::default();
    for uci in moves {
        play(&mut position, uci);
    }
    let setup = shakmaty::fen::Fen::from_position(&position, shakmaty::EnPassantMode::Legal).into_setup();
    let fresh = shakmaty::Setup { halfmoves: 0, fullmoves: std::num::NonZeroU32::MIN, ..setup };
    let position: Chess = fresh.position(shakmaty::CastlingMode::Standard).unwrap();
    let line = |&(uci, cp): &(&str, i32)| Line {
        first: play(&mut position.clone(), uci),
        score: ForWhite(Score::Centipawns(cp)),
    };
    let shallow = Session {
        depth: depth - 10,
        knodes: 10,
        lines: vec![Line { score: ForWhite(Score::Mate(NonZeroI32::new(3).unwrap())), ..line(&lines[0]) }],
    };
    let deep = Session { depth, knodes: 1000, lines: lines.iter().map(line).collect() };
    EvaluationRecord { position, sessions: vec![deep, shallow] }
}

#[test]
fn positions_are_found_by_index_at_random_and_by_what_they_are_like() {
    let served = Served::start();
    let (status, list) = served.ask("/api/data");
    assert_eq!(status, 200);
    assert_eq!(list[0]["name"], "analysed");
    assert_eq!(list[1]["name"], "games");
    assert_eq!(list[1]["records"], 2);
    assert_eq!(list[1]["positions"], 7);

    // Every position of the two games, each with the move that was played in it.
    let views: Vec<Value> =
        (0..7).map(|index| served.position(&format!("/api/data/games/position/{index}"))).collect();
    let mut played: Vec<&str> = views.iter().map(|view| view["labels"][0]["san"].as_str().unwrap()).collect();
    played.sort_unstable();
    assert_eq!(played, ["Nc6", "Nf3", "c4", "d4", "d5", "e4", "e5"]);
    let nf3 = views.iter().find(|view| view["labels"][0]["san"] == "Nf3").unwrap();
    assert_eq!(nf3["fen"], "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2");
    assert_eq!(nf3["last_move"], "e7e5");
    assert_eq!(nf3["game"]["white_elo"], 1500);
    // White's first move left 180 s, Black's 179.
    assert_eq!(
        (&nf3["game"]["white_clock_s"], &nf3["game"]["black_clock_s"]),
        (&180.0.into(), &179.0.into())
    );

    for seed in 0..5 {
        let view = served.position(&format!("/api/data/games/random?seed={seed}&min_rating=2200"));
        assert_eq!(view["game"]["white_elo"], 2210);
        assert_eq!(view["turn"], "white");
    }
    let here = nf3["index"].as_u64().unwrap();
    let next = served.position(&format!("/api/data/games/next?from={here}&max_rating=1700"));
    assert_eq!(next["labels"][0]["san"], "Nc6");
    let back = served.position(&format!("/api/data/games/next?from={here}&direction=back&max_rating=1700"));
    assert_eq!(back["labels"][0]["san"], "e5");
    let (status, refusal) = served.ask("/api/data/games/random?phase=endgame");
    assert_eq!(status, 404);
    assert!(refusal["error"].as_str().unwrap().contains("no match for the filter"), "{refusal}");
}

#[test]
fn labels_are_those_of_the_chosen_strategy() {
    let served = Served::start();
    let view = served.position("/api/data/analysed/random?max_depth=30");
    assert_eq!(view["sessions"][0]["depth"], 30);
    assert_eq!(view["sessions"][1]["lines"][0]["mate"], 3);
    let probabilities: Vec<f64> = view["labels"]
        .as_array()
        .unwrap()
        .iter()
        .map(|label| label["probability"].as_f64().unwrap())
        .collect();
    assert_eq!(probabilities, [0.5, 0.5], "two moves that the deepest session calls equal");
    assert!((view["entropy"].as_f64().unwrap() - std::f64::consts::LN_2).abs() < 1e-6, "a choice of two");
    let index = view["index"].as_u64().unwrap();
    let best = served.position(&format!("/api/data/analysed/position/{index}?labels=best"));
    assert_eq!(best["labels"].as_array().unwrap().len(), 1);
    let certain = served.position("/api/data/analysed/random?max_entropy=0.1");
    assert_eq!(certain["labels"][0]["uci"], "e7e5");
    assert_eq!(certain["turn"], "black");
}

#[test]
fn wrong_questions_are_refused_with_what_is_wrong() {
    let served = Served::start();
    let cases = [
        ("/api/data/nothing/position/0", 404, "expected analysed, games"),
        ("/api/data/games/position/7", 404, "expected 0 to 6"),
        ("/api/data/games/position/0?labels=guess", 400, "labels:"),
    ];
    for (path, status, message) in cases {
        let (answered, refusal) = served.ask(path);
        assert_eq!(answered, status, "{path}: {refusal}");
        assert!(refusal["error"].as_str().unwrap().contains(message), "{path}: {refusal}");
    }
    assert_eq!(served.ask("/api/data/games/random?phase=late").0, 400);
    // A page elsewhere whose name leads here, and an attempt to leave the sets.
    assert_eq!(served.ask_as("evil.example", "/api/data").0, 421);
    assert_eq!(served.ask("/api/data/..%2f..%2fetc/position/0").0, 404);
}

#[cfg(unix)]
#[test]
fn a_signal_stops_the_server_gracefully() {
    let mut served = Served::start();
    assert_eq!(served.ask("/api/data").0, 200);
    let pid = served.0.child.id().to_string();
    let sent = Command::new("kill").args(["-TERM", &pid]).status().expect("kill exists on unix");
    assert!(sent.success());
    assert!(served.0.child.wait().unwrap().success());
}

#[test]
fn a_folder_without_sets_is_refused() {
    assert!(fail(tabia(["serve", "--data", env!("CARGO_MANIFEST_DIR")])).contains("set.json"));
}

#[test]
fn arrays_of_learning_a_chess_policy_are_explored_without_building_a_set() {
    let arrays = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/data/npy/golden_planes.npy");
    let served = Served(Server::start(Folder::new(), "--data", &arrays));
    let (status, sets) = served.ask("/api/data");
    assert_eq!((status, &sets[0]["name"]), (200, &"golden".into()), "{sets}");
    let positions = sets[0]["positions"].as_u64().unwrap();
    assert!(positions > 1);
    let first = served.position("/api/data/golden/position/0");
    assert!(first["labels"].as_array().is_some_and(|labels| !labels.is_empty()), "{first}");
    assert!(first["sessions"][0]["depth"].as_u64().is_some(), "{first}");
    let next = served.position("/api/data/golden/next?from=0");
    assert_eq!(next["index"], 1);
    served.position("/api/data/golden/random?seed=3");
    let (status, _) = served.ask(&format!("/api/data/golden/position/{positions}"));
    assert_eq!(status, 404);
}
