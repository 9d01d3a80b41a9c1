//! Maia-3 and Maia-2 agree with their original code on 200 positions with history (tools/maia_fixtures.py).

mod played;

use std::collections::BTreeMap;

use played::{UNITS, drawn, rows, unpacked};
use serde::Deserialize;
use shakmaty::{Chess, Position};
use tabia_encoding::Situation;
use tabia_model::{
    Evaluation, Format, LoadErrorKind, Model, OutcomeOrder, Place, Policy, Runtime, Source, WeightPrecision,
};
use tabia_nets::{Architecture, Maia3Config};
use tabia_runtime::transformer::Level;

const TOLERANCE: f32 = 1e-4;

macro_rules! fixture {
    ($name:literal) => {
        include_bytes!(concat!("../../../fixtures/models/maia/", $name)).as_slice()
    };
}

const MAIA3_PT: &[u8] = fixture!("maia3.pt");
const MAIA2_PT: &[u8] = fixture!("maia2.pt");

/// What the original code said.
#[derive(Deserialize)]
struct Expected {
    #[serde(default)]
    tensors: BTreeMap<String, Vec<usize>>,
    policy: Vec<Vec<i32>>,
    outcome: Vec<Vec<i32>>,
}

fn expected(json: &[u8]) -> Expected {
    serde_json::from_slice(json).expect("the fixture parses")
}

/// The largest differences of the policy, and of the outcome or value.
fn differences(model: &Model, expected: &Expected, with_history: bool) -> [f32; 2] {
    let rows = &rows()[..expected.policy.len()];
    let situations: Vec<_> = rows
        .iter()
        .map(|row| {
            if with_history {
                row.situation()
            } else {
                Situation { earlier: &[], last_moves: &[], ..row.situation() }
            }
        })
        .collect();
    let evaluations = model.evaluate(&situations).expect("as the fixtures have it");
    let mut worst = [0.0_f32; 2];
    for (i, (row, evaluation)) in rows.iter().zip(&evaluations).enumerate() {
        let policy = evaluation.policy.as_ref().expect("as the fixtures have it");
        let moves = row.spelled();
        assert_eq!(moves.len(), expected.policy[i].len());
        for (m, &units) in moves.into_iter().zip(&expected.policy[i]) {
            worst[0] = worst[0].max((policy.probability(m) - units as f32 * UNITS).abs());
        }
        let numbers = outcome(model, evaluation, &row.position);
        for (number, &units) in numbers.into_iter().zip(&expected.outcome[i]) {
            worst[1] = worst[1].max((number - units as f32 * UNITS).abs());
        }
    }
    worst
}

/// Win, draw, loss; or the number of the value head, as far as it is within its range.
fn outcome(model: &Model, evaluation: &Evaluation, position: &Chess) -> Vec<f32> {
    if let Some(wdl) = evaluation.wdl {
        return vec![wdl.win, wdl.draw, wdl.loss];
    }
    let head = model.card().value.as_ref().expect("a value head");
    vec![head.number(evaluation.score.expect("a score"), position.turn(), position.turn())]
}

fn assert_agrees(model: &Model, expected: &Expected) {
    let worst = differences(model, expected, true);
    assert!(worst.iter().all(|&difference| difference <= TOLERANCE), "{worst:?}");
}

/// Outside -1 to 1 the value of Maia-2 is clamped.
fn clamped(mut expected: Expected) -> Expected {
    let limit = (1.0 / UNITS) as i32;
    expected.outcome.iter_mut().flatten().for_each(|units| *units = (*units).clamp(-limit, limit));
    expected
}

#[test]
fn maia3_checkpoint_agrees_with_the_original() {
    let model = Model::from_bytes(MAIA3_PT).unwrap();
    assert_eq!(model.format(), Format::Torch);
    assert_eq!(model.card().encoding, "maia3-96");
    assert!(model.takes_ratings());
    assert!(model.card().value.is_none(), "the time to think is no evaluation");
    let described = model.card().architecture.clone().unwrap();
    assert!(
        described.contains("2 layers, width 16, 2 heads") && described.contains("8 boards"),
        "{described}"
    );
    assert_agrees(&model, &expected(fixture!("maia3.json")));
}

#[test]
fn maia3_with_a_bias_generated_per_square_agrees_with_the_original() {
    let expected = expected(fixture!("maia3-per-square.json"));
    let model = Model::from_bytes(&drawn(&expected.tensors)).unwrap();
    assert_agrees(&model, &expected);
}

#[test]
fn maia3_with_layer_norms_attention_biases_and_one_board_agrees_with_the_original() {
    let expected = expected(fixture!("maia3-variant.json"));
    let model = Model::from_bytes(&drawn(&expected.tensors)).unwrap();
    assert_eq!(model.card().encoding, "maia3-12");
    assert_agrees(&model, &expected);
}

#[test]
fn maia3_onnx_with_eight_boards_and_whole_ratings_agrees_with_the_original() {
    let model = Model::from_bytes(&unpacked(fixture!("maia3-96.onnx.gz"))).unwrap();
    assert_eq!(model.card().encoding, "maia3-96");
    assert_eq!(model.card().architecture.as_deref(), Some("Maia-3"));
    assert_eq!(model.card().wdl.as_ref().unwrap().order, OutcomeOrder::LossDrawWin);
    assert!(model.card().value.is_none());
    assert_agrees(&model, &expected(fixture!("maia3.json")));
}

#[test]
fn maia3_onnx_with_one_board_agrees_with_the_original() {
    let model = Model::from_bytes(&unpacked(fixture!("maia3-12.onnx.gz"))).unwrap();
    assert_eq!(model.card().encoding, "maia3-12");
    assert!(model.takes_ratings());
    let worst = differences(&model, &expected(fixture!("maia3-one-board.json")), false);
    assert!(worst.iter().all(|&difference| difference <= TOLERANCE), "{worst:?}");
}

#[test]
fn maia3_converts_to_onnx_and_safetensors() {
    let expected = expected(fixture!("maia3.json"));
    let source = Source::read(MAIA3_PT).unwrap();
    let card = Model::new(source.clone(), None).unwrap().card().clone();
    assert_agrees(&Model::from_bytes(&source.to_onnx(&card).unwrap()).unwrap(), &expected);
    let safetensors = Source::state_dict_to_safetensors(MAIA3_PT, &card).unwrap();
    assert_agrees(&Model::from_bytes(&safetensors).unwrap(), &expected);
}

#[test]
fn maia2_agrees_with_the_original() {
    let expected = clamped(expected(fixture!("maia2.json")));
    let model = Model::from_bytes(&drawn(&expected.tensors)).unwrap();
    assert_eq!(model.card().encoding, "maia2-18");
    assert!(model.takes_ratings());
    assert_agrees(&model, &expected);
}

#[test]
fn maia2_checkpoint_with_optimiser_state_agrees_with_the_original() {
    let model = Model::from_bytes(MAIA2_PT).unwrap();
    assert_eq!(model.format(), Format::Torch);
    assert_agrees(&model, &clamped(expected(fixture!("maia2-file.json"))));
}

/// The tensors of `shapes` after a change, opened.
fn changed(
    shapes: &BTreeMap<String, Vec<usize>>,
    change: impl FnOnce(&mut BTreeMap<String, Vec<usize>>),
) -> tabia_model::LoadError {
    let mut shapes = shapes.clone();
    change(&mut shapes);
    Model::from_bytes(&drawn(&shapes)).expect_err("a damaged file")
}

#[test]
fn damaged_maia_files_are_refused_by_name() {
    let tensors = [
        ("maia3", expected(fixture!("maia3-per-square.json")).tensors, "token_projection.weight"),
        ("maia2", expected(fixture!("maia2.json")).tensors, "chess_cnn.conv1.weight"),
    ];
    for (name, shapes, first) in &tensors {
        // Every tensor that is missing is named, but those of heads that are not used or copies of others.
        for gone in shapes.keys() {
            let optional = ["fc_ponder", "fc_2.", "gab_weight", "gab_shared_weight"];
            if gone == first
                || gone.contains("elo_embedding")
                || optional.iter().any(|part| gone.contains(part))
            {
                continue;
            }
            let error = changed(shapes, |shapes| drop(shapes.remove(gone)));
            let known =
                matches!(error.place(), Place::Tensor(_)) || error.kind() == LoadErrorKind::UnknownNetwork;
            assert!(known, "{name} without {gone}: {error}");
        }
        let error = changed(shapes, |shapes| shapes.get_mut(*first).unwrap()[1] += 1);
        assert_eq!(error.kind(), LoadErrorKind::Shape, "{error}");
        assert_eq!(error.place(), &Place::Tensor((*first).to_owned()));
        let mut bytes = drawn(shapes);
        let end = bytes.len();
        bytes[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
        assert_eq!(Model::from_bytes(&bytes).unwrap_err().kind(), LoadErrorKind::NotFinite, "{name}");
    }
}

#[test]
fn sizes_that_do_not_divide_are_refused() {
    let maia3 = expected(fixture!("maia3-per-square.json")).tensors;
    let maia2 = expected(fixture!("maia2.json")).tensors;
    for (shapes, name) in [
        (&maia3, "transformer.layers.0.self_attn.sm3.weight"),
        (&maia2, "transformer.elo_layers.0.0.to_qkv.weight"),
    ] {
        let error = changed(shapes, |shapes| shapes.get_mut(name).unwrap()[0] += 1);
        assert_eq!((error.kind(), error.place()), (LoadErrorKind::Shape, &Place::Tensor(name.to_owned())));
    }
}

#[test]
fn history_and_ratings_are_told() {
    let told = |bytes: &[u8]| {
        let model = Model::from_bytes(bytes).unwrap();
        (model.history(), model.takes_ratings(), model.takes_opponent_ratings())
    };
    assert_eq!(told(MAIA3_PT), (7, true, true));
    assert_eq!(told(&unpacked(fixture!("maia3-12.onnx.gz"))), (0, true, true));
    assert_eq!(told(MAIA2_PT), (0, true, true));
    let other = |name: &str| match name {
        "humchess" => told(include_bytes!("../../../fixtures/models/statedict/humchess-74.pt")),
        "lc0" => told(include_bytes!("../../../fixtures/models/lc0-plain-conv.pb.gz")),
        _ => told(include_bytes!("../../../fixtures/models/challenge-mlp.onnx")),
    };
    assert_eq!(
        ["humchess", "lc0", "challenge"].map(other),
        [(6, true, false), (7, false, false), (0, false, false)]
    );
}

#[test]
fn maia2_with_a_negative_variance_is_refused() {
    let mut shapes = expected(fixture!("maia2.json")).tensors;
    // The last tensor of the file is the one to change.
    let shape = shapes.remove("chess_cnn.bn1.running_var").unwrap();
    let mut bytes = drawn(&shapes);
    let header = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let mut names: serde_json::Map<String, serde_json::Value> =
        serde_json::from_slice(&bytes[8..8 + header]).unwrap();
    let data = bytes.split_off(8 + header);
    let end = data.len() + 4 * shape[0];
    names.insert(
        "chess_cnn.bn1.running_var".to_owned(),
        serde_json::json!({"dtype": "F32", "shape": shape, "data_offsets": [data.len(), end]}),
    );
    let header = serde_json::to_vec(&names).unwrap();
    let negative: Vec<u8> = (-1.0_f32).to_le_bytes().repeat(shape[0]);
    let bytes = [&(header.len() as u64).to_le_bytes(), &header[..], &data, &negative].concat();
    let error = Model::from_bytes(&bytes).unwrap_err();
    assert_eq!(error.kind(), LoadErrorKind::Malformed, "{error}");
    assert_eq!(error.place(), &Place::Tensor("chess_cnn.bn1.running_var".to_owned()));
}

#[test]
fn blocks_that_disagree_on_the_shared_table_are_refused() {
    let mut shapes = expected(fixture!("maia3-per-square.json")).tensors;
    shapes.retain(|name, _| !name.ends_with(".gab_weight"));
    Model::from_bytes(&drawn(&shapes)).unwrap();
    let shared = shapes["gab_shared_weight"].clone();
    let own = "transformer.layers.1.self_attn.gab_weight";
    let error = changed(&shapes, |shapes| drop(shapes.insert(own.to_owned(), shared)));
    assert_eq!(error.place(), &Place::Tensor(own.to_owned()), "{error}");
}

#[test]
fn truncated_checkpoints_are_refused() {
    for bytes in [MAIA3_PT, MAIA2_PT] {
        for kept in [100, bytes.len() / 2, bytes.len() - 1] {
            assert!(Model::from_bytes(&bytes[..kept]).is_err());
        }
    }
}

#[test]
fn older_names_of_the_attention_bias_are_read() {
    let expected = expected(fixture!("maia3-per-square.json"));
    let bytes = drawn(&expected.tensors);
    let header = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let names = String::from_utf8(bytes[8..8 + header].to_vec()).unwrap().replace("gab_", "smolgen_");
    let older = [&(names.len() as u64).to_le_bytes(), names.as_bytes(), &bytes[8 + header..]].concat();
    assert_agrees(&Model::from_bytes(&older).unwrap(), &expected);
}

/// A small network in the form of the published sizes, which the transformer runtime supports.
const SMALL: Maia3Config = Maia3Config {
    boards: 8,
    width: 64,
    heads: 2,
    layers: 2,
    inner: 128,
    rating: 24,
    head: 64,
    bias_square: 0,
    bias_hidden: 32,
    bias_width: 32,
    layer_norm: false,
};

/// Random weights; with or without biases of attention.
fn random(config: &Maia3Config, attention_biases: bool) -> Vec<u8> {
    let optional = |name: &str| name.ends_with("in_proj_bias") || name.ends_with("out_proj.bias");
    let table = config.table();
    let used = table.entries().iter().filter(|entry| attention_biases || !optional(&entry.name));
    drawn(&used.map(|entry| (entry.name.clone(), entry.shape.clone())).collect())
}

/// The evaluations of the first `count` positions.
fn evaluations(model: &Model, count: usize) -> Vec<Evaluation> {
    let rows = rows();
    let situations: Vec<_> = rows.iter().take(count).map(|row| row.situation()).collect();
    model.evaluate(&situations).expect("the network runs")
}

/// How far evaluations are from others.
#[derive(Debug, Default)]
struct Compared {
    /// The largest difference of probabilities.
    worst: f32,
    /// Positions with a clear first move, and those of them with the same first move.
    clear: usize,
    same: usize,
    /// The mean and the largest difference of the logarithms of probabilities.
    mean_log: f32,
    worst_log: f32,
}

/// A first move is clear if the second is less likely by this factor: in networks with random weights many moves are about
/// equally likely.
const CLEAR: f32 = 0.9;

fn compared(ours: &[Evaluation], exact: &[Evaluation]) -> Compared {
    let (mut found, mut moves) = (Compared::default(), 0.0);
    for (ours, exact) in ours.iter().zip(exact) {
        let [a, b] = [ours, exact].map(|of| of.wdl.expect("an outcome"));
        for (a, b) in [(a.win, b.win), (a.draw, b.draw), (a.loss, b.loss)] {
            found.worst = found.worst.max((a - b).abs());
        }
        let [a, b] = [ours, exact].map(|of| of.policy.as_ref().expect("a policy"));
        let best = |policy: &Policy| policy.best().map(|candidate| candidate.mv);
        if let [first, second, ..] = b.candidates()
            && second.probability < CLEAR * first.probability
        {
            found.clear += 1;
            found.same += usize::from(best(a) == best(b));
        }
        for candidate in b.candidates() {
            let (ours, exact) = (a.probability(candidate.mv), candidate.probability);
            found.worst = found.worst.max((ours - exact).abs());
            let difference = (ours.ln() - exact.ln()).abs();
            found.worst_log = found.worst_log.max(difference);
            found.mean_log += difference;
            moves += 1.0;
        }
    }
    found.mean_log /= moves;
    found
}

#[test]
fn maia3_on_the_transformer_runtime_agrees_with_its_graph() {
    for (config, attention_biases) in [
        (SMALL, false),
        (Maia3Config { bias_square: 16, bias_hidden: 48, ..SMALL }, false),
        (Maia3Config { layer_norm: true, boards: 1, width: 96, heads: 3, ..SMALL }, true),
    ] {
        let source = Source::read(&random(&config, attention_biases)).unwrap();
        let model = Model::new(source.clone(), None).unwrap();
        assert!(matches!(model.runtime(), Runtime::Transformer(_)), "{:?}", model.runtime());
        let graph = Model::from_bytes(&source.to_onnx(model.card()).unwrap()).unwrap();
        assert!(matches!(graph.runtime(), Runtime::General), "{:?}", graph.runtime());
        let found = compared(&evaluations(&model, 40), &evaluations(&graph, 40));
        assert!(found.worst <= 1e-4 && found.same == found.clear, "{config:?}: {found:?}");
    }
}

#[test]
fn maia3_in_8_bits_keeps_97_percent_of_clear_first_moves() {
    for config in [SMALL, Maia3Config { bias_square: 16, ..SMALL }] {
        let bytes = random(&config, false);
        let model = Model::from_bytes(&bytes).unwrap();
        let rounded = Source::state_dict_as(&bytes, model.card(), None, WeightPrecision::Int8).unwrap();
        assert!(rounded.len() < bytes.len() * 3 / 10, "{} of {}", rounded.len(), bytes.len());
        let rounded = Model::from_bytes(&rounded).unwrap();
        assert!(matches!(rounded.runtime(), Runtime::Transformer(_)), "{:?}", rounded.runtime());
        // Unoptimised WASM is slow.
        let (positions, clear) = if cfg!(target_family = "wasm") { (25, 8) } else { (200, 80) };
        let found = compared(&evaluations(&rounded, positions), &evaluations(&model, positions));
        assert!(found.clear >= clear, "{config:?}: {found:?}");
        assert!(found.same as f32 >= 0.97 * found.clear as f32, "{config:?}: {found:?}");
        assert!(found.mean_log <= 0.03 && found.worst_log <= 0.2, "{config:?}: {found:?}");
    }
}

#[test]
fn maia3_gives_the_same_answers_on_every_kernel_level() {
    let config = Maia3Config { bias_square: 16, layers: 1, ..SMALL };
    let floats = random(&config, true);
    let card = Model::from_bytes(&floats).unwrap().card().clone();
    let rounded = Source::state_dict_as(&floats, &card, None, WeightPrecision::Int8).unwrap();
    let rows = rows();
    let situations: Vec<_> = rows.iter().take(8).map(|row| row.situation()).collect();
    for bytes in [floats, rounded] {
        let at = |level| {
            let model = Model::at_level(Source::read(&bytes).unwrap(), None, level).unwrap();
            model.evaluate(&situations).unwrap()
        };
        let answers: Vec<_> = Level::available().map(at).collect();
        for (answer, level) in answers.iter().zip(Level::available()) {
            assert_eq!(answer, &answers[0], "{level}");
        }
    }
}
