//! The transformer runtime against rten and onnxruntime: the bundled human network, one position a call, in 8 bits also with
//! batches and with two threads.
//!
//! All runtimes get the same network and positions, on one thread if nothing else is said, in interleaved rounds of which the best
//! counts. Our times and rten's include encoding and reading the policy; onnxruntime gets its inputs ready-made. The network it
//! quantises is also run on rten, with whole and with split weights.
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
use tabia_threads::{Member, start_helpers, with_team};

const ROUNDS: usize = 9;
/// Positions in a round.
const TIMED: usize = 32;
/// Positions of a batch.
const BATCH: usize = 16;

const NETWORK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/human.safetensors");

fn main() {
    // `cargo test --benches` starts this too; only `cargo bench` asks for a measurement.
    if std::env::args().any(|argument| argument == "--bench") {
        bench();
    }
}

fn bench() {
    start_helpers(1);
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
        passes.push(Pass::new(name.clone(), TIMED, move |_| alone(|| evaluate(model, timed, 1))));
    }
    // The last level is the best one.
    let best = models.iter().rev().find(|(name, _)| name.contains("8-bit")).expect("some level");
    for (how, size, threads) in [("batches", BATCH, 1), ("2 threads", 1, 2), ("batches, 2 threads", BATCH, 2)]
    {
        let (name, model) = best;
        passes.push(Pass::new(format!("{name}, {how}"), TIMED, move |_| {
            if threads == 1 {
                alone(|| evaluate(model, timed, size));
            } else {
                evaluate(model, timed, size);
            }
        }));
    }
    match Onnxruntime::start(
        Path::new(env!("CARGO_TARGET_TMPDIR")),
        &onnx,
        "move_logits",
        &[batch.values(0), batch.values(1)],
        &[BATCH; TIMED / BATCH],
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
            for (name, mode) in [
                ("f32", "f32 single"),
                ("int8", "int8 single"),
                ("int8, batches", "int8 batched"),
                ("int8, 2 threads", "int8 single 2"),
                ("int8, batches, 2 threads", "int8 batched 2"),
            ] {
                let child = child.clone();
                let run = move |logits: &mut Vec<f32>| child.borrow_mut().run(mode, logits);
                passes.push(Pass::self_timed(format!("onnxruntime {name}"), TIMED, run));
            }
        }
        Err(why) => println!("onnxruntime is left out: {why}"),
    }
    for (name, session) in &quantised {
        let run = move |logits: &mut Vec<f32>| alone(|| move_logits(session, batch, logits));
        passes.push(Pass::new(name.clone(), TIMED, run));
    }

    let best = best_of(ROUNDS, &mut passes);
    println!("best of {ROUNDS} rounds of {TIMED} positions; batches have {BATCH}\n");
    let lines = passes.iter().map(|pass| pass.name()).zip(best).collect();
    let ratios = [
        ("of rten's", "rten f32"),
        ("of ort f32's", "onnxruntime f32"),
        ("of ort int8's", "onnxruntime int8"),
        ("of its batches'", "onnxruntime int8, batches"),
        ("of its 2 threads'", "onnxruntime int8, 2 threads"),
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

/// Evaluates the positions, `size` a call.
fn evaluate(model: &Model, positions: &[Chess], size: usize) {
    for positions in positions.chunks(size) {
        let situations: Vec<_> = positions.iter().map(situation).collect();
        model.evaluate(&situations).expect("the network runs");
    }
}

/// Does the work while the helpers wait elsewhere.
fn alone(work: impl FnOnce()) {
    let lead = |member: &Member<'_>| {
        work();
        member.wait();
    };
    with_team(usize::MAX, lead, &|member| member.wait());
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
        let given = [(0, &[1, 64, 32][..]), (1, &[1, 82])].map(|(index, shape)| {
            let len: usize = shape.iter().product();
            InputTensor { shape, data: InputData::Values(&batch.values(index)[position * len..][..len]) }
        });
        logits.extend(session.run(&given).expect("the network runs").swap_remove(moves).values);
    }
}

fn encoded(positions: &[Chess]) -> Batch {
    let mut batch = Batch::new(tabia_encoding::encoding("tabia-human-2").expect("a known id"));
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
