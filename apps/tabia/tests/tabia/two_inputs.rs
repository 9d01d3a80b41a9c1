//! Two-input networks as a user meets them: in a context, and as TensorFlow Lite files.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::process::{self, Folder, fail, succeed, tabia};

const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
const AFTER: &str = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1";

fn fixture(name: &str) -> PathBuf {
    process::fixture("models").join(name)
}

fn json(mut command: Command, file: &Path, arguments: &[&str]) -> Value {
    command.arg(file).args(arguments);
    serde_json::from_str(&succeed(command)).expect("JSON")
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("a number, not {value}"))
}

#[test]
fn a_context_gives_both_readings_of_a_two_input_network() {
    let pair = fixture("tflite_pair.tflite");
    let read = |fen, context| {
        let answer = json(tabia(["model", "info"]), &pair, &["--json", "--fen", fen, "--context", context]);
        let readings = &answer["positions"][0]["readings"];
        let reading = |name: &str| (number(&readings[name]["raw"]), number(&readings[name]["white_cp"]));
        (reading("context_win"), reading("compare"))
    };
    let (there, back) = (read(AFTER, START), read(START, AFTER));
    assert_eq!((there.0.0, there.1.0), (back.1.0, back.0.0), "the readings take the inputs in turns");
    assert!((there.0.1 - 1000.0 * (there.0.0 - 0.5)).abs() < 0.01, "White is to move in the context");
    assert!((back.0.1 + 1000.0 * (back.0.0 - 0.5)).abs() < 0.01, "Black is to move in the context");
    assert!((there.1.1 - 2000.0 * (there.1.0 - 0.5)).abs() < 0.01);

    let tensors = json(tabia(["model", "tensors"]), &pair, &["--fen", AFTER, "--context", START]);
    assert!((number(&tensors["outputs"]["output_0"]["values"][0]) - there.0.0).abs() < 1e-6, "{tensors}");
    assert_eq!(tensors["inputs"]["context"]["values"][768], 0.0);
    assert_eq!(tensors["inputs"]["position"]["values"][768], 1.0);
}

#[test]
fn a_move_is_chosen_in_a_context() {
    let pair = fixture("tflite_pair.tflite");
    let play = |arguments: &[&str]| json(tabia(["play-move"]), &pair, arguments);
    let own = play(&[AFTER, "--context", AFTER, "--lines", "20"]);
    // The position to move in is the usual context.
    assert_eq!(own["lines"], play(&[AFTER, "--lines", "20"])["lines"]);
    let other = play(&[AFTER, "--context", START, "--lines", "20"]);
    assert_ne!(own["lines"], other["lines"]);
    assert_eq!(other["context"], START);
    assert!(other["readings_after"]["compare"]["raw"].is_number(), "{other}");
    let mut command = tabia(["play-move"]);
    command.arg(fixture("challenge-mlp.onnx")).args([AFTER, "--context", START]);
    let complaint = fail(command);
    assert!(complaint.contains("--context: the network takes one position"), "{complaint}");
}

#[test]
fn networks_convert_to_tensorflow_lite() {
    let folder = Folder::new();
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let files = [
        (models.join("pair.onnx"), "pair.tflite"),
        (fixture("challenge-mlp.onnx"), "challenge.tflite"),
        (fixture("statedict/rusty-774.safetensors"), "rusty.tflite"),
    ];
    for (from, name) in &files {
        let to = folder.file(name);
        let mut command = tabia(["model", "convert"]);
        command.arg(from).arg(&to);
        succeed(command);
        let outputs = |file: &Path| json(tabia(["model", "tensors", "--runtime", "graph"]), file, &[]);
        let (before, after) = (outputs(from), outputs(&to));
        let values = |answer: &Value| -> Vec<f64> {
            let outputs = answer["outputs"].as_object().expect("outputs");
            outputs
                .values()
                .flat_map(|o| o["values"].as_array().expect("values").iter().map(number))
                .collect()
        };
        // pair.onnx rounds its activations to 8 bits.
        let close = |a: &f64, b: &f64| (a - b).abs() <= 0.02 * b.abs().max(1.0);
        assert!(values(&before).iter().zip(&values(&after)).all(|(a, b)| close(a, b)), "{name}");
    }
    let mut command = tabia(["model", "convert"]);
    command.arg(fixture("conv-net.onnx")).arg(folder.file("conv.tflite"));
    let complaint = fail(command);
    assert!(complaint.contains("cannot be written"), "{complaint}");

    let Some(python) = tabia_requires::python(&["ai_edge_litert", "numpy"]) else { return };
    let check = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/check_tflite.py");
    for (_, name) in &files {
        let output = Command::new(&python)
            .arg(&check)
            .arg(folder.file(name))
            .args(["--tabia", env!("CARGO_BIN_EXE_tabia"), "--tolerance", "2e-4"])
            .output()
            .expect("Python starts");
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
