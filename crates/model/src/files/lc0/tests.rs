//! The fixtures of `tools/lc0_fixtures.py` against their expected outputs, and files that must be refused.

use std::collections::HashMap;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use half::{bf16, f16};
use tabia_runtime::{InputData, InputTensor, OutputTensor, Session};

use super::messages::{EncoderLayer, Layer, Mha, NetworkFormat, Residual, Unread};
use super::*;
use crate::Place;

const SE_CLASSICAL: &[u8] = include_bytes!("../../../../../fixtures/models/lc0-se-classical.pb.gz");
const PLAIN_CONV: &[u8] = include_bytes!("../../../../../fixtures/models/lc0-plain-conv.pb.gz");
const MISH_CONV: &[u8] = include_bytes!("../../../../../fixtures/models/lc0-mish-conv.pb");

/// Written by `tools/lc0_attention_fixtures.py`; `tests/lc0.rs` has their answers.
const BT: &[u8] = include_bytes!("../../../../../fixtures/models/lc0/bt.pb.gz");
const TINY: &[u8] = include_bytes!("../../../../../fixtures/models/lc0/tiny.pb");
const SE_ATTENTION: &[u8] = include_bytes!("../../../../../fixtures/models/lc0/se.pb.gz");

/// The input the fixtures were answered for: two positions of zeros and ones.
fn fixture_planes() -> Vec<f32> {
    let bit = |i: u32| f32::from(u8::from(i.wrapping_mul(2_654_435_761) >> 28 < 4));
    (0..2 * 112 * 64).map(bit).collect()
}

/// Every output of the graph, row by row, for a batch of planes.
fn run(graph: &ModelProto, planes: &[f32]) -> HashMap<String, Vec<Vec<f32>>> {
    let shape = [planes.len() / (112 * 64), 112, 8, 8];
    let input = InputTensor { shape: &shape, data: InputData::Values(planes) };
    let outputs = Session::new(graph.clone()).unwrap().run(&[input]).unwrap();
    let rows =
        |output: &OutputTensor| output.values.chunks_exact(output.shape[1]).map(<[f32]>::to_vec).collect();
    outputs.into_iter().map(|output| (output.name.clone(), rows(&output))).collect()
}

#[track_caller]
fn assert_answers(graph: &ModelProto, expected: &str) {
    let expected: HashMap<String, Vec<Vec<f32>>> = serde_json::from_str(expected).unwrap();
    let answers = run(graph, &fixture_planes());
    assert_eq!(answers.len(), expected.len());
    for (name, rows) in &expected {
        assert_eq!(answers[name].len(), rows.len());
        for (answer, row) in answers[name].iter().zip(rows) {
            assert_eq!(answer.len(), row.len(), "{name}");
            let error = answer.iter().zip(row).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(error <= 1e-4, "{name} is off by {error}");
        }
    }
}

#[test]
fn squeeze_excitation_dense_policy_and_wdl() {
    let network = read(SE_CLASSICAL).unwrap();
    assert_eq!((network.policy, network.value), (Lc0Policy::Classical, Lc0Value::Wdl));
    assert_answers(&network.graph, include_str!("../../../../../fixtures/models/lc0-se-classical.json"));
}

#[test]
fn plain_block_convolution_policy_and_classical_value() {
    let network = read(PLAIN_CONV).unwrap();
    assert_eq!((network.policy, network.value), (Lc0Policy::Convolution, Lc0Value::Classical));
    assert_answers(&network.graph, include_str!("../../../../../fixtures/models/lc0-plain-conv.json"));
}

#[test]
fn mish_and_moves_left_from_a_plain_protobuf() {
    let network = read(MISH_CONV).unwrap();
    assert_answers(&network.graph, include_str!("../../../../../fixtures/models/lc0-mish-conv.json"));
}

#[test]
fn metadata_is_read() {
    let network = read(PLAIN_CONV).unwrap();
    assert_eq!(network.license.as_deref(), Some("Public domain (CC0)"));
    assert_eq!(network.min_version.as_deref(), Some("0.21.3"));
    let training = "1000 steps, learning rate 0.5, accuracy 25, random weights";
    assert_eq!(network.training_info.as_deref(), Some(training));
}

#[test]
fn missing_format_message_means_classical_heads() {
    let mut net = parse(SE_CLASSICAL).unwrap();
    net.format.as_mut().unwrap().network_format = None;
    let weights = net.weights.as_mut().unwrap();
    keep_numbers(&mut weights.ip2_val_w, 16);
    keep_numbers(&mut weights.ip2_val_b, 1);
    let network = read(&net.encode_to_vec()).unwrap();
    assert_eq!((network.policy, network.value), (Lc0Policy::Classical, Lc0Value::Classical));
    let answers = run(&network.graph, &fixture_planes());
    assert_eq!(answers["value"].iter().map(Vec::len).collect::<Vec<_>>(), [1, 1]);
}

fn keep_numbers(layer: &mut Option<Layer>, count: usize) {
    layer.as_mut().unwrap().params.as_mut().unwrap().truncate(2 * count);
}

/// The error of a fixture after `change`.
fn refusal(fixture: &[u8], change: impl FnOnce(&mut Net)) -> LoadError {
    let mut net = parse(fixture).unwrap();
    change(&mut net);
    read(&net.encode_to_vec()).unwrap_err()
}

#[test]
fn unsupported_architectures_are_named() {
    type Change = fn(&mut NetworkFormat);
    let formats: [(&[u8], Change, &str, &str); 9] = [
        (
            MISH_CONV,
            |f| f.input = Some(3),
            "INPUT_112_WITH_CANONICALIZATION",
            "INPUT_112_WITH_CASTLING_PLANE",
        ),
        (
            MISH_CONV,
            |f| f.input = Some(133),
            "INPUT_112_WITH_CANONICALIZATION_V2_ARMAGEDDON",
            "INPUT_CLASSICAL_112_PLANE",
        ),
        (MISH_CONV, |f| f.network = Some(5), "NETWORK_ONNX", "NETWORK_SE"),
        (MISH_CONV, |f| f.network = Some(6), "POLICY_CONVOLUTION", "POLICY_ATTENTION"),
        (MISH_CONV, |f| f.value = Some(3), "VALUE_PARAM", "VALUE_WDL"),
        (MISH_CONV, |f| f.default_activation = Some(-7), "number -7", "DEFAULT_ACTIVATION_MISH"),
        (BT, |f| f.ffn_activation = Some(9), "ACTIVATION_SOFTMAX", "ACTIVATION_SWISH"),
        (BT, |f| f.input_embedding = None, "INPUT_EMBEDDING_NONE", "INPUT_EMBEDDING_PE_DENSE"),
        (BT, |f| f.network = Some(3), "encoder layers", "NETWORK_CLASSICAL_WITH_HEADFORMAT"),
    ];
    for (fixture, change, found, supported) in formats {
        // A body of its own, so that only the format is at fault.
        let error = refusal(fixture, |net| {
            if fixture == MISH_CONV {
                net.weights.as_mut().unwrap().residual.clear();
            }
            change(net.format.as_mut().unwrap().network_format.as_mut().unwrap());
        });
        assert_eq!(error.kind(), LoadErrorKind::Unsupported, "{error}");
        let text = error.to_string();
        assert!(text.contains(found) && text.contains(supported), "{text}");
    }
    type BodyChange = fn(&mut Net);
    let bodies: [(&[u8], BodyChange); 4] = [
        (MISH_CONV, |net| net.onnx_model = Some(Unread {})),
        (PLAIN_CONV, |net| net.weights.as_mut().unwrap().encoder.push(EncoderLayer::default())),
        (BT, |net| net.weights.as_mut().unwrap().residual.push(Residual::default())),
        (BT, |net| attention(net).rpe_k = Some(Unread {})),
    ];
    for (fixture, change) in bodies {
        let error = refusal(fixture, change);
        assert_eq!(error.kind(), LoadErrorKind::Unsupported, "{error}");
    }
    let error = refusal(MISH_CONV, |net| {
        net.weights.as_mut().unwrap().ip1_val_b.as_mut().unwrap().encoding = Some(5);
    });
    assert!(error.to_string().contains("number 5") && error.to_string().contains("FLOAT32"), "{error}");
    assert_eq!(error.place(), &Place::Tensor("ip1_val_b".to_owned()));
    assert_eq!(read(b"2\n0.1 0.2\n").unwrap_err().kind(), LoadErrorKind::Unsupported);
}

fn attention(net: &mut Net) -> &mut Mha {
    net.weights.as_mut().unwrap().encoder[1].mha.as_mut().unwrap()
}

#[test]
fn mismatched_layers_of_attention_networks_are_named() {
    type Change = fn(&mut Weights);
    let changes: [(&[u8], Change, &str); 20] = [
        (BT, |w| w.encoder.clear(), "encoder"),
        (BT, |w| w.headcount = None, "headcount"),
        (BT, |w| w.headcount = Some(0), "headcount"),
        (BT, |w| w.headcount = Some(5), "encoder.0.mha.q_b"),
        (BT, |w| w.headcount = Some(u32::MAX), "encoder.0.mha.q_b"),
        (BT, |w| w.headcount = Some(4), "encoder.0.mha.smolgen.dense2_b"),
        (BT, |w| w.encoder[1].mha = None, "encoder.1.mha.q_w"),
        (BT, |w| w.encoder[1].ffn = None, "encoder.1.ffn.dense1_w"),
        (BT, |w| w.encoder[0].ln2_betas = None, "encoder.0.ln2_betas"),
        (BT, |w| shorten(&mut w.encoder[0].ln1_gammas), "encoder.0.ln1_gammas"),
        (BT, |w| w.smolgen_w = None, "smolgen_w"),
        (BT, |w| shorten(&mut w.smolgen_w), "smolgen_w"),
        (BT, |w| shorten(&mut w.ip_emb_preproc_b), "ip_emb_preproc_b"),
        (BT, |w| shorten(&mut w.ip_mult_gate), "ip_mult_gate"),
        (BT, |w| w.ip_emb_ln_gammas = None, "ip_emb_ln_gammas"),
        (BT, |w| w.policy_heads.as_mut().unwrap().vanilla = None, "policy_heads.vanilla.ip2_pol_w"),
        (BT, |w| w.value_heads.as_mut().unwrap().winner = None, "value_heads.winner.ip_val_w"),
        (BT, |w| w.ip_mov_w = None, "ip_mov_w"),
        (SE_ATTENTION, |w| w.pol_headcount = Some(3), "pol_encoder.0.mha.q_b"),
        (SE_ATTENTION, |w| shorten(&mut w.ip4_pol_w), "ip4_pol_w"),
    ];
    for (fixture, change, name) in changes {
        let error = refusal(fixture, |net| change(net.weights.as_mut().unwrap()));
        assert_eq!(error.kind(), LoadErrorKind::Shape, "{error}");
        assert_eq!(error.place(), &Place::Tensor(name.to_owned()), "{error}");
    }
    fn shorten(layer: &mut Option<Layer>) {
        let layer = layer.as_mut().unwrap();
        let size = if layer.encoding == Some(4) { 4 } else { 2 };
        let params = layer.params.as_mut().unwrap();
        params.truncate(params.len() - size);
    }
}

#[test]
fn layers_of_floats_must_be_finite_and_whole() {
    for (encoding, bytes) in [
        (2, f16::NAN.to_le_bytes().to_vec()),
        (3, bf16::INFINITY.to_le_bytes().to_vec()),
        (4, f32::NAN.to_le_bytes().to_vec()),
    ] {
        let change = |params: &[u8]| {
            let layer = Layer { encoding: Some(encoding), params: Some(params.to_vec()), ..Layer::default() };
            move |net: &mut Net| net.weights.as_mut().unwrap().ip_emb_ln_betas = Some(layer)
        };
        let params = bytes.repeat(12);
        let error = refusal(BT, change(&params));
        assert_eq!((error.kind(), error.place()), (LoadErrorKind::NotFinite, &named("ip_emb_ln_betas")));
        let error = refusal(BT, change(&params[1..]));
        assert_eq!((error.kind(), error.place()), (LoadErrorKind::Shape, &named("ip_emb_ln_betas")));
    }
    fn named(name: &str) -> Place {
        Place::Tensor(name.to_owned())
    }
}

#[test]
fn mismatched_layers_are_named() {
    type Change = fn(&mut Net);
    let changes: [(Change, &str); 8] = [
        (|net| net.weights.as_mut().unwrap().input = None, "input"),
        (|net| keep_numbers(&mut net.weights.as_mut().unwrap().ip1_val_b, 3), "ip1_val_b"),
        (|net| keep_numbers(&mut net.weights.as_mut().unwrap().ip2_val_w, 16), "ip2_val_w"),
        (|net| keep_numbers(&mut net.weights.as_mut().unwrap().ip_pol_w, 128 * 1857), "ip_pol_w"),
        (
            |net| keep_numbers(&mut block(net).conv2.as_mut().unwrap().bn_means, 7),
            "residual.0.conv2.bn_means",
        ),
        (
            |net| keep_numbers(&mut block(net).conv1.as_mut().unwrap().weights, 7 * 72),
            "residual.0.conv1.weights",
        ),
        (|net| keep_numbers(&mut block(net).se.as_mut().unwrap().w2, 4 * 8), "residual.0.se.w2"),
        (|net| block(net).conv1.as_mut().unwrap().bn_stddivs = None, "residual.0.conv1.bn_stddivs"),
    ];
    for (change, name) in changes {
        let error = refusal(SE_CLASSICAL, change);
        assert_eq!(error.kind(), LoadErrorKind::Shape, "{error}");
        assert_eq!(error.place(), &Place::Tensor(name.to_owned()), "{error}");
    }
    fn block(net: &mut Net) -> &mut Residual {
        &mut net.weights.as_mut().unwrap().residual[0]
    }
}

#[test]
fn non_finite_layers_are_named() {
    for (low, high) in [(f32::NAN, 1.0), (0.0, f32::INFINITY), (f32::MIN, f32::MAX)] {
        let error = refusal(PLAIN_CONV, |net| {
            let layer = net.weights.as_mut().unwrap().ip1_val_w.as_mut().unwrap();
            (layer.min_val, layer.max_val) = (Some(low), Some(high));
        });
        assert_eq!(error.kind(), LoadErrorKind::NotFinite);
        assert_eq!(error.place(), &Place::Tensor("ip1_val_w".to_owned()));
    }
    let error = refusal(PLAIN_CONV, |net| {
        let input = net.weights.as_mut().unwrap().input.as_mut().unwrap();
        input.bn_stddivs.as_mut().unwrap().min_val = Some(-3.0);
    });
    assert_eq!(error.kind(), LoadErrorKind::NotFinite);
    assert_eq!(error.place(), &Place::Tensor("input.weights".to_owned()));
}

#[test]
fn decompressed_size_is_bounded() {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(&[0; 100_000]).unwrap();
    let bomb = gzip.finish().unwrap();
    assert_eq!(unpack(&bomb, 100_000).unwrap().len(), 100_000);
    assert_eq!(unpack(&bomb, 99_999).unwrap_err().kind(), LoadErrorKind::TooLarge);

    // Residual blocks, encoder layers, and policy encoders on their own and in the head of several.
    let message = |key: &[u8], content: &[u8]| {
        let mut message = key.to_vec();
        prost::encode_length_delimiter(content.len(), &mut message).unwrap();
        message.extend(content);
        message
    };
    let empty = |key: &[u8]| message(key, &[]).repeat(300);
    let heads = message(&[0xea, 0x02], &message(&[0x1a], &empty(&[0x42])));
    for blocks in [empty(&[0x12]), empty(&[0xda, 0x01]), empty(&[0xaa, 0x01]), heads] {
        let net = [vec![0x0d, 0xc0, 0x01, 0, 0], message(&[0x52], &blocks)].concat();
        let error = read(&net).unwrap_err();
        assert_eq!(error.kind(), LoadErrorKind::TooLarge);
        assert!(matches!(error.place(), Place::Byte(_)), "{error}");
    }
}

#[test]
fn wrong_magic_is_rejected() {
    let error = refusal(MISH_CONV, |net| net.magic = Some(0x1c1));
    assert_eq!(error.kind(), LoadErrorKind::Malformed);
    assert_eq!(read(&[]).unwrap_err().kind(), LoadErrorKind::Malformed);
}

#[test]
fn truncated_files_are_rejected() {
    for file in [PLAIN_CONV, MISH_CONV, TINY] {
        for length in (0..200).chain((200..file.len()).step_by(97)) {
            assert!(read(&file[..length]).is_err(), "cut off at {length}");
        }
    }
}

#[test]
fn damaged_bytes_never_panic() {
    let mut state = 1_u32;
    let mut random = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as usize
    };
    assert!(read(TINY).is_ok());
    for turn in 0..600 {
        let mut file = if turn % 2 == 0 { MISH_CONV } else { TINY }.to_vec();
        // Half the damage goes where the structure is.
        let at = if random() % 2 == 0 { random() % 150 } else { random() % file.len() };
        file[at] = random() as u8;
        let _only_weights_were_hit = read(&file);
    }
}
