//! Networks saved by torch and safetensors give the numbers torch gave (`tools/statedict_fixtures.py`).

use std::collections::BTreeMap;

use tabia_onnx::check::ElementKind;
use tabia_onnx::tensors::TensorMap;
use tabia_onnx::{ErrorKind, Place, TensorError};
use tabia_runtime::{InputData, InputTensor, OutputTensor, Session};

use super::Recognised;
use crate::card::StateDict;
use crate::files::{safetensors, torch};

macro_rules! fixtures {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_bytes!(concat!("../../../../fixtures/models/statedict/", $name)).as_slice())),*]
    };
}

const FILES: &[(&str, &[u8])] = fixtures!(
    "humchess-68.safetensors",
    "humchess-74.pt",
    "rusty-774.safetensors",
    "policy-mlp.pt",
    "cnn-old.pt",
    "cnn-layer-norm.pt",
    "cnn-flatten.pt",
    "cnn-reduce.pt",
    "cnn-spatial-shared.pt",
    "cnn-spatial-unshared.pt",
    "cnn-bilinear.pt",
    "cnn-factored.pt",
);

const EXPECTED: &str = include_str!("../../../../fixtures/models/statedict/expected.json");

/// What torch made of one output: the numbers at a few places of every row.
#[derive(serde::Deserialize)]
struct Expected {
    places: Vec<usize>,
    rows: Vec<Vec<f32>>,
}

/// Without a card.
fn recognise(tensors: TensorMap) -> Result<Recognised, TensorError> {
    super::recognise(tensors, &StateDict::default(), None)
}

fn read(name: &str) -> TensorMap {
    let (_, bytes) = FILES.iter().find(|(file, _)| *file == name).unwrap();
    if name.ends_with(".pt") {
        torch::read(bytes).unwrap()
    } else {
        safetensors::read(bytes).unwrap().tensors
    }
}

/// The generator of `tools/statedict_fixtures.py`.
fn draws() -> impl Iterator<Item = u32> {
    std::iter::successors(Some(1_u32), |s| Some(s.wrapping_mul(1_664_525).wrapping_add(1_013_904_223)))
        .skip(1)
}

fn bits(count: usize) -> Vec<f32> {
    draws().map(|s| f32::from(u8::from(s >> 29 == 0))).take(count).collect()
}

fn token_rows(rows: usize, length: usize) -> Vec<i32> {
    let mut ranges = vec![(13, 1)];
    ranges.extend([(0, 13); 64]);
    ranges.extend([(14, 16), (30, 17), (47, 19)]);
    ranges.resize(length, (0, 4097));
    let ranges = ranges.into_iter().cycle();
    ranges.zip(draws()).map(|((low, n), s)| low + (s >> 8) as i32 % n).take(rows * length).collect()
}

/// Runs `rows` of the generator's inputs through the graph.
fn run(recognised: &Recognised, rows: usize) -> Vec<OutputTensor> {
    let session = Session::new(recognised.graph.clone()).unwrap();
    let input = &session.info().inputs[0];
    let shape: Vec<usize> = input.shape.iter().map(|d| d.unwrap_or(rows)).collect();
    let (ids, values) = match input.kind {
        ElementKind::Int => (token_rows(rows, shape[1]), Vec::new()),
        _ => (Vec::new(), bits(shape.iter().product())),
    };
    let data = if values.is_empty() { InputData::Ids(&ids) } else { InputData::Values(&values) };
    session.run(&[InputTensor { shape: &shape, data }]).unwrap()
}

#[test]
fn graphs_agree_with_torch() {
    let expected: BTreeMap<String, BTreeMap<String, Expected>> = serde_json::from_str(EXPECTED).unwrap();
    assert_eq!(expected.len(), FILES.len());
    for (file, outputs) in &expected {
        let apart = furthest(&run(&recognise(read(file)).unwrap(), 200), outputs);
        assert!(apart <= 1e-4, "{file}: {apart}");
    }
}

/// How far our outputs are from torch's at most.
fn furthest(computed: &[OutputTensor], expected: &BTreeMap<String, Expected>) -> f32 {
    assert_eq!(computed.len(), expected.len());
    let mut furthest = 0.0_f32;
    for OutputTensor { name, shape, values } in computed {
        let Expected { places, rows } = &expected[name];
        assert_eq!(shape[0], rows.len());
        for (ours, torchs) in values.chunks(shape[1]).zip(rows) {
            let apart = places.iter().zip(torchs).map(|(&place, torchs)| (ours[place] - torchs).abs());
            furthest = apart.fold(furthest, f32::max);
        }
    }
    furthest
}

/// With small embeddings, as a young network has them, the epsilon of the norms shows.
#[test]
fn humchess_norm_epsilon_is_torchs_unless_the_card_overrides_it() {
    const EPSILON: &str = include_str!("../../../../fixtures/models/statedict/epsilon.json");
    let expected: BTreeMap<String, BTreeMap<String, Expected>> = serde_json::from_str(EPSILON).unwrap();
    let whole = read("humchess-74.pt");
    let mut small = TensorMap::new();
    for (name, tensor) in whole.iter() {
        let factor = if name.contains("_emb.") { 1.0 / 64.0 } else { 1.0 };
        small.insert(name, tensor.shape(), tensor.data().iter().map(|v| factor * v).collect()).unwrap();
    }
    let apart = |norm_epsilon, version: &str| {
        let card = StateDict { norm_epsilon, ..StateDict::default() };
        furthest(&run(&super::recognise(small.clone(), &card, None).unwrap(), 10), &expected[version])
    };
    assert!(apart(None, "torch") <= 1e-5, "{}", apart(None, "torch"));
    assert!(apart(Some(1e-6), "1e-6") <= 1e-5, "{}", apart(Some(1e-6), "1e-6"));
    assert!(apart(None, "1e-6") > 1e-4, "they differ");
}

#[test]
fn network_is_detected_from_names_and_shapes() {
    let told = [
        ("humchess-68.safetensors", Some("humchess-68"), Some("from-to-4096")),
        ("humchess-74.pt", Some("humchess-74"), Some("from-to-4096")),
        ("rusty-774.safetensors", Some("rusty-774"), None),
        ("policy-mlp.pt", Some("policy-837"), Some("canonical-1968")),
        ("cnn-reduce.pt", Some("policy-planes-17"), Some("canonical-1968-mover")),
        ("cnn-bilinear.pt", Some("policy-planes-18"), None),
    ];
    for (file, encoding, vocabulary) in told {
        let recognised = recognise(read(file)).unwrap();
        assert_eq!((recognised.encoding, recognised.vocabulary), (encoding, vocabulary), "{file}");
    }
    let describe = |file| recognise(read(file)).unwrap().architecture;
    assert_eq!(describe("rusty-774.safetensors"), "MLP 774-16-8-1");
    assert_eq!(
        describe("humchess-74.pt"),
        "HumChess transformer: 2 layers, width 16, 2 heads, inner width 32, 74 tokens"
    );
    assert!(describe("cnn-reduce.pt").contains("Reduce head, 1968 moves"));
}

#[test]
fn missing_tensor_is_rejected() {
    for (file, _) in FILES {
        let whole = read(file);
        for gone in whole.names().filter(|name| !name.ends_with(".bias")) {
            let mut tensors = whole.clone();
            tensors.take(gone, whole.shape(gone).unwrap()).unwrap();
            match recognise(tensors) {
                // Without its last layer an MLP is another MLP, and the norm before the output is optional.
                Ok(other) => {
                    assert!(
                        other.architecture.starts_with("MLP") || gone == "out_ln.weight",
                        "{file} {gone}"
                    );
                }
                Err(error) => assert!(
                    matches!(error.place(), Place::Tensor(_)) || error.kind() == ErrorKind::UnknownNetwork,
                    "{file} without {gone}: {error}"
                ),
            }
        }
    }
}

fn map(entries: &[(&str, &[usize])]) -> TensorMap {
    let mut tensors = TensorMap::new();
    for (name, shape) in entries {
        tensors.insert(name, shape, vec![0.5; shape.iter().product()]).unwrap();
    }
    tensors
}

fn refused(entries: &[(&str, &[usize])], kind: ErrorKind, tensor: &str) {
    let error = recognise(map(entries)).unwrap_err();
    assert_eq!((error.kind(), error.place()), (kind, &Place::Tensor(tensor.to_owned())), "{error}");
}

#[test]
fn layers_are_sorted_numerically() {
    let mut entries = Vec::new();
    let names: Vec<String> = (0..12).map(|i| format!("seq.linear-{i}.weight")).collect();
    let shapes: Vec<[usize; 2]> = (0..12).map(|i| [12 - i, if i == 0 { 774 } else { 13 - i }]).collect();
    for (name, shape) in names.iter().zip(&shapes) {
        entries.push((name.as_str(), shape.as_slice()));
    }
    let recognised = recognise(map(&entries)).unwrap();
    assert_eq!(recognised.architecture, "MLP 774-12-11-10-9-8-7-6-5-4-3-2-1");
    assert_eq!(run(&recognised, 1)[0].shape, [1, 1]);
}

#[test]
fn wrong_shapes_are_named() {
    let kind = ErrorKind::Shape;
    refused(&[("seq.linear-0.weight", &[774])], kind, "seq.linear-0.weight");
    refused(&[("seq.linear-0.weight", &[0, 774])], kind, "seq.linear-0.weight");
    refused(
        &[("seq.linear-0.weight", &[4, 774]), ("seq.linear-1.weight", &[1, 5])],
        kind,
        "seq.linear-1.weight",
    );
    refused(&[("net.0.weight", &[4, 837]), ("net.0.bias", &[5])], kind, "net.0.bias");
    refused(&[("layers.0.weight", &[2, 12, 3, 3]), ("output.weight", &[9, 128])], kind, "layers.0.weight");
    refused(&[("layers.0.weight", &[2, 17, 3, 2]), ("output.weight", &[9, 128])], kind, "layers.0.weight");
    refused(
        &[
            ("token_emb.weight", &[66, 10]),
            ("blocks.0.attn.qkv.weight", &[30, 10]),
            ("blocks.0.attn.q_norm.weight", &[4]),
            ("blocks.0.ffn.w1.weight", &[8, 10]),
        ],
        kind,
        "blocks.0.attn.q_norm.weight",
    );
}

#[test]
fn nnue_needs_768_features_and_at_most_32_buckets() {
    let net = |inputs: usize, buckets: usize, both: usize| {
        map(&[
            ("features.weight", &[4, inputs]),
            ("features.bias", &[4]),
            ("output.weight", &[buckets, both]),
            ("output.bias", &[buckets]),
        ])
    };
    recognise(net(768, 32, 8)).unwrap();
    let refused = |tensors: TensorMap, kind, tensor: &str| {
        let error = recognise(tensors).unwrap_err();
        assert_eq!((error.kind(), error.place()), (kind, &Place::Tensor(tensor.to_owned())), "{error}");
    };
    refused(net(774, 8, 8), ErrorKind::Shape, "features.weight");
    refused(net(768, 33, 8), ErrorKind::Shape, "output.weight");
    refused(net(768, 8, 4), ErrorKind::Shape, "output.weight");
    let mut cubed = net(768, 8, 8);
    cubed.insert("activation.power", &[1], vec![3.0]).unwrap();
    refused(cubed, ErrorKind::UnknownNetwork, "activation.power");
}

#[test]
fn leftover_tensors_are_rejected() {
    let unknown = ErrorKind::UnknownNetwork;
    refused(&[("net.0.weight", &[4, 837]), ("net.3.weight", &[1, 4])], unknown, "net.3.weight");
    refused(&[("net.0.weight", &[1, 837]), ("value_head.weight", &[1, 4])], unknown, "value_head.weight");
    let error = recognise(map(&[("encoder.weight", &[1, 2])])).unwrap_err();
    assert_eq!(error.kind(), unknown);
    let text = error.to_string();
    assert!(text.contains("encoder.weight") && text.contains("HumChess"), "{text}");
    let headless = recognise(map(&[("layers.0.weight", &[2, 17, 3, 3])])).unwrap_err();
    assert!(headless.to_string().contains("head.from_proj.weight"), "{headless}");
}

#[test]
fn out_of_range_index_names_its_tensor() {
    let mut tensors = read("cnn-bilinear.pt");
    let mut squares = tensors.take("head.to_idx", &[90]).unwrap().data().to_vec();
    squares[7] = 64.0;
    tensors.insert("head.to_idx", &[90], squares).unwrap();
    let error = recognise(tensors).unwrap_err();
    assert_eq!(error.place(), &Place::Tensor("head.to_idx".to_owned()), "{error}");
}
