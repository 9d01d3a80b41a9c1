//! Attention networks agree with lc0 itself on 200 positions with history (tools/lc0_attention_fixtures.py).

mod played;

use played::{UNITS, rows, unpacked};
use serde::Deserialize;
use shakmaty::Position;
use tabia_encoding::{Batch, Situation};
use tabia_model::{Format, Model, Source};
use tabia_runtime::{InputData, InputTensor, Session};

const TOLERANCE: f32 = 1e-4;

macro_rules! fixture {
    ($name:literal) => {
        include_bytes!(concat!("../../../fixtures/models/lc0/", $name)).as_slice()
    };
}

/// What lc0 said.
#[derive(Deserialize)]
struct Expected {
    policy: Vec<Vec<i32>>,
    outcome: Vec<Vec<i32>>,
    #[serde(default)]
    moves_left: Vec<i32>,
}

fn expected(json: &[u8]) -> Expected {
    serde_json::from_slice(&unpacked(json)).expect("the fixture parses")
}

/// Compares policy and outcome of every position.
#[track_caller]
fn assert_agrees(model: &Model, expected: &Expected) {
    let rows = rows();
    let situations: Vec<_> = rows.iter().map(played::Row::situation).collect();
    assert_eq!((situations.len(), expected.policy.len()), (200, 200));
    let evaluations = model.evaluate(&situations).expect("the network runs");
    let mut worst = [0.0_f32; 2];
    for (i, (row, evaluation)) in rows.iter().zip(&evaluations).enumerate() {
        let policy = evaluation.policy.as_ref().expect("a policy");
        let moves = row.spelled();
        assert_eq!(moves.len(), expected.policy[i].len());
        for (m, &units) in moves.into_iter().zip(&expected.policy[i]) {
            worst[0] = worst[0].max((policy.probability(m) - units as f32 * UNITS).abs());
        }
        let turn = row.position.turn();
        let outcome = match evaluation.wdl {
            Some(wdl) => vec![wdl.win, wdl.draw, wdl.loss],
            None => {
                let head = model.card().value.as_ref().expect("a value head");
                vec![head.number(evaluation.score.expect("a score"), turn, turn)]
            }
        };
        assert_eq!(outcome.len(), expected.outcome[i].len());
        for (number, &units) in outcome.into_iter().zip(&expected.outcome[i]) {
            worst[1] = worst[1].max((number - units as f32 * UNITS).abs());
        }
    }
    assert!(worst.iter().all(|&difference| difference <= TOLERANCE), "{worst:?}");
}

/// The moves left are an output of the graph only.
#[track_caller]
fn assert_moves_left_agree(bytes: &[u8], expected: &Expected) {
    let model = Model::from_bytes(bytes).expect("it opens");
    let rows = rows();
    let situations: Vec<Situation<'_>> = rows.iter().map(played::Row::situation).collect();
    let mut batch = Batch::new(model.encoding());
    situations.iter().for_each(|situation| batch.push(situation));
    let shape = [situations.len(), 112, 8, 8];
    let input = InputTensor { shape: &shape, data: InputData::Values(batch.values(0)) };
    let graph = Source::read(bytes).and_then(Source::into_graph).expect("it opens");
    let outputs = Session::new(graph).expect("it loads").run(&[input]).expect("it runs");
    let plies = &outputs.iter().find(|output| output.name == "moves_left").expect("a head").values;
    assert_eq!(plies.len(), expected.moves_left.len());
    let differences = plies.iter().zip(&expected.moves_left).map(|(a, &b)| (a - b as f32 / 1000.0).abs());
    // The fixture has three decimals.
    let worst = differences.fold(0.0, f32::max);
    assert!(worst <= 6e-4, "{worst}");
}

#[test]
fn dense_embedding_smolgen_several_heads_and_float_layers_agree_with_lc0() {
    let model = Model::from_bytes(fixture!("bt.pb.gz")).unwrap();
    assert_eq!(model.format(), Format::Lc0);
    assert_eq!(model.card().encoding, "lc0-112");
    assert_eq!(
        model.card().architecture.as_deref(),
        Some(
            "Leela attention body, 2 layers of 3 heads, dense embedding, smolgen, attention policy, WDL value, \
             moves left, for lc0 0.33.0 or later"
        )
    );
    assert!(model.card().wdl.is_some() && model.card().value.is_none());
    let expected = expected(fixture!("bt.json.gz"));
    assert_agrees(&model, &expected);
    assert_moves_left_agree(fixture!("bt.pb.gz"), &expected);
}

#[test]
fn early_map_embedding_gates_and_smolgen_agree_with_lc0() {
    let expected = expected(fixture!("t1.json.gz"));
    assert_agrees(&Model::from_bytes(fixture!("t1.pb.gz")).unwrap(), &expected);
    assert_moves_left_agree(fixture!("t1.pb.gz"), &expected);
}

#[test]
fn castling_planes_policy_encoder_and_one_value_agree_with_lc0() {
    let model = Model::from_bytes(fixture!("plain.pb.gz")).unwrap();
    assert_eq!(model.card().encoding, "lc0-112-castling");
    assert!(model.card().wdl.is_none() && model.card().value.is_some());
    assert_agrees(&model, &expected(fixture!("plain.json.gz")));
}

#[test]
fn residual_tower_with_an_attention_policy_agrees_with_lc0() {
    let model = Model::from_bytes(fixture!("se.pb.gz")).unwrap();
    let architecture = model.card().architecture.clone().unwrap();
    assert!(architecture.starts_with("Leela residual tower, attention policy, WDL value"), "{architecture}");
    assert_agrees(&model, &expected(fixture!("se.json.gz")));
}

#[test]
fn converted_networks_agree_with_lc0() {
    for (file, json) in
        [(fixture!("bt.pb.gz"), fixture!("bt.json.gz")), (fixture!("plain.pb.gz"), fixture!("plain.json.gz"))]
    {
        let source = Source::read(file).unwrap();
        let card = Model::new(source.clone(), None).unwrap().card().clone();
        let converted = Model::from_bytes(&source.to_onnx(&card).unwrap()).unwrap();
        assert_eq!(converted.card().encoding, card.encoding);
        assert_agrees(&converted, &expected(json));
    }
}
