//! Files written by TensorFlow against the outputs of its interpreter, and hostile files.

use std::collections::BTreeMap;

use prost::Message;
use rten_tensor::NdTensor;
use rten_tensor::prelude::*;
use serde::Deserialize;
use tabia_onnx::proto::{GraphProto, ModelProto};

use super::sketch::{OptionSketch, Sketch, TensorSketch};
use super::{TfliteNetwork, operator_names as code, read};
use crate::{LoadError, LoadErrorKind, Place};

const PAIR: &[u8] = include_bytes!("../../../../../fixtures/models/tflite_pair.tflite");
const PAIR_F16: &[u8] = include_bytes!("../../../../../fixtures/models/tflite_pair_f16.tflite");
const PAIR_INT8: &[u8] = include_bytes!("../../../../../fixtures/models/tflite_pair_int8.tflite");
const SINGLE: &[u8] = include_bytes!("../../../../../fixtures/models/tflite_single.tflite");
const PLANES: &[u8] = include_bytes!("../../../../../fixtures/models/tflite_planes.tflite");
const FULL_INT8: &[u8] = include_bytes!("../../../../../fixtures/models/tflite_full_int8.tflite");
const OUTPUTS: &str = include_str!("../../../../../fixtures/models/tflite_outputs.json");

/// What TensorFlow's interpreter answered.
#[derive(Deserialize)]
struct Recorded {
    rows: BTreeMap<String, Vec<Vec<usize>>>,
    outputs: BTreeMap<String, Vec<Vec<f32>>>,
}

fn recorded() -> Recorded {
    serde_json::from_str(OUTPUTS).unwrap()
}

/// Runs a graph on rows of its inputs, given in the graph's order, and gives all outputs of all rows in a line.
fn run(graph: &ModelProto, inputs: &[Vec<Vec<f32>>]) -> Vec<f32> {
    let model = rten::Model::load(graph.encode_to_vec()).unwrap();
    let inputs = model
        .input_ids()
        .iter()
        .zip(inputs)
        .map(|(&id, rows)| {
            let shape = [rows.len(), rows[0].len()];
            (id, NdTensor::from_data(shape, rows.concat()).into())
        })
        .collect();
    let out = model.run(inputs, model.output_ids(), None).unwrap();
    let out: rten_tensor::Tensor<f32> = out.into_iter().next().unwrap().try_into().unwrap();
    out.to_vec()
}

fn graph(network: &TfliteNetwork) -> &GraphProto {
    network.graph.graph.as_ref().unwrap()
}

fn dense_rows(indices: &[Vec<usize>], width: usize) -> Vec<Vec<f32>> {
    let row = |ones: &Vec<usize>| {
        let mut row = vec![0.0; width];
        ones.iter().filter(|&&i| i < width).for_each(|&i| row[i] = 1.0);
        row
    };
    indices.iter().map(row).collect()
}

/// Compares a file with the interpreter on all 200 rows, as one batch.
fn assert_same_as_runtime(name: &str, bytes: &[u8], inputs: &[&str], width: usize) {
    let recorded = recorded();
    let network = read(bytes).unwrap();
    let rows: Vec<_> = inputs.iter().map(|&i| dense_rows(&recorded.rows[i], width)).collect();
    let ours = run(&network.graph, &rows);
    let theirs = recorded.outputs[name].concat();
    assert_eq!(ours.len(), theirs.len());
    let worst = ours.iter().zip(&theirs).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(worst <= 1e-4, "{name}: off by up to {worst}");
}

#[test]
fn two_input_network_matches_the_interpreter() {
    assert_same_as_runtime("pair", PAIR, &["context", "position"], 769);
}

#[test]
fn half_precision_weights_match_the_interpreter() {
    assert_same_as_runtime("pair_f16", PAIR_F16, &["context", "position"], 769);
}

#[test]
fn integer_weights_match_the_interpreter() {
    assert_same_as_runtime("pair_int8", PAIR_INT8, &["context", "position"], 769);
}

#[test]
fn one_input_network_matches_the_interpreter() {
    assert_same_as_runtime("single", SINGLE, &["context"], 768);
}

#[test]
fn reshapes_clips_and_arithmetic_match_the_interpreter() {
    assert_same_as_runtime("planes", PLANES, &["context"], 768);
}

#[test]
fn first_layers_are_gemm_and_relu_on_the_inputs() {
    for file in [PAIR, PAIR_F16, PAIR_INT8] {
        let network = read(file).unwrap();
        let graph = graph(&network);
        let names: Vec<_> = graph.input.iter().map(|i| i.name.as_str()).collect();
        assert_eq!(names, ["context", "position"]);
        for (node, input) in [(&graph.node[0], "context"), (&graph.node[2], "position")] {
            assert_eq!((node.op_type.as_str(), node.input[0].as_str()), ("Gemm", input));
            assert_eq!((node.attribute[0].name.as_str(), node.attribute[0].i), ("transB", Some(1)));
            let weight = graph.initializer.iter().find(|t| t.name == node.input[1]).unwrap();
            assert_eq!(weight.dims, [6, 769]);
        }
        let ops: Vec<_> = graph.node.iter().map(|n| n.op_type.as_str()).collect();
        let expected = [
            "Gemm", "Relu", "Gemm", "Relu", "Concat", "Gemm", "Relu", "Gemm", "Relu", "Gemm", "Sigmoid",
            "Identity",
        ];
        assert_eq!(ops, expected);
    }
}

#[test]
fn metadata_keeps_text_and_names() {
    let metadata = read(PAIR).unwrap().metadata;
    assert_eq!(metadata["min_runtime_version"], "1.14.0");
    assert_eq!(metadata["description"], "MLIR Converted.");
    assert_eq!(metadata["tflite.signature"], "serving_default");
    assert_eq!(metadata["tflite.input.0"], "serving_default_context:0");
    assert_eq!(metadata["tflite.input.1"], "serving_default_position:0");
    assert!(!metadata.contains_key("CONVERSION_METADATA"), "binary metadata is left out");
}

#[test]
fn full_integer_network_matches_the_interpreter() {
    let recorded = recorded();
    let network = read(FULL_INT8).unwrap();
    let ours = run(&network.graph, &[dense_rows(&recorded.rows["context"], 768)]);
    let theirs = recorded.outputs["full_int8"].concat();
    // A step of the output; rounding may go the other way at one layer and carry on to the next.
    let step = 1.0 / 128.0;
    let apart = |limit: f32| ours.iter().zip(&theirs).filter(|(a, b)| (*a - *b).abs() > limit).count();
    assert_eq!((ours.len(), apart(2.5 * step)), (200, 0));
    assert!(apart(0.5 * step) <= 20, "{} of 200 rows differ by a step", apart(0.5 * step));
}

#[test]
fn integer_values_without_a_grid_are_refused() {
    let mut sketch = small();
    sketch.tensors[3].element = 9;
    assert_eq!(read(&sketch.bytes()).unwrap_err().kind(), LoadErrorKind::Malformed);
    sketch.tensors[3].scales = vec![0.1];
    sketch.tensors[3].zero_points = vec![7];
    // 8-bit results from -135 to 120 steps of 0.1.
    let out = run(&read(&sketch.bytes()).unwrap().graph, &[vec![vec![1.0, 1.04], vec![100.0, 0.0]]]);
    for (got, expected) in out.iter().zip([3.6, -1.7, 12.0, 12.0]) {
        assert!((got - expected).abs() < 1e-5, "{out:?}");
    }
    sketch.tensors[3].zero_points = vec![700];
    assert_eq!(read(&sketch.bytes()).unwrap_err().kind(), LoadErrorKind::Malformed);
    sketch.tensors[3].element = 7;
    assert_eq!(read(&sketch.bytes()).unwrap_err().kind(), LoadErrorKind::Unsupported);
}

#[test]
fn networks_written_again_compute_the_same() {
    let recorded = recorded();
    let rows = |names: &[&str], width| -> Vec<_> {
        names.iter().map(|name| dense_rows(&recorded.rows[*name], width)).collect()
    };
    for (file, inputs) in [
        (PAIR, rows(&["context", "position"], 769)),
        (SINGLE, rows(&["context"], 768)),
        (PLANES, rows(&["context"], 768)),
    ] {
        let network = read(file).unwrap();
        let expected = run(&network.graph, &inputs);
        let written = match super::write(&network.graph, &[("tabia.card", "{}")]) {
            Ok(written) => written,
            // A layer over planes mixes rows, which cannot be written.
            Err(error) => {
                assert_eq!((error.kind(), file.len()), (LoadErrorKind::Unsupported, PLANES.len()), "{error}");
                continue;
            }
        };
        let again = read(&written).unwrap();
        assert_eq!(again.metadata["tabia.card"], "{}");
        assert_eq!(run(&again.graph, &inputs), expected);
        let names = |network: &TfliteNetwork| -> Vec<String> {
            graph(network).input.iter().map(|input| input.name.clone()).collect()
        };
        assert_eq!(names(&again), names(&network));
    }
}

/// `input [1, 2] -> dense 2x2 with bias -> output`, ready to be spoiled.
fn small() -> Sketch {
    let mut sketch = Sketch::default();
    let input = sketch.input("in", &[1, 2]);
    let weights = sketch.weight("w", &[2, 2], &[1.0, 2.0, 3.0, -4.0]);
    let bias = sketch.weight("b", &[2], &[0.5, -0.5]);
    let out = sketch.value("out", &[1, 2]);
    sketch.dense(&[input, weights, bias], out, 0);
    sketch.outputs = vec![out];
    sketch
}

/// The small network's answer to `[1, 1]`, through whatever a test made of it.
fn answer(sketch: &Sketch) -> Vec<f32> {
    run(&read(&sketch.bytes()).unwrap().graph, &[vec![vec![1.0, 1.0]]])
}

fn refusal(sketch: &Sketch) -> LoadError {
    read(&sketch.bytes()).unwrap_err()
}

#[test]
fn every_fused_activation_is_applied() {
    let expected = [[3.5, -1.5], [3.5, 0.0], [1.0, -1.0], [3.5, 0.0], [3.5f32.tanh(), (-1.5f32).tanh()]];
    for (activation, expected) in expected.iter().enumerate() {
        let mut sketch = small();
        sketch.operators[0].options[0].1 = OptionSketch::Byte(activation as i8);
        let answer = answer(&sketch);
        let close = answer.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6);
        assert!(close, "activation {activation}: {answer:?}");
    }
    let mut sketch = small();
    sketch.operators[0].options[0].1 = OptionSketch::Byte(5);
    assert_eq!(refusal(&sketch).kind(), LoadErrorKind::Unsupported);
}

#[test]
fn every_activation_operator_is_applied() {
    let sigmoid = |x: f32| 1.0 / (1.0 + (-x).exp());
    let expected = [
        (code::RELU, [3.5, 0.0]),
        (code::RELU6, [3.5, 0.0]),
        (code::RELU_N1_TO_1, [1.0, -1.0]),
        (code::RELU_0_TO_1, [1.0, 0.0]),
        (code::TANH, [3.5f32.tanh(), (-1.5f32).tanh()]),
        (code::LOGISTIC, [sigmoid(3.5), sigmoid(-1.5)]),
    ];
    for (code, expected) in expected {
        let mut sketch = small();
        let last = sketch.value("activated", &[1, 2]);
        sketch.op(code, &[3], last);
        sketch.outputs = vec![last];
        let answer = answer(&sketch);
        let close = answer.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6);
        assert!(close, "operator {code}: {answer:?}");
    }
}

#[test]
fn a_layer_over_the_last_dimension_keeps_the_others() {
    let mut sketch = Sketch::default();
    let input = sketch.input("in", &[1, 4]);
    let parts = sketch.value("parts", &[1, 2, 2]);
    let weights = sketch.weight("w", &[3, 2], &[1.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
    let out = sketch.value("out", &[1, 2, 3]);
    let op = sketch.op(code::RESHAPE, &[input], parts);
    op.options_type = 17;
    op.options = vec![(0, OptionSketch::Ints(vec![1, -1, 2]))];
    sketch.dense(&[parts, weights, -1], out, 0);
    sketch.operators[1].options.push((2, OptionSketch::Byte(1)));
    sketch.outputs = vec![out];
    let network = read(&sketch.bytes()).unwrap();
    let rows = vec![vec![1.0, 2.0, 3.0, 4.0], vec![5.0, 6.0, 7.0, 8.0]];
    let out = run(&network.graph, &[rows]);
    assert_eq!(out, [1.0, 2.0, 3.0, 3.0, 4.0, 7.0, 5.0, 6.0, 11.0, 7.0, 8.0, 15.0]);
    let dims = &graph(&network).output[0].r#type.as_ref().unwrap().tensor_type.as_ref().unwrap();
    let dims: Vec<_> = dims.shape.as_ref().unwrap().dim.iter().map(|d| d.dim_value).collect();
    assert_eq!(dims, [None, Some(2), Some(3)]);
}

#[test]
fn integer_weights_use_the_scale_of_their_channel() {
    let mut sketch = small();
    sketch.tensors[1] = TensorSketch {
        name: "w".to_owned(),
        shape: vec![2, 2],
        element: 9,
        data: [1i8, 2, 3, -4].map(|q| q as u8).to_vec(),
        scales: vec![0.5, 2.0],
        ..Default::default()
    };
    assert_eq!(answer(&sketch), [0.5 * 3.0 + 0.5, -2.0 - 0.5]);
    sketch.tensors[1].quantised_dimension = 1;
    assert_eq!(answer(&sketch), [0.5 + 4.0 + 0.5, 1.5 - 8.0 - 0.5]);
    sketch.tensors[1].scales = vec![0.25];
    sketch.tensors[1].zero_points = vec![2];
    assert_eq!(answer(&sketch), [0.25 * (1.0 - 2.0) + 0.5, 0.25 * (1.0 - 6.0) - 0.5]);

    sketch.tensors[1].scales = vec![0.25; 3];
    assert_eq!(refusal(&sketch).kind(), LoadErrorKind::Malformed);
    sketch.tensors[1].scales = vec![];
    assert_eq!(refusal(&sketch).kind(), LoadErrorKind::Malformed);
}

#[test]
fn inputs_keep_the_order_of_the_file() {
    let mut sketch = Sketch::default();
    let first = sketch.input("serving_default_position:0", &[1, 2]);
    let second = sketch.input("serving_default_context:0", &[1, 3]);
    let out = sketch.value("out", &[1, 5]);
    let op = sketch.op(code::CONCATENATION, &[second, first], out);
    op.options_type = 10;
    op.options = vec![(0, OptionSketch::Int(-1))];
    sketch.outputs = vec![out];
    sketch.signature = vec![("context", 1), ("position", 0)];
    let network = read(&sketch.bytes()).unwrap();
    let names: Vec<_> = graph(&network).input.iter().map(|i| i.name.as_str()).collect();
    assert_eq!(names, ["position", "context"]);
    let out = run(&network.graph, &[vec![vec![1.0, 2.0]], vec![vec![3.0, 4.0, 5.0]]]);
    assert_eq!(out, [3.0, 4.0, 5.0, 1.0, 2.0]);
}

#[test]
fn the_full_size_two_input_network_has_508_601_parameters() {
    let mut sketch = Sketch::default();
    let layer = |sketch: &mut Sketch, input: i32, from: i32, to: i32, activation: i8| {
        let number = sketch.tensors.len();
        let weights = sketch.weight(&format!("w{number}"), &[to, from], &vec![0.01; (to * from) as usize]);
        let bias = sketch.weight(&format!("b{number}"), &[to], &vec![0.1; to as usize]);
        let out = sketch.value(&format!("v{number}"), &[1, to]);
        sketch.dense(&[input, weights, bias], out, activation);
        out
    };
    let context = sketch.input("context", &[1, 769]);
    let position = sketch.input("position", &[1, 769]);
    let a = layer(&mut sketch, context, 769, 200, 1);
    let b = layer(&mut sketch, position, 769, 200, 1);
    let joined = sketch.value("joined", &[1, 400]);
    let op = sketch.op(code::CONCATENATION, &[a, b], joined);
    op.options_type = 10;
    op.options = vec![(0, OptionSketch::Int(1))];
    let c = layer(&mut sketch, joined, 400, 400, 1);
    let d = layer(&mut sketch, c, 400, 100, 1);
    let e = layer(&mut sketch, d, 100, 1, 0);
    let y = sketch.value("y", &[1, 1]);
    sketch.op(code::LOGISTIC, &[e], y);
    sketch.outputs = vec![y];
    let network = read(&sketch.bytes()).unwrap();
    let elements = |dims: &Vec<i64>| dims.iter().product::<i64>();
    assert_eq!(graph(&network).initializer.iter().map(|t| elements(&t.dims)).sum::<i64>(), 508_601);
    let out = run(&network.graph, &[vec![vec![0.0; 769]; 3], vec![vec![0.0; 769]; 3]]);
    assert_eq!(out.len(), 3);
    // 0.1 -> 400 * 0.01 * 0.1 + 0.1 = 0.5 -> 400 * 0.01 * 0.5 + 0.1 = 2.1 -> 100 * 0.01 * 2.1 + 0.1 = 2.2
    assert!(out.iter().all(|y| (y - 1.0 / (1.0 + (-2.2f32).exp())).abs() < 1e-5), "{out:?}");
}

#[test]
fn shared_weights_are_written_once() {
    let mut sketch = small();
    let again = sketch.value("again", &[1, 2]);
    sketch.dense(&[3, 1, 2], again, 0);
    sketch.outputs = vec![again];
    let network = read(&sketch.bytes()).unwrap();
    assert_eq!(graph(&network).initializer.len(), 2);
    assert_eq!(answer(&sketch), [3.5 - 3.0 + 0.5, 10.5 + 6.0 - 0.5]);
}

#[test]
fn unsupported_operators_are_named_with_the_supported_ones() {
    let mut sketch = small();
    sketch.operators[0].code = 25;
    let message = refusal(&sketch).to_string();
    assert!(message.contains("SOFTMAX") && message.contains("FULLY_CONNECTED, LOGISTIC"), "{message}");
    sketch.operators[0].code = 208;
    assert!(refusal(&sketch).to_string().contains("builtin operator 208"));
    sketch.operators[0].code = code::CUSTOM;
    sketch.operators[0].custom = Some("ChessMagic");
    assert!(refusal(&sketch).to_string().contains("ChessMagic"));
}

/// Spoils the small network and expects a refusal of `kind` at tensor `name`.
fn assert_refused_at(name: &str, kind: LoadErrorKind, spoil: impl FnOnce(&mut Sketch)) {
    let mut sketch = small();
    spoil(&mut sketch);
    let error = refusal(&sketch);
    assert_eq!(error.kind(), kind, "{error}");
    assert_eq!(error.place(), &Place::Tensor(name.to_owned()), "{error}");
}

#[test]
fn invalid_tensors_are_named() {
    use LoadErrorKind::{Malformed, NotFinite, Shape, TooLarge, Unsupported};
    assert_refused_at("w", Malformed, |s| s.tensors[1].shape = vec![2, -2]);
    assert_refused_at("w", Malformed, |s| s.tensors[1].shape = vec![0, 2]);
    assert_refused_at("w", Malformed, |s| s.tensors[1].data.truncate(15));
    assert_refused_at("w", TooLarge, |s| s.tensors[1].shape = vec![i32::MAX, i32::MAX]);
    assert_refused_at("w", NotFinite, |s| s.tensors[1].data[0..4].copy_from_slice(&f32::NAN.to_le_bytes()));
    assert_refused_at("b", NotFinite, |s| {
        s.tensors[2].data[4..8].copy_from_slice(&f32::INFINITY.to_le_bytes());
    });
    assert_refused_at("w", Shape, |s| s.tensors[1].shape = vec![1, 4]);
    assert_refused_at("w", Shape, |s| s.tensors[1].shape = vec![4]);
    assert_refused_at("b", Shape, |s| {
        s.tensors[2].shape = vec![1];
        s.tensors[2].data.truncate(4);
    });
    assert_refused_at("w", Unsupported, |s| s.tensors[1].element = 17);
    assert_refused_at("w", Unsupported, |s| s.tensors[1].outside = 4096);
    assert_refused_at("w", Unsupported, |s| s.tensors[1].data.clear());
    assert_refused_at("in", Malformed, |s| s.tensors[0].shape = vec![1, -2]);
    assert_refused_at("in", Shape, |s| s.tensors[0].shape = vec![2]);
    assert_refused_at("out", Malformed, |s| s.tensors[3].element = 9);
}

#[test]
fn use_before_definition_is_rejected() {
    // Two operators that feed each other.
    assert_refused_at("later", LoadErrorKind::Malformed, |s| {
        let later = s.value("later", &[1, 2]);
        s.operators[0].inputs[0] = later;
        s.op(code::RELU, &[3], later);
    });
    assert_refused_at("out", LoadErrorKind::Malformed, |s| {
        s.op(code::RELU, &[0], 3);
    });
    assert_refused_at("in", LoadErrorKind::Malformed, |s| {
        s.op(code::RELU, &[3], 0);
    });
}

#[test]
fn out_of_range_indices_are_rejected() {
    for index in [99, -1, i32::MIN] {
        let mut sketch = small();
        sketch.operators[0].inputs[0] = index;
        assert_eq!(refusal(&sketch).kind(), LoadErrorKind::Malformed);
        let mut sketch = small();
        sketch.outputs = vec![index];
        assert_eq!(refusal(&sketch).kind(), LoadErrorKind::Malformed);
    }
    let mut sketch = small();
    sketch.tensors[1].shares = Some(1000);
    let error = refusal(&sketch);
    assert_eq!(error.kind(), LoadErrorKind::Malformed);
}

#[test]
fn repeated_concatenation_is_too_large() {
    let mut sketch = Sketch::default();
    let mut value = sketch.input("in", &[1, 2]);
    for i in 0..64 {
        let next = sketch.value(&format!("twice{i}"), &[1, 2]);
        let op = sketch.op(code::CONCATENATION, &[value, value], next);
        op.options_type = 10;
        op.options = vec![(0, OptionSketch::Int(1))];
        value = next;
    }
    sketch.outputs = vec![value];
    assert_eq!(refusal(&sketch).kind(), LoadErrorKind::TooLarge);
}

#[test]
fn many_layers_over_one_shared_buffer_are_too_large() {
    let side = 1024usize;
    let mut sketch = Sketch::default();
    let mut value = sketch.input("in", &[1, side as i32]);
    let data = vec![0u8; side * side];
    let scales = vec![1.0];
    let shape = vec![side as i32; 2];
    let stored = TensorSketch { name: "w".to_owned(), shape, element: 9, data, scales, ..Default::default() };
    let buffer = sketch.tensor(stored.clone()) as u32;
    for i in 0..70 {
        let weights = TensorSketch { data: Vec::new(), shares: Some(buffer), ..stored.clone() };
        let weights = sketch.tensor(weights);
        let next = sketch.value(&format!("v{i}"), &[1, side as i32]);
        sketch.dense(&[value, weights], next, 0);
        value = next;
    }
    sketch.outputs = vec![value];
    assert_eq!(refusal(&sketch).kind(), LoadErrorKind::TooLarge);
}

#[test]
fn three_inputs_are_rejected() {
    let mut sketch = small();
    sketch.input("second", &[1, 2]);
    assert!(read(&sketch.bytes()).is_ok());
    sketch.input("third", &[1, 2]);
    assert_eq!(refusal(&sketch).kind(), LoadErrorKind::Unsupported);
}

#[test]
fn other_files_are_rejected() {
    for bytes in
        [&b""[..], b"TFL3", b"\x08\0\0\0ONNX\0\0\0\0", b"\x08\0\0\0TFL3", b"\xff\xff\xff\xffTFL3...."]
    {
        assert_eq!(read(bytes).unwrap_err().kind(), LoadErrorKind::Malformed, "{bytes:?}");
    }
}

#[test]
fn huge_lengths_never_panic() {
    // Every aligned length or offset in turn becomes huge.
    let bytes = small().bytes();
    for at in (0..bytes.len() - 4).step_by(4) {
        for giant in [u32::MAX, 0x7fff_ffff, 0x0fff_ffff] {
            let mut spoiled = bytes.clone();
            spoiled[at..at + 4].copy_from_slice(&giant.to_le_bytes());
            if let Err(error) = read(&spoiled) {
                assert!(!error.to_string().is_empty());
            }
        }
    }
}

#[test]
fn truncated_files_are_rejected_with_a_place() {
    let full = read(PLANES).unwrap().graph;
    for len in 0..PLANES.len() {
        match read(&PLANES[..len]) {
            // What follows the last byte in use is padding.
            Ok(network) => assert!(network.graph == full && len + 16 > PLANES.len(), "cut at {len}"),
            Err(error) => assert!(!matches!(error.place(), Place::File), "cut at {len}: {error}"),
        }
    }
}

#[test]
fn changed_bytes_never_panic() {
    let mut bytes = PLANES.to_vec();
    for at in 0..bytes.len() {
        let original = bytes[at];
        for changed in [0x00, 0x7f, 0x80, 0xff, original ^ 0x04] {
            bytes[at] = changed;
            // Either outcome is right: many bytes are weights or padding.
            let _either = read(&bytes);
        }
        bytes[at] = original;
    }
}
