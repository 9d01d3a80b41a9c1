//! Incremental accumulators against rten and onnxruntime: all children of 200 positions with a random 768-256-32-1 network.
//!
//! All runtimes get the same ONNX file and positions, each on one thread, in interleaved rounds of which the best counts. Our
//! times include playing the moves and extracting features; the others get their input rows ready-made.
#![expect(clippy::disallowed_macros, reason = "a bench is a program: it prints")]

use std::{cell::RefCell, path::Path, rc::Rc, sync::Arc};

use prost::Message;
use shakmaty::{Chess, MoveList, Position};
use tabia_bench::{Contender, Onnxruntime, Pass, Shown, Table, best_of, random_mlp};
use tabia_encoding::{Batch, Situation, encoding};
use tabia_onnx::proto::ModelProto;
use tabia_runtime::accumulator::{AccumulatorNet, AccumulatorState, Level, MlpGraph};
use tabia_runtime::{InputData, InputTensor, Session};

const ROUNDS: usize = 7;
const INPUTS: usize = 768;
const ONNXRUNTIME_SINGLE: &str = "onnxruntime, single call";

fn main() {
    // `cargo test --benches` starts this too; only `cargo bench` asks for a measurement.
    if std::env::args().any(|argument| argument == "--bench") {
        bench();
    }
}

fn bench() {
    let model = random_mlp(&[INPUTS, 256, 32, 1]);
    let positions = Positions::read();
    let children = positions.rows.len() / INPUTS;
    let session = &Session::new(model.clone()).expect("our own graph is valid");
    let mut passes = Vec::new();
    let net = accumulator_net(&model);
    for level in Level::available() {
        let state = || AccumulatorState::at_level(net.clone(), &Chess::default(), level);
        let (mut incremental, mut refreshed) = (state(), state());
        let parents = &positions.parents;
        passes.push(Pass::new(format!("tabia, incremental, {level}"), children, move |outputs| {
            for (parent, moves) in parents {
                incremental.set_position(parent);
                for &m in moves {
                    let mut child = parent.clone();
                    child.play_unchecked(m);
                    incremental.push(m, &child);
                    let mut out = [0.0];
                    incremental.evaluate(&mut out);
                    outputs.extend(out);
                    incremental.pop();
                }
            }
        }));
        passes.push(Pass::new(format!("tabia, from scratch, {level}"), children, move |outputs| {
            for (parent, moves) in parents {
                for &m in moves {
                    let mut child = parent.clone();
                    child.play_unchecked(m);
                    refreshed.set_position(&child);
                    let mut out = [0.0];
                    refreshed.evaluate(&mut out);
                    outputs.extend(out);
                }
            }
        }));
    }
    let counts: Vec<usize> = positions.parents.iter().map(|(_, moves)| moves.len()).collect();
    for (name, batches) in
        [("rten, single call", vec![1; children]), ("rten, batch per parent", counts.clone())]
    {
        let rows = &positions.rows;
        passes.push(Pass::new(name.to_owned(), children, move |outputs| {
            let mut rows = &rows[..];
            for &batch in batches.iter().filter(|&&batch| batch > 0) {
                let (here, next) = rows.split_at(batch * INPUTS);
                let input = InputTensor { shape: &[batch, INPUTS], data: InputData::Values(here) };
                outputs.extend(&session.run(&[input]).expect("the shapes are right")[0].values);
                rows = next;
            }
        }));
    }
    match Onnxruntime::start(
        Path::new(env!("CARGO_TARGET_TMPDIR")),
        &model.encode_to_vec(),
        "out",
        &[&positions.rows],
        &counts,
    ) {
        Ok(child) => {
            let child = Rc::new(RefCell::new(child));
            for (name, mode) in
                [(ONNXRUNTIME_SINGLE, "f32 single"), ("onnxruntime, batch per parent", "f32 batched")]
            {
                let child = child.clone();
                let run = move |outputs: &mut Vec<f32>| child.borrow_mut().run(mode, outputs);
                passes.push(Pass::self_timed(name.to_owned(), children, run));
            }
        }
        Err(why) => println!("onnxruntime is left out: {why}"),
    }

    let best = best_of(ROUNDS, &mut passes);
    for pass in &passes {
        assert_eq!(pass.outputs.len(), children, "{}", pass.name);
        let pairs = pass.outputs.iter().zip(&passes[0].outputs);
        let error = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(error <= 1e-4, "{} is off by {error}", pass.name);
    }
    println!(
        "768-256-32-1, {children} children of {} positions, best of {ROUNDS} rounds, one thread\n",
        positions.parents.len()
    );
    let lines = passes.iter().map(|pass| pass.name()).zip(best).collect();
    let ratios = [("of onnxruntime's", ONNXRUNTIME_SINGLE)];
    println!("{}", Table { unit: "evaluation", shown: Shown::NanosecondsEach, lines, ratios: &ratios });
}

/// The positions, their legal moves, and the input rows of all children.
struct Positions {
    parents: Vec<(Chess, MoveList)>,
    rows: Vec<f32>,
}

impl Positions {
    fn read() -> Self {
        let parents = tabia_bench::positions(include_str!("../../../fixtures/positions.fen"));
        let parents: Vec<_> = parents.into_iter().map(|p| (p.clone(), p.legal_moves())).collect();
        let mut batch = Batch::new(encoding("challenge-768").expect("a known id"));
        for (parent, moves) in &parents {
            for &m in moves {
                let mut child = parent.clone();
                child.play_unchecked(m);
                batch.push(&Situation::of(&child));
            }
        }
        Positions { parents, rows: batch.values(0).to_vec() }
    }
}

fn accumulator_net(model: &ModelProto) -> Arc<AccumulatorNet> {
    let graph = MlpGraph::recognise(model).expect("an MLP");
    let features = encoding("challenge-768").and_then(|e| e.sparse()).expect("a sparse encoding");
    Arc::new(AccumulatorNet::new(&graph, features).expect("768 inputs"))
}
