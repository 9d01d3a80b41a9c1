//! An action-value network of DeepMind's searchless chess plays as in its own engine (tools/searchless_fixtures.py).

mod played;

use played::{Row, UNITS, rows, unpacked};
use serde::Deserialize;
use shakmaty::Chess;
use tabia_encoding::parse_uci;
use tabia_model::{LoadErrorKind, Model};

const TOLERANCE: f32 = 1e-4;
const REPETITION: [&str; 9] = ["g1f3", "g8f6", "f3g1", "f6g8", "g1f3", "g8f6", "f3g1", "f6g8", "b1c3"];

#[derive(Deserialize)]
struct Expected {
    values: Vec<Vec<i32>>,
    best: Vec<String>,
}

fn network() -> Vec<u8> {
    unpacked(include_bytes!("../../../fixtures/models/searchless.onnx.gz"))
}

#[test]
fn searchless_network_agrees_with_the_original_engine() {
    let model = Model::from_bytes(&network()).unwrap();
    assert_eq!(model.card().encoding, "searchless-79");
    assert!(model.card().policy.as_ref().unwrap().action_values);
    assert!(!model.takes_ratings());
    let expected: Expected =
        serde_json::from_str(include_str!("../../../fixtures/models/searchless.json")).unwrap();
    let mut rows = rows();
    rows.extend([7, 8, 9].map(|plies| Row::after(Chess::default(), &REPETITION[..plies])));
    assert_eq!(rows.len(), expected.values.len());
    let situations: Vec<_> = rows.iter().map(Row::situation).collect();
    let evaluations = model.evaluate(&situations).unwrap();
    for ((row, evaluation), (values, best)) in
        rows.iter().zip(&evaluations).zip(expected.values.iter().zip(&expected.best))
    {
        let policy = evaluation.policy.as_ref().unwrap();
        assert_eq!(policy.best().unwrap().mv, parse_uci(&row.position, best).unwrap());
        // The policy is a softmax of the values at a temperature of 0.005, the score their maximum.
        let top = 1.0 / (1.0 + (-0.003_682_08 * evaluation.score.unwrap().0).exp());
        let likeliest = policy.best().unwrap().probability;
        for (m, &units) in row.spelled().into_iter().zip(values) {
            let value = top + 0.005 * (policy.probability(m) / likeliest).ln();
            assert!((value - units as f32 * UNITS).abs() <= TOLERANCE, "{m}: {value}, {units}");
        }
    }
}

#[test]
fn finished_games_have_no_moves_to_value() {
    let model = Model::from_bytes(&network()).unwrap();
    let mated = Row::after(Chess::default(), &["f2f3", "e7e5", "g2g4", "d8h4"]);
    let evaluation = model.evaluate(&[mated.situation()]).unwrap().remove(0);
    assert!(evaluation.policy.unwrap().candidates().is_empty());
    assert!(evaluation.score.is_none());
}

#[test]
fn truncated_file_is_refused() {
    let bytes = network();
    for kept in [10, bytes.len() / 2, bytes.len() - 1] {
        let error = Model::from_bytes(&bytes[..kept]).unwrap_err();
        assert!(matches!(error.kind(), LoadErrorKind::Malformed | LoadErrorKind::Unsupported), "{error}");
    }
}
