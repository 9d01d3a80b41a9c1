//! Evaluations of 200 positions match those of the original runtimes (tools/position_fixtures.py, with its own encoders).

use std::time::Duration;

use serde::Deserialize;
use shakmaty::{CastlingMode, Chess, Move, Position, fen::Fen};
use tabia_encoding::{Batch, Column, Elo, PlayerInfo, Situation, parse_uci};
use tabia_model::{
    Evaluation, Format, Model, ModelCard, OutcomeOrder, Perspective, Policy, PolicyHead, Runtime, Side,
    Source, Unit, ValueHead, WdlHead, WdlScale,
};
use tabia_runtime::accumulator::AccumulatorState;
use tabia_runtime::{InputData, InputTensor, Int8Kernel, Session};

const TOLERANCE: f32 = 1e-4;
const POSITIONS: &str = include_str!("../../../fixtures/positions.fen");
const EXPECTED: &str = include_str!("../../../fixtures/models/positions.json");
const COMPARE: &str = r#"{"value": {"perspective": "comparison"}}"#;

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_bytes!(concat!("../../../fixtures/models/", $name)).as_slice())),*]
    };
}

const FILES: [(&str, &[u8]); 15] = files![
    "challenge-mlp.onnx",
    "matmul-mlp.onnx",
    "conv-net.onnx",
    "humchess-transformer.onnx",
    "quantised-transformer.onnx",
    "statedict/rusty-774.safetensors",
    "statedict/humchess-68.safetensors",
    "statedict/humchess-74.pt",
    "statedict/policy-mlp.pt",
    "statedict/cnn-reduce.pt",
    "tflite_pair.tflite",
    "tflite_pair_f16.tflite",
    "tflite_single.tflite",
    "lc0-se-classical.pb.gz",
    "lc0-plain-conv.pb.gz",
];

/// The file that tools/position_fixtures.py writes; it says what the fields are.
#[derive(Deserialize)]
struct Expected {
    contexts: Vec<Option<usize>>,
    played: Vec<Vec<String>>,
    networks: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    file: String,
    #[serde(default)]
    ask: Ask,
    score: Option<Vec<f32>>,
    wdl: Option<Vec<[f32; 3]>>,
    policy: Option<Vec<Vec<(String, f32)>>>,
}

/// What the network is asked about in each row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Ask {
    /// The position alone.
    #[default]
    Position,
    /// The position against another one.
    Compare,
    /// The position some moves later.
    Played,
}

/// Everything the situations of one [`Ask`] borrow.
struct Row {
    position: Chess,
    earlier: Vec<Chess>,
    last_moves: Vec<Move>,
    mover: PlayerInfo,
    context: Option<Chess>,
}

impl Row {
    fn situation(&self) -> Situation<'_> {
        Situation {
            earlier: &self.earlier,
            last_moves: &self.last_moves,
            mover: self.mover,
            context: self.context.as_ref(),
            ..Situation::of(&self.position)
        }
    }
}

fn expected() -> Expected {
    serde_json::from_str(EXPECTED).expect("the fixture parses")
}

fn rows(expected: &Expected, ask: Ask) -> Vec<Row> {
    let parse = |line: &str| -> Chess {
        let fen: Fen = line.parse().expect("a FEN");
        fen.into_position(CastlingMode::Standard).expect("a legal position")
    };
    let starts: Vec<Chess> = POSITIONS.lines().map(parse).collect();
    assert_eq!((starts.len(), expected.contexts.len(), expected.played.len()), (200, 200, 200));
    let row = |(row, start): (usize, &Chess)| {
        let mut played = Row {
            position: start.clone(),
            earlier: Vec::new(),
            last_moves: Vec::new(),
            mover: if row % 2 == 0 {
                PlayerInfo { rating: Some(Elo(1500)), time_left: None }
            } else {
                PlayerInfo { rating: Some(Elo(2200)), time_left: Some(Duration::from_secs(45)) }
            },
            context: expected.contexts[row].map(|other| starts[other].clone()),
        };
        for uci in expected.played[row].iter().filter(|_| ask == Ask::Played) {
            let m = parse_uci(&played.position, uci).expect("a legal move");
            played.earlier.insert(0, played.position.clone());
            played.last_moves.insert(0, m);
            played.position.play_unchecked(m);
        }
        played
    };
    starts.iter().enumerate().map(row).collect()
}

fn bytes(file: &str) -> &'static [u8] {
    FILES.iter().find(|(name, _)| *name == file).unwrap_or_else(|| panic!("{file} is not embedded")).1
}

fn open(file: &str, ask: Ask) -> Model {
    let opened = match ask {
        Ask::Position | Ask::Played => Model::from_bytes(bytes(file)),
        Ask::Compare => Source::read(bytes(file)).and_then(|source| Model::new(source, Some(COMPARE))),
    };
    opened.unwrap_or_else(|e| panic!("{file}: {e}"))
}

/// The number the network gave for a score in centipawns: the tolerance is on this.
fn raw(head: &ValueHead, centipawns: f32) -> f32 {
    let sides = if head.perspective == Perspective::Comparison { 2.0 } else { 1.0 };
    match head.unit {
        Unit::Centipawns(scale) | Unit::Probability(scale) => centipawns / scale / sides,
        Unit::Expectation => (centipawns / 90.0).atan() / 1.563_754_2,
    }
}

fn close(given: f32, wanted: f32) -> bool {
    (given - wanted).abs() <= TOLERANCE
}

fn compare(model: &Model, entry: &Entry, row: usize, position: &Chess, given: &Evaluation) {
    let at = format!("{} ({:?}) row {row}", entry.file, entry.ask);
    assert_eq!(
        [given.score.is_some(), given.wdl.is_some(), given.policy.is_some()],
        [entry.score.is_some(), entry.wdl.is_some(), entry.policy.is_some()],
        "{at}: score, wdl, policy"
    );
    if let (Some(given), Some(wanted)) = (given.score, &entry.score) {
        let head = model.card().value.as_ref().expect("a score has a head");
        let given = given.for_white(position.turn()).0;
        assert!(close(raw(head, given), raw(head, wanted[row])), "{at}: {given} {}", wanted[row]);
    }
    if let (Some(given), Some(wanted)) = (given.wdl, &entry.wdl) {
        let given = [given.win, given.draw, given.loss];
        assert!(
            given.iter().zip(wanted[row]).all(|(g, w)| close(*g, w)),
            "{at}: {given:?} {:?}",
            wanted[row]
        );
    }
    if let (Some(given), Some(wanted)) = (&given.policy, &entry.policy) {
        let candidates = given.candidates();
        assert_eq!(candidates.len(), position.legal_moves().len(), "{at}");
        assert!(close(candidates.iter().map(|c| c.probability).sum(), 1.0), "{at}: adds up to one");
        assert_eq!(wanted[row].len(), candidates.len().min(3), "{at}");
        for ((uci, wanted), candidate) in wanted[row].iter().zip(candidates) {
            let given = given.probability(parse_uci(position, uci).expect("a legal move"));
            assert!(close(given, *wanted), "{at} {uci}: {given} {wanted}");
            // Moves as likely as each other may change places, so only the probability has to be in order.
            assert!(close(candidate.probability, *wanted), "{at} {uci}: {candidate:?} is likelier");
        }
    }
}

/// Every way of asking networks of `format`.
fn agree(format: Format) {
    let expected = expected();
    let mut asked = 0;
    for entry in &expected.networks {
        let model = open(&entry.file, entry.ask);
        if model.format() != format {
            continue;
        }
        let rows = rows(&expected, entry.ask);
        let situations: Vec<_> = rows.iter().map(Row::situation).collect();
        let evaluations = model.evaluate(&situations).expect("the network runs");
        assert_eq!(evaluations.len(), rows.len());
        for (at, (row, given)) in rows.iter().zip(&evaluations).enumerate() {
            compare(&model, entry, at, &row.position, given);
        }
        asked += 1;
    }
    assert!(asked > 0, "no {format} network");
}

#[test]
fn onnx_networks_match_onnxruntime() {
    agree(Format::Onnx);
}

#[test]
fn safetensors_networks_match_torch() {
    agree(Format::Safetensors);
}

#[test]
fn pytorch_networks_match_torch() {
    agree(Format::Torch);
}

#[test]
fn tflite_networks_match_the_interpreter() {
    agree(Format::Tflite);
}

#[test]
fn lc0_networks_match_the_reference() {
    agree(Format::Lc0);
}

/// What a file should be recognised as.
fn recognised(file: &str) -> (ModelCard, Runtime) {
    let policy = |output: &str, vocabulary: &str, promotion: Option<&str>| {
        Some(PolicyHead {
            output: output.to_owned(),
            vocabulary: vocabulary.to_owned(),
            promotion_output: promotion.map(str::to_owned),
            action_values: false,
        })
    };
    let human = || policy("move_logits", "from-to-4096", Some("promo_logits"));
    let value = |unit: Unit, perspective: Perspective| {
        Some(ValueHead { output: String::new(), index: None, unit, perspective })
    };
    let wdl = |output: &str| {
        let (output, scale, perspective) = (output.to_owned(), WdlScale::Probabilities, Side::Mover);
        Some(WdlHead { output, scale, perspective, order: OutcomeOrder::WinDrawLoss })
    };
    let (centipawns, chances) = (Unit::Centipawns(100.0), Unit::Probability(1000.0));
    let (encoding, policy, value, wdl, runtime) = match file {
        "challenge-mlp.onnx" | "tflite_single.tflite" => {
            ("challenge-768", None, value(centipawns, Perspective::Mover), None, Runtime::Accumulator)
        }
        "statedict/rusty-774.safetensors" => {
            ("rusty-774", None, value(centipawns, Perspective::White), None, Runtime::Accumulator)
        }
        // A number is multiplied between the last layer and its activation.
        "matmul-mlp.onnx" => {
            ("rusty-774", None, value(centipawns, Perspective::White), None, Runtime::General)
        }
        "conv-net.onnx" => ("policy-planes-17", None, None, wdl("wdl"), Runtime::General),
        "humchess-transformer.onnx" | "statedict/humchess-68.safetensors" => {
            ("humchess-68", human(), None, None, Runtime::General)
        }
        "quantised-transformer.onnx" => {
            ("humchess-68", human(), None, None, Runtime::Int8(Int8Kernel::detect()))
        }
        "statedict/humchess-74.pt" => ("humchess-74", human(), None, None, Runtime::General),
        "statedict/policy-mlp.pt" => {
            ("policy-837", policy("policy", "canonical-1968", None), None, None, Runtime::Accumulator)
        }
        "statedict/cnn-reduce.pt" => {
            ("policy-planes-17", policy("policy", "canonical-1968-mover", None), None, None, Runtime::General)
        }
        "tflite_pair.tflite" | "tflite_pair_f16.tflite" => {
            ("pair-769", None, value(chances, Perspective::ContextMover), None, Runtime::Accumulator)
        }
        "lc0-se-classical.pb.gz" => {
            ("lc0-112", policy("policy", "lc0-1858", None), None, wdl("wdl"), Runtime::General)
        }
        "lc0-plain-conv.pb.gz" => (
            "lc0-112",
            policy("policy", "lc0-1858", None),
            value(Unit::Expectation, Perspective::Mover),
            None,
            Runtime::General,
        ),
        _ => panic!("{file}"),
    };
    (ModelCard { policy, value, wdl, ..ModelCard::of_encoding(encoding) }, runtime)
}

#[test]
fn networks_are_recognised() {
    for (file, _) in FILES {
        let model = open(file, Ask::Position);
        let (mut wanted, runtime) = recognised(file);
        // The only output of an evaluating network is its value, whatever it is called.
        if let (Some(wanted), Some(given)) = (&mut wanted.value, &model.card().value) {
            wanted.output.clone_from(&given.output);
        }
        let ModelCard { encoding, policy, value, wdl, .. } = model.card().clone();
        let given = ModelCard { policy, value, wdl, ..ModelCard::of_encoding(&encoding) };
        assert_eq!((given, model.runtime()), (wanted, runtime), "{file}");
        assert_eq!(model.encoding().id().0, encoding, "{file}");
        assert_eq!((model.file_bytes(), model.sha256().len()), (bytes(file).len(), 64), "{file}");
    }
}

#[test]
fn every_file_has_expectations() {
    let expected = expected();
    for (file, _) in FILES {
        assert!(expected.networks.iter().any(|entry| entry.file == file), "{file}");
    }
}

#[test]
fn comparison_overlay_keeps_the_rest_of_the_card() {
    let card = open("tflite_pair.tflite", Ask::Compare).card().clone();
    let value = card.value.expect("a value head");
    assert_eq!((value.unit, value.perspective), (Unit::Probability(1000.0), Perspective::Comparison));
    assert_eq!(card.encoding, "pair-769");
}

/// The outputs of the general runtime for `rows`, whatever runtime `model` itself uses.
fn on_the_general_runtime(model: &Model, file: &str, ask: Ask, rows: &[Row]) -> Vec<f32> {
    let graph = Source::read(bytes(file)).and_then(Source::into_graph).expect("it was read before");
    let session = Session::new(graph).expect("it loads");
    let start = Chess::default();
    let mut batch = Batch::new(model.encoding());
    for row in rows {
        let situation = row.situation();
        batch.push(&if ask == Ask::Compare {
            let reference = situation.context.unwrap_or(&start);
            Situation { position: reference, context: Some(situation.position), ..situation }
        } else {
            situation
        });
    }
    let shapes: Vec<_> = model.encoding().inputs().iter().map(|spec| [rows.len(), spec.len()]).collect();
    let inputs: Vec<_> = batch
        .columns()
        .iter()
        .zip(&shapes)
        .map(|(column, shape)| {
            let data = match column {
                Column::Ids(ids) => InputData::Ids(ids),
                Column::Values(values) => InputData::Values(values),
            };
            InputTensor { shape, data }
        })
        .collect();
    let [output] = <[_; 1]>::try_from(session.run(&inputs).expect("it runs")).expect("one output");
    output.values
}

#[test]
fn accumulator_networks_match_the_general_runtime() {
    let expected = expected();
    let mut dense = 0;
    for entry in &expected.networks {
        let model = open(&entry.file, entry.ask);
        let Some(net) = model.accumulator_net() else { continue };
        let (rows, start) = (rows(&expected, entry.ask), Chess::default());
        let general = on_the_general_runtime(&model, &entry.file, entry.ask, &rows);
        let mut evaluator = AccumulatorState::new(net.clone(), &start);
        let mut numbers = vec![0.0; net.outputs()];
        assert_eq!(general.len(), rows.len() * numbers.len(), "{}", entry.file);
        for (at, (row, general)) in rows.iter().zip(general.chunks_exact(net.outputs())).enumerate() {
            let own = if entry.ask == Ask::Compare { &start } else { &row.position };
            evaluator.set_context(row.context.as_ref().unwrap_or(own));
            evaluator.set_position(&row.position);
            evaluator.evaluate(&mut numbers);
            for (place, (&dense, &general)) in numbers.iter().zip(general).enumerate() {
                assert!(close(dense, general), "{} row {at} place {place}: {dense} {general}", entry.file);
            }
        }
        dense += 1;
    }
    // Four files asked in one way, two in two.
    assert_eq!(dense, 8);
}

#[test]
fn batches_match_single_positions() {
    let expected = expected();
    let numbers = |given: &Evaluation| -> Vec<f32> {
        let mut numbers: Vec<f32> = given.score.iter().map(|score| score.0 / 1000.0).collect();
        numbers.extend(given.wdl.iter().flat_map(|wdl| [wdl.win, wdl.draw, wdl.loss]));
        let candidates = given.policy.iter().flat_map(Policy::candidates);
        numbers.extend(candidates.map(|candidate| candidate.probability));
        numbers
    };
    for file in ["statedict/humchess-68.safetensors", "lc0-se-classical.pb.gz", "tflite_pair.tflite"] {
        let model = open(file, Ask::Position);
        let rows: Vec<_> = rows(&expected, Ask::Position).into_iter().take(7).collect();
        let situations: Vec<_> = rows.iter().map(Row::situation).collect();
        let together = model.evaluate(&situations).unwrap();
        for (row, (situation, together)) in situations.iter().zip(&together).enumerate() {
            let alone = model.evaluate(&[*situation]).unwrap().remove(0);
            let (alone, together) = (numbers(&alone), numbers(together));
            assert_eq!(alone.len(), together.len(), "{file} row {row}");
            assert!(alone.iter().zip(&together).all(|(a, b)| close(*a, *b)), "{file} row {row}");
        }
        assert!(model.evaluate(&[]).unwrap().is_empty());
    }
}
