//! The human network matches torch (tools/human_fixtures.py), from every file format.

#[path = "../../encoding/tests/cases/mod.rs"]
mod cases;

use std::collections::BTreeMap;

use half::bf16;
use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use serde::Deserialize;
use tabia_encoding::{Batch, Column, OwnedSituation, TIME_BINS, encoding, parse_uci};
use tabia_model::{Evaluation, Format, LoadError, Model, Place, Runtime, Source, ThinkTimeHead};
use tabia_runtime::transformer::Level;
use tabia_runtime::{InputData, InputTensor, Session};

use cases::Case;

const FILE: &[u8] = include_bytes!("../../../fixtures/models/human.safetensors");
/// The bundled network, in 8 bits.
const SHIPPED: &[u8] = include_bytes!("../../../models/human.safetensors");
const EXPECTED: &str = include_str!("../../../fixtures/models/human.json");
const TOLERANCE: f32 = 1e-4;

#[derive(Deserialize)]
struct Expected {
    places: Vec<usize>,
    situations: Vec<Answer>,
}

#[derive(Deserialize)]
struct Answer {
    case: Case,
    moves: BTreeMap<String, f32>,
    wdl: [f32; 3],
    think_time: [f32; TIME_BINS],
    promotion_logits: Vec<f32>,
    move_logits: Vec<f32>,
}

fn expected() -> Expected {
    serde_json::from_str(EXPECTED).expect("the fixture parses")
}

fn situations() -> Vec<OwnedSituation> {
    expected().situations.iter().map(|answer| answer.case.situation()).collect()
}

fn answers(model: &Model) -> Vec<Evaluation> {
    let owned = situations();
    let situations: Vec<_> = owned.iter().map(OwnedSituation::get).collect();
    model.evaluate(&situations).expect("the network runs")
}

#[track_caller]
fn assert_near(ours: &[f32], torchs: &[f32], place: &str) {
    assert_eq!(ours.len(), torchs.len(), "{place}");
    for (i, (a, b)) in ours.iter().zip(torchs).enumerate() {
        assert!((a - b).abs() <= TOLERANCE, "{place}, {i}: {a}, not {b}");
    }
}

#[test]
fn heads_match_torch() {
    let expected = expected().situations;
    let evaluations = answers(&Model::from_bytes(FILE).unwrap());
    assert!(expected.len() >= 20 && evaluations.len() == expected.len());
    for (Answer { case, moves, wdl, think_time, .. }, evaluation) in expected.iter().zip(&evaluations) {
        let situation = case.situation();
        let policy = evaluation.policy.as_ref().unwrap();
        assert_eq!(policy.candidates().len(), moves.len(), "{}", case.name);
        for (uci, chance) in moves {
            let ours = policy.probability(parse_uci(situation.get().position, uci).unwrap());
            assert!((ours - chance).abs() <= TOLERANCE, "{}, {uci}: {ours}, not {chance}", case.name);
        }
        let ours = evaluation.wdl.unwrap();
        assert_near(&[ours.win, ours.draw, ours.loss], wdl, &case.name);
        assert_near(&evaluation.think_time.unwrap(), think_time, &case.name);
        assert_eq!(evaluation.score, None);
    }
}

#[test]
fn logits_match_torch() {
    let Expected { places, situations } = expected();
    let mut batch = Batch::new(encoding("tabia-human-1").unwrap());
    self::situations().iter().for_each(|situation| batch.push(&situation.get()));
    let session = Session::new(Source::read(FILE).unwrap().into_graph().unwrap()).unwrap();
    let names: Vec<_> = session.info().outputs.iter().map(|output| output.name.as_str()).collect();
    assert_eq!(names, ["move_logits", "promotion_logits", "wdl", "think_time"]);
    let shapes = [vec![batch.rows(), 64, 32], vec![batch.rows(), 80]];
    let columns = batch.columns().iter().zip(&shapes);
    let inputs: Vec<_> = columns
        .map(|(column, shape)| match column {
            Column::Values(values) => InputTensor { shape, data: InputData::Values(values) },
            Column::Ids(_) => panic!("no input holds ids"),
        })
        .collect();
    let outputs = session.run(&inputs).unwrap();
    for (row, answer) in situations.iter().enumerate() {
        let moves = &outputs[0].values[row * 4096..][..4096];
        let moves: Vec<f32> = places.iter().map(|&place| moves[place]).collect();
        assert_near(&moves, &answer.move_logits, &answer.case.name);
        assert_near(&outputs[1].values[row * 32..][..32], &answer.promotion_logits, &answer.case.name);
    }
}

/// The file with tensors left out and the others written by `element`.
fn rewritten(dtype: Dtype, element: impl Fn(half::f16) -> Vec<u8>, without: &[&str]) -> Vec<u8> {
    let file = SafeTensors::deserialize(FILE).expect("the fixture reads");
    let tensors: Vec<_> = file
        .iter()
        .filter(|(name, _)| !without.iter().any(|gone| name.starts_with(gone)))
        .map(|(name, view)| {
            let (elements, _) = view.data().as_chunks::<2>();
            let data: Vec<u8> = elements.iter().flat_map(|b| element(half::f16::from_le_bytes(*b))).collect();
            (name, view.shape().to_vec(), data)
        })
        .collect();
    let views = tensors.iter().map(|(name, shape, data)| {
        (*name, TensorView::new(dtype, shape.clone(), data).expect("as many elements"))
    });
    safetensors::serialize(views, None).expect("named tensors")
}

fn without(gone: &[&str]) -> Result<Model, LoadError> {
    Model::from_bytes(&rewritten(Dtype::F16, |x| x.to_le_bytes().to_vec(), gone))
}

#[test]
fn float_storage_does_not_change_answers() {
    let as_it_is = answers(&Model::from_bytes(FILE).unwrap());
    let brain = rewritten(Dtype::BF16, |x| bf16::from_f32(x.to_f32()).to_le_bytes().to_vec(), &[]);
    let full = rewritten(Dtype::F32, |x| x.to_f32().to_le_bytes().to_vec(), &[]);
    for bytes in [brain, full] {
        assert_eq!(answers(&Model::from_bytes(&bytes).unwrap()), as_it_is);
    }
}

#[test]
fn converts_to_onnx_with_the_same_card_and_answers() {
    let model = Model::from_bytes(FILE).unwrap();
    let card = model.card();
    assert_eq!(card.encoding, "tabia-human-1");
    let policy = card.policy.as_ref().unwrap();
    assert_eq!(policy.vocabulary, "from-to-4096-mirrored");
    assert_eq!(policy.promotion_output.as_deref(), Some("promotion_logits"));
    assert_eq!(card.think_time, Some(ThinkTimeHead { output: "think_time".to_owned() }));
    assert_eq!(
        card.architecture.as_deref(),
        Some(
            "human transformer: 2 layers, width 32, 2 heads, inner width 48, moves by square pairs of width 24, \
             win/draw/loss, thinking time"
        )
    );
    let converted = Model::from_bytes(&Source::read(FILE).unwrap().to_onnx(card).unwrap()).unwrap();
    assert_eq!(converted.format(), Format::Onnx);
    assert_eq!(converted.card(), card);
    assert_eq!(converted.graph(), model.graph());
    assert_eq!(converted.runtime(), Runtime::General);
    assert!(matches!(model.runtime(), Runtime::Transformer(_)));
    for (a, b) in answers(&converted).iter().zip(&answers(&model)) {
        assert!(distance(a, b) <= TOLERANCE, "{a:?} {b:?}");
    }
}

/// The largest difference between two chances.
fn distance(a: &Evaluation, b: &Evaluation) -> f32 {
    let there = "a network with all heads";
    let (a_moves, b_moves) = (a.policy.as_ref().expect(there), b.policy.as_ref().expect(there));
    let moves = a_moves.candidates().iter().map(|c| c.probability - b_moves.probability(c.mv));
    let (a_wdl, b_wdl) = (a.wdl.expect(there), b.wdl.expect(there));
    let wdl = [a_wdl.win - b_wdl.win, a_wdl.draw - b_wdl.draw, a_wdl.loss - b_wdl.loss];
    let (a_time, b_time) = (a.think_time.expect(there), b.think_time.expect(there));
    let time = a_time.into_iter().zip(b_time).map(|(a, b)| a - b);
    moves.chain(wdl).chain(time).map(f32::abs).fold(0.0, f32::max)
}

#[test]
fn int8_network_is_close_to_its_graph() {
    let model = Model::from_bytes(SHIPPED).unwrap();
    let graph = Model::from_bytes(&Source::read(SHIPPED).unwrap().to_onnx(model.card()).unwrap()).unwrap();
    assert_eq!((graph.runtime(), graph.graph()), (Runtime::General, model.graph()));
    let choice = |evaluation: &Evaluation| evaluation.policy.as_ref().unwrap().best().map(|c| c.mv);
    let (ours, exact) = (answers(&model), answers(&graph));
    let others = ours.iter().zip(&exact).filter(|(a, b)| choice(a) != choice(b)).count();
    assert!(others <= 1, "{others} of {} first choices are others", ours.len());
    for (a, b) in ours.iter().zip(&exact) {
        assert!(distance(a, b) <= 0.05, "{} {a:?} {b:?}", distance(a, b));
    }
}

#[test]
fn kernel_levels_give_the_same_answers() {
    let owned = situations();
    let situations: Vec<_> = owned.iter().take(2).map(OwnedSituation::get).collect();
    for bytes in [FILE, SHIPPED] {
        let answers: Vec<_> = Level::available()
            .map(|level| {
                let source = Source::read(bytes).unwrap();
                Model::at_level(source, None, level).unwrap().evaluate(&situations).unwrap()
            })
            .collect();
        for (answer, level) in answers.iter().zip(Level::available()) {
            assert_eq!(answer, &answers[0], "{level}");
        }
    }
}

#[test]
fn batches_match_single_positions() {
    let model = Model::from_bytes(FILE).unwrap();
    let together = answers(&model);
    for (situation, answer) in situations().iter().zip(&together) {
        assert_eq!(&model.evaluate(&[situation.get()]).unwrap()[0], answer);
    }
}

#[test]
fn game_heads_are_optional() {
    let whole = answers(&Model::from_bytes(FILE).unwrap());
    let cases: [(&[&str], bool, bool); 3] = [
        (&["wdl_head"], false, true),
        (&["time_head"], true, false),
        (&["wdl_head", "time_head", "value_hidden"], false, false),
    ];
    for (gone, wdl, think_time) in cases {
        let model = without(gone).unwrap();
        for (part, whole) in answers(&model).iter().zip(&whole) {
            assert_eq!(part.policy, whole.policy);
            assert_eq!(part.wdl, whole.wdl.filter(|_| wdl));
            assert_eq!(part.think_time, whole.think_time.filter(|_| think_time));
        }
    }
}

#[test]
fn missing_tensors_are_named() {
    let needed = [
        "position.weight",
        "game.weight",
        "blocks.1.attn.bias",
        "blocks.1.attn.k_norm.weight",
        "blocks.0.ffn.w3.weight",
        "norm_final.weight",
        "from_head.weight",
        "to_head.weight",
        "promotion_head.weight",
        "value_hidden.weight",
    ];
    for name in needed {
        let error = without(&[name]).unwrap_err();
        assert_eq!(error.place(), &Place::Tensor(name.to_owned()), "{error}");
    }
    // A layer without its head would go unused, and half a block would be another network.
    let error = without(&["wdl_head", "time_head"]).unwrap_err();
    assert!(error.to_string().contains("value_hidden"), "{error}");
    let error = without(&["blocks.1.norm1"]).unwrap_err();
    assert!(error.to_string().contains("blocks.1."), "{error}");
}
