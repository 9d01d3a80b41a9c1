//! `tabia compete` as a user meets it: the reference network plays, and what breaks the rules does not.

mod folder;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use flate2::read::GzDecoder;
use prost::Message;
use serde_json::Value;
use tabia_model::onnx::build::{Attribute, GraphBuilder};

use folder::Folder;

fn written(folder: &Folder, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.file(name);
    std::fs::write(&path, bytes).expect("a file of the test");
    path
}

fn compete(model: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tabia"));
    command.arg("compete").arg(model).args(args);
    command.output().expect("the program starts")
}

/// The network `cargo xtask fixtures --only challenge_reference` makes.
fn reference() -> Vec<u8> {
    let packed = include_bytes!("../../../fixtures/models/challenge-reference.onnx.gz");
    let mut bytes = Vec::new();
    GzDecoder::new(&packed[..]).read_to_end(&mut bytes).expect("the fixture is whole");
    bytes
}

/// A network of one layer of ReLU whose weights are all the same.
fn network(input: &str, inputs: usize, hidden: usize, weight: f32) -> Vec<u8> {
    let mut b = GraphBuilder::new("test");
    let x = b.input(input, &[inputs]);
    let first = b.weight("first", &[hidden, inputs], &vec![weight; hidden * inputs]);
    let last = b.weight("last", &[1, hidden], &vec![weight; hidden]);
    let x = b.op("Gemm", &[&x, &first], &[("transB", Attribute::Int(1))]);
    let x = b.op("Relu", &[&x], &[]);
    let x = b.op("Gemm", &[&x, &last], &[("transB", Attribute::Int(1))]);
    b.output(&x, "out", &[1]);
    b.finish().encode_to_vec()
}

#[test]
fn the_reference_network_plays_the_same_games_twice() {
    let folder = Folder::new("reference");
    let model = written(&folder, "reference.onnx", &reference());
    let openings = written(
        &folder,
        "openings.fen",
        b"# two openings\n\nr1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3\n\
          rnbqkb1r/ppp1pppp/5n2/3p4/2PP4/8/PP2PPPP/RNBQKBNR w KQkq - 1 3\n",
    );
    let play = |name: &str, jobs: &str| {
        let json = folder.file(name);
        let args =
            ["--level", "1", "--jobs", jobs, "--openings", openings.to_str().unwrap(), "--json-output"];
        let output = compete(&model, &[&args[..], &[json.to_str().unwrap()]].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let text = std::fs::read_to_string(&json).unwrap_or_else(|error| panic!("{error}: {said}"));
        (output, text)
    };
    let (output, alone) = play("alone.json", "1");
    let (_, together) = play("together.json", "2");
    assert_eq!(alone, together, "neither chance nor the number of jobs changes a move");

    let card: Value = serde_json::from_str(&alone).expect("JSON");
    let parameters = card["parameters"].as_u64().expect("a count");
    assert!((300_000..=330_000).contains(&parameters), "{parameters}");
    assert_eq!(card["levels"].as_array().map(Vec::len), Some(1));
    let records = card["levels"][0]["records"].as_array().expect("every game");
    assert_eq!(records.len(), 4, "two openings with both colours");
    assert!(records.iter().all(|game| game["moves"].as_array().is_some_and(|moves| !moves.is_empty())));
    assert_eq!(output.status.success(), card["levels"][0]["passed"] == true);
}

#[test]
fn the_reference_network_likes_captures() {
    let folder = Folder::new("captures");
    let model = written(&folder, "reference.onnx", &reference());
    for (fen, wanted) in [
        ("4k3/8/8/3q4/4P3/8/8/4K3 w - - 0 1", "e4d5"),
        ("4k3/8/8/4p3/3R4/8/8/4K3 b - - 0 1", "e5d4"),
        // The queen rather than the rook, and not the guarded pawn.
        ("6k1/5p2/4p3/1q1p1r2/2P1B3/8/8/6K1 w - - 0 1", "c4b5"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_tabia"))
            .arg("play-move")
            .arg(&model)
            .arg(fen)
            .output()
            .expect("the program starts");
        let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(answer["move"], wanted, "{fen}");
    }
}

#[test]
fn what_breaks_the_rules_is_refused_before_any_game() {
    let folder = Folder::new("refused");
    let cases = [
        ("large", network("board", 768, 1_301, 0.0), "1000469 parameters; the challenge allows 1000000"),
        ("name", network("position", 768, 8, 0.0), "of 768 (or 1540) numbers, not \"position\""),
        ("width", network("board", 770, 8, 0.0), "one input \"board\" of 768 (or 1540) numbers"),
        // Another encoding's width.
        ("other", network("board", 774, 8, 0.0), "of 768 (or 1540) numbers, not \"board\""),
        ("nan", network("board", 768, 8, f32::NAN), "NaN"),
    ];
    for (name, bytes, reason) in cases {
        let model = written(&folder, &format!("{name}.onnx"), &bytes);
        let json = folder.file("result.json");
        let output = compete(&model, &["--level", "1", "--json-output", json.to_str().unwrap()]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{name}");
        assert!(said.contains(reason) && said.contains(&format!("{name}.onnx")), "{name}: {said}");
        assert!(output.stdout.is_empty() && !json.exists(), "{name}: no game was played");
    }
}

/// A network of two hidden units that count each side's pieces, and as many outputs as asked for. The first is what one
/// side has more; the others are noise.
fn counting(output: &str, outputs: usize) -> Vec<u8> {
    let mut b = GraphBuilder::new("counting");
    let x = b.input("board", &[768]);
    let worth = [1.0_f32, 3.0, 3.0, 5.0, 9.0, 0.0];
    let side =
        |own: bool| (0..768).map(move |place| if (place < 384) == own { worth[place / 64 % 6] } else { 0.0 });
    let first: Vec<f32> = side(true).chain(side(false)).collect();
    let noise = (2..2 * outputs).map(|number| (number * 7919 % 101) as f32 - 50.0);
    let last: Vec<f32> = [1.0, -1.0].into_iter().chain(noise).collect();
    let first = b.weight("first", &[2, 768], &first);
    let last = b.weight("last", &[outputs, 2], &last);
    let x = b.op("Gemm", &[&x, &first], &[("transB", Attribute::Int(1))]);
    let x = b.op("Relu", &[&x], &[]);
    let x = b.op("Gemm", &[&x, &last], &[("transB", Attribute::Int(1))]);
    b.output(&x, output, &[outputs]);
    b.finish().encode_to_vec()
}

const OPENING: &[u8] = b"r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3\n";

#[test]
fn a_policy_network_plays_its_first_number_as_in_the_challenges_harness() {
    let folder = Folder::new("policy");
    let openings = written(&folder, "openings.fen", OPENING);
    let played = |name: &str, bytes: &[u8]| {
        let model = written(&folder, name, bytes);
        let json = folder.file(&format!("{name}.json"));
        let args = ["--level", "1", "--openings", openings.to_str().unwrap(), "--json-output"];
        let output = compete(&model, &[&args[..], &[json.to_str().unwrap()]].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let text = std::fs::read_to_string(&json).unwrap_or_else(|error| panic!("{error}: {said}"));
        let card: Value = serde_json::from_str(&text).expect("JSON");
        (card["levels"][0]["records"].clone(), said)
    };
    let (wanted, said) = played("eval.onnx", &counting("eval", 1));
    assert!(!said.contains("warning"), "{said}");
    let (records, said) = played("policy.onnx", &counting("policy", 4096));
    assert!(said.contains("policy.onnx: output \"policy\" has 4096 numbers"), "{said}");
    assert!(said.contains("policy[0] is the evaluation"), "{said}");
    assert_eq!(records, wanted);
}

#[test]
fn a_leaderboard_ranks_by_levels_that_were_played() {
    let folder = Folder::new("ranks");
    let model = written(&folder, "net.onnx", &counting("eval", 1));
    let openings = written(&folder, "openings.fen", OPENING);
    let (board, openings) = (folder.file("board.json"), openings.to_str().unwrap().to_owned());
    let record = |level: &str| {
        compete(&model, &["--level", level, "--openings", &openings, "--record", board.to_str().unwrap()])
    };
    for level in ["2", "5"] {
        let output = record(level);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains("from level 1"), "{said}");
        assert!(output.stdout.is_empty() && !board.exists(), "no game was played");
    }
    let output = record("1");
    let passed = output.status.success();
    let text = std::fs::read_to_string(&board).expect("the board");
    let entries: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(entries["entries"][0]["level"], u64::from(passed), "{text}");
}
