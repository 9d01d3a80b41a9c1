//! `tabia compete` as a user meets it: the reference network plays, and what breaks the rules does not.

use std::io::Read;
use std::path::Path;
use std::process::Output;

use flate2::read::GzDecoder;
use prost::Message;
use serde_json::Value;
use tabia_onnx::build::{Attribute, GraphBuilder};
use tabia_onnx::proto::{DimensionProto, ModelProto, ValueInfoProto};

use crate::process::{Folder, succeed, tabia, text};

fn compete(model: &Path, args: &[&str]) -> Output {
    tabia(["compete"]).arg(model).args(args).output().unwrap()
}

/// The network `cargo xtask fixtures --only challenge_reference` makes.
fn reference() -> Vec<u8> {
    let packed = include_bytes!("../../../../fixtures/models/challenge-reference.onnx.gz");
    let mut bytes = Vec::new();
    GzDecoder::new(&packed[..]).read_to_end(&mut bytes).unwrap();
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
    let folder = Folder::new();
    let model = folder.written("reference.onnx", reference());
    let openings = folder.written(
        "openings.fen",
        b"# two openings\n\nr1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3\n\
          rnbqkb1r/ppp1pppp/5n2/3p4/2PP4/8/PP2PPPP/RNBQKBNR w KQkq - 1 3\n",
    );
    let play = |name: &str, jobs: &str| {
        let json = folder.file(name);
        let args =
            ["--level", "1", "--jobs", jobs, "--openings", openings.to_str().unwrap(), "--json-output"];
        let output = compete(&model, &[&args[..], &[json.to_str().unwrap()]].concat());
        let said = text(&output.stderr);
        let text = std::fs::read_to_string(&json).unwrap_or_else(|error| panic!("{error}: {said}"));
        (output, text)
    };
    let (output, alone) = play("alone.json", "1");
    let (_, together) = play("together.json", "2");
    assert_eq!(alone, together, "neither chance nor the number of jobs changes a move");

    let card: Value = serde_json::from_str(&alone).unwrap();
    let parameters = card["parameters"].as_u64().unwrap();
    assert!((300_000..=330_000).contains(&parameters), "{parameters}");
    assert_eq!(card["levels"].as_array().map(Vec::len), Some(1));
    let records = card["levels"][0]["records"].as_array().unwrap();
    assert_eq!(records.len(), 4, "two openings with both colours");
    assert!(records.iter().all(|game| game["moves"].as_array().is_some_and(|moves| !moves.is_empty())));
    assert_eq!(output.status.success(), card["levels"][0]["passed"] == true);
}

#[test]
fn the_reference_network_likes_captures() {
    let folder = Folder::new();
    let model = folder.written("reference.onnx", reference());
    for (fen, wanted) in [
        ("4k3/8/8/3q4/4P3/8/8/4K3 w - - 0 1", "e4d5"),
        ("4k3/8/8/4p3/3R4/8/8/4K3 b - - 0 1", "e5d4"),
        // The queen rather than the rook, and not the guarded pawn.
        ("6k1/5p2/4p3/1q1p1r2/2P1B3/8/8/6K1 w - - 0 1", "c4b5"),
    ] {
        let answer: Value =
            serde_json::from_str(&succeed(tabia(["play-move"]).arg(&model).arg(fen))).unwrap();
        assert_eq!(answer["move"], wanted, "{fen}");
    }
}

#[test]
fn what_breaks_the_rules_is_refused_before_any_game() {
    let folder = Folder::new();
    let cases = [
        ("large", network("board", 768, 1_301, 0.0), "1000469"),
        ("name", network("position", 768, 8, 0.0), "\"position\""),
        ("width", network("board", 770, 8, 0.0), "768"),
        // Another encoding's width.
        ("other", network("board", 774, 8, 0.0), "768"),
        ("later", network("board", 1540, 8, 0.0), "768"),
        ("nan", network("board", 768, 8, f32::NAN), "NaN"),
    ];
    for (name, bytes, reason) in cases {
        let model = folder.written(&format!("{name}.onnx"), &bytes);
        let json = folder.file("result.json");
        let output = compete(&model, &["--level", "1", "--json-output", json.to_str().unwrap()]);
        let said = text(&output.stderr);
        assert!(!output.status.success(), "{name}");
        assert!(said.contains(reason) && said.contains(&format!("{name}.onnx")), "{name}: {said}");
        assert!(output.stdout.is_empty() && !json.exists(), "{name}: no game was played");
    }
}

/// A network by the rules of 2026, changed.
fn later(change: impl FnOnce(&mut ModelProto)) -> Vec<u8> {
    let mut model = ModelProto::decode(&network("board", 1540, 8, 0.1)[..]).expect("a network");
    change(&mut model);
    model.encode_to_vec()
}

/// The batch dimension of a value.
fn batch(value: &mut ValueInfoProto) -> &mut DimensionProto {
    let tensor = value.r#type.as_mut().and_then(|kind| kind.tensor_type.as_mut()).expect("a tensor");
    &mut tensor.shape.as_mut().expect("a shape").dim[0]
}

#[test]
fn the_rules_of_2026_are_checked_one_by_one() {
    let folder = Folder::new();
    let cases = [
        (
            "inputs",
            network("board", 768, 8, 0.0),
            "the rules of 2026 take one input \"board\" of 1540 numbers",
        ),
        ("ir", later(|model| model.ir_version = 9), "IR version 9 (the rules of 2026 ask for 8)"),
        (
            "opset",
            later(|model| model.opset_import[0].version = 18),
            "opset 18 (the rules of 2026 ask for 17)",
        ),
        (
            "batch",
            later(|model| batch(&mut model.graph.as_mut().expect("a graph").output[0]).dim_param = None),
            "\"out\" has an unnamed batch dimension",
        ),
    ];
    for (name, bytes, reason) in cases {
        let model = folder.written(&format!("{name}.onnx"), &bytes);
        let output = compete(&model, &["--rules", "2026", "--level", "1"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(reason), "{name}: {said}");
        assert!(output.stdout.is_empty(), "{name}: no game was played");
    }
    let model = folder.written("fits.onnx", later(|_| {}));
    let openings = folder.written("openings.fen", OPENING);
    let output =
        compete(&model, &["--rules", "2026", "--level", "1", "--openings", openings.to_str().unwrap()]);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("rules 2026"), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    let output = compete(&model, &["--rules", "2026", "--level", "5"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("no level 5 by the rules 2026 (expected 1 to 4)"), "{said}");
}

#[test]
fn the_shipped_reference_network_counts_material_too() {
    let small = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/challenge-reference.onnx"));
    let folder = Folder::new();
    let large = folder.written("reference.onnx", reference());
    let openings = folder.written("openings.fen", OPENING);
    let records = |model: &Path, name: &str| {
        let json = folder.file(name);
        let args = ["--level", "1", "--openings", openings.to_str().unwrap(), "--json-output"];
        compete(model, &[&args[..], &[json.to_str().unwrap()]].concat());
        let card: Value =
            serde_json::from_str(&std::fs::read_to_string(&json).expect("a card")).expect("JSON");
        card["levels"][0]["records"].clone()
    };
    assert_eq!(records(small, "small.json"), records(&large, "large.json"));
}

#[test]
fn the_seed_draws_openings_and_breaks_ties() {
    let folder = Folder::new();
    let model = folder.written("net.onnx", counting("eval", 1));
    let labels = |seed: &str| {
        let json = folder.file(&format!("{seed}.json"));
        compete(&model, &["--level", "1", "--seed", seed, "--json-output", json.to_str().unwrap()]);
        let card: Value =
            serde_json::from_str(&std::fs::read_to_string(&json).expect("a card")).expect("JSON");
        assert_eq!(
            (&card["rules"], &card["seed"]),
            (&"original".into(), &seed.parse::<u64>().unwrap().into())
        );
        let records = card["levels"][0]["records"].as_array().expect("games").clone();
        assert_eq!(records.len(), 50);
        records.iter().map(|game| game["opening_label"].to_string()).collect::<Vec<_>>()
    };
    assert_ne!(labels("1"), labels("2"));
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
    let folder = Folder::new();
    let openings = folder.written("openings.fen", OPENING);
    let played = |name: &str, bytes: &[u8]| {
        let model = folder.written(name, bytes);
        let json = folder.file(&format!("{name}.json"));
        let args = ["--level", "1", "--openings", openings.to_str().unwrap(), "--json-output"];
        let output = compete(&model, &[&args[..], &[json.to_str().unwrap()]].concat());
        let said = text(&output.stderr);
        let text = std::fs::read_to_string(&json).unwrap_or_else(|error| panic!("{error}: {said}"));
        let card: Value = serde_json::from_str(&text).unwrap();
        (card["levels"][0]["records"].clone(), said)
    };
    let (wanted, said) = played("eval.onnx", &counting("eval", 1));
    assert!(!said.contains("warning"), "{said}");
    let (records, said) = played("policy.onnx", &counting("policy", 4096));
    assert!(said.contains("policy[0]"), "{said}");
    assert_eq!(records, wanted);
}

#[test]
fn a_leaderboard_ranks_by_levels_that_were_played() {
    let folder = Folder::new();
    let model = folder.written("net.onnx", counting("eval", 1));
    let openings = folder.written("openings.fen", OPENING);
    let (board, openings) = (folder.file("board.json"), openings.to_str().unwrap().to_owned());
    let record = |level: &str| {
        compete(&model, &["--level", level, "--openings", &openings, "--record", board.to_str().unwrap()])
    };
    for level in ["2", "5"] {
        let output = record(level);
        let said = text(&output.stderr);
        assert!(!output.status.success() && said.contains("--record"), "{said}");
        assert!(output.stdout.is_empty() && !board.exists(), "no game was played");
    }
    let output = record("1");
    let passed = output.status.success();
    let text = std::fs::read_to_string(&board).unwrap();
    let entries: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(entries["entries"][0]["level"], u64::from(passed), "{text}");
}
