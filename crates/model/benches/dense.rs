//! The incremental dense runtime against rten and onnxruntime: all children of 200 positions with a random
//! 768-256-32-1 network.
//!
//! All runtimes get the same ONNX file and the same positions, each on one thread, in interleaved rounds of
//! which the best counts. Our own times include playing the moves and finding the features; the others are
//! handed their input rows ready-made. onnxruntime is called from Python, as pip installs it, in a child
//! (`TABIA_PYTHON`, else `python3`), see
//! `tools/bench_onnxruntime.py`; without it the bench says so and goes on.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a bench is a program: it reads the clock and the environment, and prints"
)]

mod python;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use prost::Message;
use shakmaty::{CastlingMode, Chess, MoveList, Position, fen::Fen};
use tabia_bench::{Contender, LineProcess, Round, Shown, Table, best_of};
use tabia_encoding::{Batch, Situation, encoding};
use tabia_model::{
    accumulator::{AccumulatorNet, AccumulatorState, Level, MlpGraph},
    onnx::{
        build::{Attribute, GraphBuilder},
        proto::ModelProto,
    },
    runtime::{InputData, InputTensor, Session},
};

const ROUNDS: usize = 7;
const INPUTS: usize = 768;

fn main() {
    // `cargo test --benches` starts this too; only `cargo bench` asks for a measurement.
    if std::env::args().any(|argument| argument == "--bench") {
        bench();
    }
}

fn bench() {
    let model = random_network(&[INPUTS, 256, 32, 1]);
    let positions = Positions::read();
    let mut runtimes: Vec<Box<dyn Runtime>> = Vec::new();
    let net = dense_net(&model);
    for level in Level::available() {
        let evaluator =
            |net: &Arc<AccumulatorNet>| AccumulatorState::at_level(net.clone(), &Chess::default(), level);
        runtimes.push(Box::new(Incremental(evaluator(&net))));
        runtimes.push(Box::new(FromScratch(evaluator(&net))));
    }
    let session = Arc::new(Session::new(model.clone()).expect("our own graph is valid"));
    runtimes.push(Box::new(Rten { session: session.clone(), calls: Calls::Single }));
    runtimes.push(Box::new(Rten { session, calls: Calls::Batched }));
    match Onnxruntime::start(&model, &positions) {
        Ok([single, batched]) => {
            runtimes.push(Box::new(single));
            runtimes.push(Box::new(batched));
        }
        Err(why) => println!("onnxruntime is left out: {why}"),
    }

    let pass = |runtime| Box::new(Pass { runtime, positions: &positions, outputs: Vec::new() });
    let mut passes: Vec<Box<Pass<'_>>> = runtimes.into_iter().map(pass).collect();
    let best = best_of(ROUNDS, &mut passes);
    for pass in &passes {
        assert_eq!(pass.outputs.len(), positions.children(), "{}", pass.name());
        let pairs = pass.outputs.iter().zip(&passes[0].outputs);
        let far = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(far <= 1e-4, "{} is off by {far}", pass.name());
    }
    println!(
        "768-256-32-1, {} children of {} positions, best of {ROUNDS} rounds, one thread\n",
        positions.children(),
        positions.parents.len()
    );
    let lines = passes.iter().map(|pass| pass.name()).zip(best).collect();
    let ratios = [("of onnxruntime's", ONNXRUNTIME_SINGLE)];
    println!("{}", Table { unit: "evaluation", shown: Shown::NanosecondsEach, lines, ratios: &ratios });
}

/// Something that evaluates all children.
trait Runtime {
    fn name(&self) -> String;

    /// One pass over all children: appends what it found and returns the time it took.
    fn evaluate(&mut self, positions: &Positions, outputs: &mut Vec<f32>) -> Duration;
}

/// A runtime, what it evaluates, and what it found last.
struct Pass<'a> {
    runtime: Box<dyn Runtime>,
    positions: &'a Positions,
    outputs: Vec<f32>,
}

impl Contender for Pass<'_> {
    fn name(&self) -> String {
        self.runtime.name()
    }

    fn round(&mut self) -> Round {
        self.outputs.clear();
        let time = self.runtime.evaluate(self.positions, &mut self.outputs);
        Round { work: self.positions.children() as u64, time }
    }
}

struct Incremental(AccumulatorState);

impl Runtime for Incremental {
    fn name(&self) -> String {
        format!("tabia, incremental, {}", self.0.level())
    }

    fn evaluate(&mut self, positions: &Positions, outputs: &mut Vec<f32>) -> Duration {
        let started = Instant::now();
        for (parent, moves) in &positions.parents {
            self.0.set_position(parent);
            for &m in moves {
                let mut child = parent.clone();
                child.play_unchecked(m);
                self.0.push(m, &child);
                let mut out = [0.0];
                self.0.evaluate(&mut out);
                outputs.extend(out);
                self.0.pop();
            }
        }
        started.elapsed()
    }
}

struct FromScratch(AccumulatorState);

impl Runtime for FromScratch {
    fn name(&self) -> String {
        format!("tabia, from scratch, {}", self.0.level())
    }

    fn evaluate(&mut self, positions: &Positions, outputs: &mut Vec<f32>) -> Duration {
        let started = Instant::now();
        for (parent, moves) in &positions.parents {
            for &m in moves {
                let mut child = parent.clone();
                child.play_unchecked(m);
                self.0.set_position(&child);
                let mut out = [0.0];
                self.0.evaluate(&mut out);
                outputs.extend(out);
            }
        }
        started.elapsed()
    }
}

/// How many children a runtime is asked about at a time.
#[derive(Clone, Copy)]
enum Calls {
    /// One.
    Single,
    /// All of one parent.
    Batched,
}

struct Rten {
    session: Arc<Session>,
    calls: Calls,
}

impl Runtime for Rten {
    fn name(&self) -> String {
        match self.calls {
            Calls::Single => "rten, single call".to_owned(),
            Calls::Batched => "rten, batch per parent".to_owned(),
        }
    }

    fn evaluate(&mut self, positions: &Positions, outputs: &mut Vec<f32>) -> Duration {
        let started = Instant::now();
        let mut rows = &positions.rows[..];
        for (_, moves) in &positions.parents {
            let (here, next) = rows.split_at(moves.len() * INPUTS);
            rows = next;
            let batch = match self.calls {
                Calls::Single => 1,
                Calls::Batched => moves.len().max(1),
            };
            for rows in here.chunks_exact(batch * INPUTS) {
                let input = InputTensor { shape: &[batch, INPUTS], data: InputData::Values(rows) };
                let out = self.session.run(&[input]).expect("the shapes are right");
                outputs.extend(&out[0].values);
            }
        }
        started.elapsed()
    }
}

const ONNXRUNTIME_SINGLE: &str = "onnxruntime, single call";

/// One of the two ways to ask the Python child that runs onnxruntime.
struct Onnxruntime {
    child: Arc<std::sync::Mutex<PythonChild>>,
    calls: Calls,
}

struct PythonChild {
    process: LineProcess,
    outputs: PathBuf,
}

impl Onnxruntime {
    fn start(model: &ModelProto, positions: &Positions) -> Result<[Self; 2], String> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let path = |name: &str| folder.join(format!("bench-dense-{name}"));
        let rows: Vec<u8> = positions.rows.iter().flat_map(|x| x.to_le_bytes()).collect();
        let counts: Vec<String> =
            positions.parents.iter().map(|(_, moves)| moves.len().to_string()).collect();
        let files = [
            (path("net.onnx"), model.encode_to_vec()),
            (path("rows.f32"), rows),
            (path("counts.txt"), counts.join("\n").into_bytes()),
        ];
        for (path, bytes) in &files {
            fs::write(path, bytes).map_err(|e| format!("{}: {e}", path.display()))?;
        }
        let outputs = path("outputs.f32");
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/bench_onnxruntime.py");
        let arguments = files.iter().map(|(path, _)| path).chain([&outputs]);
        let process = python::start(script, arguments)?;
        let child = PythonChild { process, outputs };
        let child = Arc::new(std::sync::Mutex::new(child));
        Ok([Calls::Single, Calls::Batched].map(|calls| Onnxruntime { child: child.clone(), calls }))
    }
}

impl Runtime for Onnxruntime {
    fn name(&self) -> String {
        match self.calls {
            Calls::Single => ONNXRUNTIME_SINGLE.to_owned(),
            Calls::Batched => "onnxruntime, batch per parent".to_owned(),
        }
    }

    fn evaluate(&mut self, _: &Positions, outputs: &mut Vec<f32>) -> Duration {
        let command = match self.calls {
            Calls::Single => "single",
            Calls::Batched => "batched",
        };
        let mut child = self.child.lock().expect("no thread panicked");
        child.process.say(command).expect("the child is listening");
        let answer = child.process.answer().expect("the child is listening");
        let nanoseconds = answer.parse().expect("the child answers with nanoseconds");
        let found = fs::read(&child.outputs).expect("the child has written its outputs");
        outputs.extend(found.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)));
        Duration::from_nanos(nanoseconds)
    }
}

/// The positions, their legal moves, and the input rows of all children.
struct Positions {
    parents: Vec<(Chess, MoveList)>,
    rows: Vec<f32>,
}

impl Positions {
    fn read() -> Self {
        let lines = include_str!("../../../fixtures/positions.fen").lines();
        let position = |line: &str| -> Chess {
            let fen: Fen = line.parse().expect("the fixture holds FENs");
            fen.into_position(CastlingMode::Standard).expect("the fixture's positions are legal")
        };
        let parents: Vec<_> = lines.map(position).map(|p| (p.clone(), p.legal_moves())).collect();
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

    fn children(&self) -> usize {
        self.rows.len() / INPUTS
    }
}

fn dense_net(model: &ModelProto) -> Arc<AccumulatorNet> {
    let graph = MlpGraph::recognise(model).expect("a chain of dense layers");
    let features = encoding("challenge-768").and_then(|e| e.sparse()).expect("a sparse encoding");
    Arc::new(AccumulatorNet::new(&graph, features).expect("768 inputs"))
}

fn random_network(widths: &[usize]) -> ModelProto {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |count: usize, scale: f32| -> Vec<f32> {
        let mut weight = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            scale * ((state >> 40) as f32 / (1 << 23) as f32 - 1.0)
        };
        (0..count).map(|_| weight()).collect()
    };
    let mut b = GraphBuilder::new("bench");
    let mut x = b.input("board", &widths[..1]);
    for (i, width) in widths.windows(2).enumerate() {
        let scale = 1.0 / (width[0].min(64) as f32).sqrt();
        let weights = b.weight(&format!("w{i}"), &[width[1], width[0]], &random(width[0] * width[1], scale));
        let bias = b.weight(&format!("b{i}"), &[width[1]], &random(width[1], scale));
        x = b.op("Gemm", &[&x, &weights, &bias], &[("transB", Attribute::Int(1))]);
        if i + 2 < widths.len() {
            x = b.op("Relu", &[&x], &[]);
        }
    }
    b.output(&x, "out", &widths[widths.len() - 1..]);
    b.finish()
}
