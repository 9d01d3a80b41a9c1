//! Every encoding and vocabulary against numbers computed by tools/encoding_goldens.py, which shares no code with
//! this crate.

mod cases;

use std::{collections::BTreeMap, num::NonZeroI32};

use cases::Case;
use serde::Deserialize;
use shakmaty::{Color, Position};
use tabia_encoding::{
    Analysis, Batch, Column, ForWhite, OwnedSituation, PolicyIndex, PolicySlot, Score, TEMPERATURE_CP,
    encodings, parse_uci, soft_labels, vocabularies,
};

/// The golden file of each id.
macro_rules! goldens {
    ($($id:literal),* $(,)?) => {
        [$(($id, include_str!(concat!("../../../fixtures/encoding/", $id, ".json")))),*]
    };
}

const INPUTS: [(&str, &str); 20] = goldens![
    "humchess-68",
    "humchess-74",
    "rusty-774",
    "rusty-902",
    "rusty-planes-15",
    "pair-769",
    "challenge-768",
    "challenge-1540",
    "policy-837",
    "policy-planes-13",
    "policy-planes-17",
    "policy-planes-18",
    "lc0-112",
    "lc0-112-castling",
    "tabia-human-1",
    "tabia-human-2",
    "maia3-96",
    "maia3-12",
    "maia2-18",
    "searchless-79",
];

const MOVES: [(&str, &str); 8] = goldens![
    "from-to-4096",
    "from-to-4096-mirrored",
    "canonical-1968",
    "canonical-1968-mover",
    "lc0-1858",
    "maia3-4352",
    "maia2-1880",
    "searchless-1968"
];

const CASES: &str = include_str!("../../../fixtures/encoding/cases.json");
const LABELS: &str = include_str!("../../../fixtures/encoding/labels.json");

/// One input tensor: ids, or for each value the indices that hold it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Golden {
    Ids(Vec<i32>),
    Values(BTreeMap<String, Vec<Indices>>),
}

/// An index, or the first and the last of a run.
#[derive(Clone, Copy, Deserialize)]
#[serde(untagged)]
enum Indices {
    One(usize),
    Run(usize, usize),
}

fn cases() -> Vec<(String, OwnedSituation)> {
    let cases: Vec<Case> = serde_json::from_str(CASES).expect("the file of cases");
    cases.iter().map(|case| (case.name.clone(), case.situation())).collect()
}

#[test]
fn every_id_has_a_golden_file() {
    assert!(encodings().map(|e| e.id().0).eq(INPUTS.map(|golden| golden.0)));
    assert!(vocabularies().map(|v| v.id().0).eq(MOVES.map(|golden| golden.0)));
}

#[test]
fn inputs() {
    let cases = cases();
    assert!(cases.len() > 30);
    for (id, text) in INPUTS {
        let encoding = tabia_encoding::encoding(id).unwrap();
        let goldens: Vec<Vec<Golden>> = serde_json::from_str(text).unwrap();
        assert_eq!(goldens.len(), cases.len(), "{id}");
        // One batch for all, so that rows that spill into others show as well.
        let mut batch = Batch::new(encoding);
        cases.iter().for_each(|case| batch.push(&case.1.get()));
        for (row, (case, golden)) in cases.iter().zip(&goldens).enumerate() {
            assert_eq!(golden.len(), encoding.inputs().len(), "{id}");
            for ((spec, column), golden) in encoding.inputs().iter().zip(batch.columns()).zip(golden) {
                let range = row * spec.len()..(row + 1) * spec.len();
                let place = format!("{id}, input {}, {}", spec.name, case.0);
                match (column, golden) {
                    (Column::Ids(ids), Golden::Ids(golden)) => assert_eq!(&ids[range], golden, "{place}"),
                    (Column::Values(values), Golden::Values(golden)) => {
                        let mut expected = vec![0.0; spec.len()];
                        for (value, indices) in golden {
                            let value: f32 = value.parse().unwrap();
                            for &indices in indices {
                                let (first, last) = match indices {
                                    Indices::One(index) => (index, index),
                                    Indices::Run(first, last) => (first, last),
                                };
                                expected[first..=last].fill(value);
                            }
                        }
                        let wrong = values[range].iter().zip(&expected).position(|(a, b)| a != b);
                        assert_eq!(wrong, None, "first wrong element of {place}");
                    }
                    _ => panic!("{place}: ids and values do not compare"),
                }
            }
        }
    }
}

#[test]
fn moves() {
    let cases = cases();
    for (id, text) in MOVES {
        let vocabulary = tabia_encoding::vocabulary(id).unwrap();
        let goldens: Vec<BTreeMap<String, (u16, Option<u8>)>> = serde_json::from_str(text).unwrap();
        assert_eq!(goldens.len(), cases.len(), "{id}");
        for ((name, situation), golden) in cases.iter().zip(&goldens) {
            let position = situation.get().position;
            assert_eq!(position.legal_moves().len(), golden.len(), "{name}");
            for (uci, &(index, promotion)) in golden {
                let m = parse_uci(position, uci).unwrap();
                let slot = PolicySlot { index: PolicyIndex(index), promotion };
                assert_eq!(vocabulary.slot(position.turn(), m), slot, "{id}, {name}, {uci}");
                assert_eq!(vocabulary.find(position, slot), Some(m), "{id}, {name}, {uci}");
            }
        }
    }
}

#[derive(Deserialize)]
struct Labelled {
    turn: char,
    lines: Vec<(String, u32, i32, bool)>,
    labels: BTreeMap<String, f32>,
}

#[test]
fn labels() {
    let goldens: Vec<Labelled> = serde_json::from_str(LABELS).unwrap();
    for Labelled { turn, lines, labels } in &goldens {
        let analysis = |(mv, depth, value, is_mate): &'_ (String, u32, i32, bool)| {
            let score = if *is_mate {
                Score::Mate(NonZeroI32::new(*value).unwrap())
            } else {
                Score::Centipawns(*value)
            };
            Analysis {
                mv: lines.iter().position(|line| line.0 == *mv).unwrap(),
                depth: *depth,
                score: ForWhite(score),
            }
        };
        let analyses: Vec<_> = lines.iter().map(analysis).collect();
        let have = soft_labels(&analyses, Color::from_char(*turn).unwrap(), TEMPERATURE_CP);
        assert_eq!(have.len(), labels.len());
        for (line, probability) in have {
            let want = labels[&lines[line].0];
            assert!((probability - want).abs() <= 1e-6, "{} {probability} {want}", lines[line].0);
        }
    }
}
