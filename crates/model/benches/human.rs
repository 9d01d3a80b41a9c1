//! The transformer runtime against rten and onnxruntime: the bundled human network, one position a call.
//!
//! All runtimes get the same network and positions, each on one thread, in interleaved rounds of which the best counts. Our times
//! and rten's include encoding and reading the policy; onnxruntime gets its inputs ready-made. The network it quantises is also run
//! on rten, with whole and with split weights.
//!
//! Also counts how often the first choice is that of the `f32` graph on rten. `TABIA_POSITIONS` may name a file of FENs to compare
//! besides those of the fixture.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a bench is a program: it reads the clock and the environment, and prints"
)]

use std::{cell::RefCell, fs, path::Path, rc::Rc, time::Instant};

use shakmaty::{Chess, Move, Position};
use tabia_bench::{Contender, Onnxruntime, Pass, Shown, Table, best_of};
use tabia_encoding::{Batch, Elo, PlayerInfo, Situation, vocabulary};
use tabia_model::{Evaluation, Model, Policy, Source};
use tabia_onnx::read;
use tabia_runtime::transformer::Level;
use tabia_runtime::{InputData, InputTensor, Int8Weights, Session};

const ROUNDS: usize = 7;
/// Positions in a round.
const TIMED: usize = 24;

const NETWORK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/human.safetensors");

fn main() {
    // `cargo test --benches` starts this too; only `cargo bench` asks for a measurement.
    if std::env::args().any(|argument| argument == "--bench") {
        bench();
    }
}

fn bench() {
    let bytes = fs::read(NETWORK).expect("the bundled network");
    let positions = positions();
    let timed = &positions[..TIMED];

    let started = Instant::now();
    let first = Model::from_bytes(&bytes).expect("the network loads").evaluate(&[situation(&positions[0])]);
    println!("from bytes to the first answer: {:.1} ms", started.elapsed().as_secs_f64() * 1e3);
    first.expect("the network runs");

    let source = Source::read(&bytes).expect("it was read before");
    let card = Model::new(source.clone(), None).expect("it was loaded before").card().clone();
    let onnx = source.to_onnx(&card).expect("its weights are finite");
    let floats = Source::state_dict_to_safetensors(&bytes, &card).expect("it is a state dict");
    let mut models = vec![("rten f32".to_owned(), Model::from_bytes(&onnx).expect("our own graph is valid"))];
    // Plain Rust is the reference and an order of magnitude slower.
    for level in Level::available().skip(1) {
        for (bytes, numbers) in [(&bytes, "8-bit"), (&floats, "f32")] {
            let model = Source::read(bytes).and_then(|source| Model::at_level(source, None, level));
            models.push((format!("tabia {numbers}, {level}"), model.expect("it was loaded before")));
        }
    }
    let batch = &encoded(timed);
    let mut quantised = Vec::new();
    let mut passes = Vec::new();
    for (name, model) in &models {
        passes.push(Pass::new(name.clone(), TIMED, move |_| {
            for position in timed {
                model.evaluate(&[situation(position)]).expect("the network runs");
            }
        }));
    }
    match Onnxruntime::start(
        Path::new(env!("CARGO_TARGET_TMPDIR")),
        &onnx,
        "move_logits",
        &[batch.values(0), batch.values(1)],
        &[TIMED],
    ) {
        Ok(mut child) => {
            child.run("int8 single", &mut Vec::new());
            let net = child.quantised();
            for weights in [Int8Weights::Whole, Int8Weights::Split] {
                let model = read::parse(&net).expect("an ONNX file");
                let session = Session::with_int8_weights(model, weights).expect("supported operators");
                quantised.push((format!("rten int8, {weights:?} weights").to_lowercase(), session));
            }
            let child = Rc::new(RefCell::new(child));
            for numbers in ["f32", "int8"] {
                let (child, mode) = (child.clone(), format!("{numbers} single"));
                let run = move |logits: &mut Vec<f32>| child.borrow_mut().run(&mode, logits);
                passes.push(Pass::self_timed(format!("onnxruntime {numbers}"), TIMED, run));
            }
        }
        Err(why) => println!("onnxruntime is left out: {why}"),
    }
    for (name, session) in &quantised {
        passes.push(Pass::new(name.clone(), TIMED, move |logits| move_logits(session, batch, logits)));
    }

    let best = best_of(ROUNDS, &mut passes);
    println!("one position a call, best of {ROUNDS} rounds of {TIMED}, one thread\n");
    let lines = passes.iter().map(|pass| pass.name()).zip(best).collect();
    let ratios = [
        ("of rten's", "rten f32"),
        ("of ort f32's", "onnxruntime f32"),
        ("of ort int8's", "onnxruntime int8"),
    ];
    println!("{}\n", Table { unit: "position", shown: Shown::NanosecondsEach, lines, ratios: &ratios });

    let chosen = |model: &Model| -> Vec<Choice> {
        let evaluate = |position| model.evaluate(&[situation(position)]).expect("the network runs");
        positions.iter().map(|position| Choice::of(&evaluate(position)[0])).collect()
    };
    let exact = chosen(&models[0].1);
    let ours = models.iter().map(|(name, model)| (name, chosen(model)));
    let by_logits = passes.iter().filter(|pass| !pass.outputs.is_empty());
    let theirs = by_logits.map(|pass| (&pass.name, choices_by_logits(&pass.outputs, timed)));
    for (name, choices) in ours.chain(theirs) {
        let same = choices.iter().zip(&exact).filter(|(a, b)| a.best == b.best).count();
        let probabilities =
            choices.iter().zip(&exact).flat_map(|(a, b)| a.probabilities.iter().zip(&b.probabilities));
        let error = probabilities.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        println!(
            "{name:32}{same} of {} first choices as rten's; other heads off by at most {error:.4}",
            choices.len()
        );
    }
}

/// The first choice of a runtime, and the probabilities of its other heads.
struct Choice {
    best: Option<Move>,
    probabilities: Vec<f32>,
}

impl Choice {
    fn of(evaluation: &Evaluation) -> Choice {
        let wdl = evaluation.wdl.map(|wdl| [wdl.win, wdl.draw, wdl.loss]);
        let think_time = evaluation.think_time.into_iter().flatten();
        Choice {
            best: evaluation.policy.as_ref().and_then(Policy::best).map(|candidate| candidate.mv),
            probabilities: wdl.into_iter().flatten().chain(think_time).collect(),
        }
    }
}

/// The move logits of all positions of a batch, one position a call.
fn move_logits(session: &Session, batch: &Batch, logits: &mut Vec<f32>) {
    let moves = session.info().outputs.iter().position(|output| output.name == "move_logits");
    let moves = moves.expect("the network has the output");
    for position in 0..batch.rows() {
        let given = [(0, &[1, 64, 32][..]), (1, &[1, 80])].map(|(index, shape)| {
            let len: usize = shape.iter().product();
            InputTensor { shape, data: InputData::Values(&batch.values(index)[position * len..][..len]) }
        });
        logits.extend(session.run(&given).expect("the network runs").swap_remove(moves).values);
    }
}

fn encoded(positions: &[Chess]) -> Batch {
    let mut batch = Batch::new(tabia_encoding::encoding("tabia-human-1").expect("a known id"));
    positions.iter().for_each(|position| batch.push(&situation(position)));
    batch
}

fn choices_by_logits(logits: &[f32], positions: &[Chess]) -> Vec<Choice> {
    let moves = vocabulary("from-to-4096-mirrored").expect("a known id");
    let rows = logits.chunks_exact(moves.width()).zip(positions);
    rows.map(|(logits, position)| {
        let policy = Policy::from_logits(moves, position.turn(), &position.legal_moves(), logits, &[0.0; 32]);
        Choice { best: policy.best().map(|candidate| candidate.mv), probabilities: Vec::new() }
    })
    .collect()
}

/// The position with two players rated 1500.
fn situation(position: &Chess) -> Situation<'_> {
    let seat = PlayerInfo { rating: Some(Elo(1500)), time_left: None };
    Situation { mover: seat, opponent: seat, ..Situation::of(position) }
}

fn positions() -> Vec<Chess> {
    let mut text = include_str!("../../../fixtures/positions.fen").to_owned();
    if let Ok(path) = std::env::var("TABIA_POSITIONS") {
        text.push_str(&fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}")));
    }
    tabia_bench::positions(&text)
}
