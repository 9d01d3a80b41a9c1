//! Our runtime for transformers against rten and onnxruntime: the human network of `models/`, one position a call.
//!
//! All runtimes get the same network and the same positions, each on one thread, in interleaved rounds of which the best
//! counts. Our own times and rten's include the encoding and the reading of the moves; onnxruntime is handed its inputs
//! ready-made. It is called from Python, as pip installs it, in a child (`TABIA_PYTHON`, else `python3`), see
//! `tools/bench_human.py`; without it the bench says so and goes on. The network it quantises is also run on rten, with
//! weights whole and split as processors without VNNI need them.
//!
//! Also says how many first choices are those of the general runtime, which computes in 32-bit floats. `TABIA_POSITIONS` may
//! name a file of FENs to be asked for that besides those of the fixture.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a bench is a program: it reads the clock and the environment, and prints"
)]

mod python;

use std::{
    cell::RefCell,
    fs,
    path::{Path, PathBuf},
    rc::Rc,
    time::{Duration, Instant},
};

use shakmaty::{CastlingMode, Chess, Move, Position, fen::Fen};
use tabia_bench::{Contender, LineProcess, Round, Shown, Table, best_of};
use tabia_encoding::{Batch, Elo, PlayerInfo, Situation, vocabulary};
use tabia_model::{
    Evaluation, Model, Policy, Source,
    onnx::read,
    runtime::{InputData, InputTensor, Int8Weights, Session},
    transformer::Level,
};

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
    let bytes = fs::read(NETWORK).expect("the network comes along");
    let positions = positions();
    let timed: Rc<[Chess]> = positions[..TIMED].into();

    let started = Instant::now();
    let first = Model::from_bytes(&bytes).expect("the network loads").evaluate(&[situation(&positions[0])]);
    println!("from bytes to the first answer: {:.1} ms", started.elapsed().as_secs_f64() * 1e3);
    first.expect("the network runs");

    let mut runtimes: Vec<Box<dyn Runtime>> = Vec::new();
    let source = Source::read(&bytes).expect("it was read before");
    // Plain Rust is the specification of the others and an order of magnitude slower.
    for level in Level::available().skip(1) {
        let open = |bytes: &[u8]| Model::at_level(Source::read(bytes)?, None, level);
        let model = open(&bytes).expect("it was loaded before");
        runtimes.push(Box::new(Ours { name: format!("tabia 8-bit, {level}"), model, timed: timed.clone() }));
        let model = open(&in_floats(&bytes, &source)).expect("it was loaded before");
        runtimes.push(Box::new(Ours { name: format!("tabia f32, {level}"), model, timed: timed.clone() }));
    }
    let card = Model::from_bytes(&bytes).expect("it was loaded before").card().clone();
    let onnx = source.to_onnx(&card).expect("its weights are finite");
    let general = Model::from_bytes(&onnx).expect("our own graph is valid");
    let name = "rten f32".to_owned();
    runtimes.push(Box::new(Ours { name, model: general, timed: timed.clone() }));
    match Onnxruntime::start(&onnx, &timed) {
        Ok(both) => {
            runtimes.extend(both.map(|one| Box::new(one) as Box<dyn Runtime>));
            for weights in [Int8Weights::Whole, Int8Weights::Split] {
                runtimes.push(Box::new(RtenInt8::new(weights, &timed)));
            }
        }
        Err(why) => println!("onnxruntime is left out: {why}"),
    }

    let mut passes: Vec<Box<Pass>> = runtimes.into_iter().map(|runtime| Box::new(Pass(runtime))).collect();
    let best = best_of(ROUNDS, &mut passes);
    println!("one position a call, best of {ROUNDS} rounds of {TIMED}, one thread\n");
    let lines = passes.iter().map(|pass| pass.name()).zip(best).collect();
    let ratios = [
        ("of rten's", "rten f32"),
        ("of ort f32's", "onnxruntime f32"),
        ("of ort int8's", "onnxruntime int8"),
    ];
    println!("{}\n", Table { unit: "position", shown: Shown::NanosecondsEach, lines, ratios: &ratios });

    let exact =
        passes.iter_mut().find(|pass| pass.name().starts_with("rten")).map(|pass| pass.0.choices(&positions));
    let exact = exact.expect("rten takes part");
    for pass in &mut passes {
        let theirs = pass.0.choices(&positions);
        let same = theirs.iter().zip(&exact).filter(|(a, b)| a.best == b.best).count();
        let chances = theirs.iter().zip(&exact).flat_map(|(a, b)| a.chances.iter().zip(&b.chances));
        let farthest = chances.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        println!(
            "{:32}{same} of {} first choices as rten's; other chances off by at most {:.4}",
            pass.name(),
            theirs.len(),
            farthest,
        );
    }
}

/// What a runtime says of a position.
struct Choice {
    best: Option<Move>,
    /// Of win, draw and loss and of the bins of thinking time, where they were asked for.
    chances: Vec<f32>,
}

impl Choice {
    fn of(evaluation: &Evaluation) -> Choice {
        let wdl = evaluation.wdl.map(|wdl| [wdl.win, wdl.draw, wdl.loss]);
        Choice {
            best: evaluation.policy.as_ref().and_then(Policy::best).map(|candidate| candidate.mv),
            chances: wdl.into_iter().flatten().chain(evaluation.think_time.into_iter().flatten()).collect(),
        }
    }
}

/// Something that evaluates positions.
trait Runtime {
    fn name(&self) -> String;

    /// How long the positions of a round take.
    fn round(&mut self) -> Duration;

    fn choices(&mut self, positions: &[Chess]) -> Vec<Choice>;
}

struct Pass(Box<dyn Runtime>);

impl Contender for Pass {
    fn name(&self) -> String {
        self.0.name()
    }

    fn round(&mut self) -> Round {
        Round { work: TIMED as u64, time: self.0.round() }
    }
}

struct Ours {
    name: String,
    model: Model,
    timed: Rc<[Chess]>,
}

impl Runtime for Ours {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn round(&mut self) -> Duration {
        let started = Instant::now();
        for position in &*self.timed {
            self.model.evaluate(&[situation(position)]).expect("the network runs");
        }
        started.elapsed()
    }

    fn choices(&mut self, positions: &[Chess]) -> Vec<Choice> {
        let one = |position| self.model.evaluate(&[situation(position)]).expect("the network runs");
        positions.iter().map(|position| Choice::of(&one(position)[0])).collect()
    }
}

/// The network that onnxruntime has quantised, on rten.
struct RtenInt8 {
    session: Session,
    inputs: Batch,
    positions: usize,
}

impl RtenInt8 {
    fn new(weights: Int8Weights, timed: &[Chess]) -> Self {
        let bytes = fs::read(scratch("net-int8.onnx")).expect("onnxruntime's part has written it");
        let model = read::parse(&bytes).expect("an ONNX file");
        let session = Session::with_int8_weights(model, weights).expect("supported operators");
        RtenInt8 { session, inputs: encoded(timed), positions: timed.len() }
    }

    /// The logits of the moves of all positions, one position a call.
    fn run(&self) -> Vec<f32> {
        let outputs = &self.session.info().outputs;
        let moves = outputs.iter().position(|output| output.name == "move_logits");
        let moves = moves.expect("the network has the output");
        let mut logits = Vec::new();
        for position in 0..self.positions {
            let given = [(0, &[1, 64, 32][..]), (1, &[1, 80])].map(|(index, shape)| {
                let len: usize = shape.iter().product();
                let values = &self.inputs.values(index)[position * len..][..len];
                InputTensor { shape, data: InputData::Values(values) }
            });
            logits.extend(self.session.run(&given).expect("the network runs").swap_remove(moves).values);
        }
        logits
    }
}

impl Runtime for RtenInt8 {
    fn name(&self) -> String {
        let kernel = self.session.int8().expect("integer products");
        format!("rten int8, {:?} weights", kernel.weights).to_lowercase()
    }

    fn round(&mut self) -> Duration {
        let started = Instant::now();
        self.run();
        started.elapsed()
    }

    /// Only of the positions of a round.
    fn choices(&mut self, positions: &[Chess]) -> Vec<Choice> {
        choices_by_logits(&self.run(), positions)
    }
}

/// A file that this bench and onnxruntime's part share.
fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("bench-human-{name}"))
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
        Choice { best: policy.best().map(|candidate| candidate.mv), chances: Vec::new() }
    })
    .collect()
}

/// The Python child that runs onnxruntime, asked for one kind of numbers.
struct Onnxruntime {
    child: Rc<RefCell<Child>>,
    numbers: &'static str,
}

struct Child {
    process: LineProcess,
    outputs: PathBuf,
}

impl Onnxruntime {
    fn start(onnx: &[u8], timed: &[Chess]) -> Result<[Self; 2], String> {
        let batch = encoded(timed);
        let bytes = |values: &[f32]| values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
        let files = [
            (scratch("net.onnx"), onnx.to_vec()),
            (scratch("squares.f32"), bytes(batch.values(0))),
            (scratch("game.f32"), bytes(batch.values(1))),
        ];
        for (path, bytes) in &files {
            fs::write(path, bytes).map_err(|e| format!("{}: {e}", path.display()))?;
        }
        let outputs = scratch("outputs.f32");
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/bench_human.py");
        let arguments = files.iter().map(|(path, _)| path).chain([&outputs]);
        let process = python::start(script, arguments)?;
        let child = Rc::new(RefCell::new(Child { process, outputs }));
        Ok(["f32", "int8"].map(|numbers| Onnxruntime { child: child.clone(), numbers }))
    }
}

impl Runtime for Onnxruntime {
    fn name(&self) -> String {
        format!("onnxruntime {}", self.numbers)
    }

    fn round(&mut self) -> Duration {
        let process = &mut self.child.borrow_mut().process;
        process.say(self.numbers).expect("the child is listening");
        let answer = process.answer().expect("the child is listening");
        Duration::from_nanos(answer.parse().expect("the child answers with nanoseconds"))
    }

    /// Only of the positions of a round.
    fn choices(&mut self, positions: &[Chess]) -> Vec<Choice> {
        self.round();
        let found = fs::read(&self.child.borrow().outputs).expect("the child has written its outputs");
        let logits: Vec<f32> = found.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
        choices_by_logits(&logits, positions)
    }
}

/// The network with its weights as floats.
fn in_floats(bytes: &[u8], source: &Source) -> Vec<u8> {
    let card = Model::new(source.clone(), None).expect("it was loaded before").card().clone();
    Source::state_dict_to_safetensors(bytes, &card).expect("it is a state dict")
}

/// The position as two players of 1500 would see it.
fn situation(position: &Chess) -> Situation<'_> {
    let seat = PlayerInfo { rating: Some(Elo(1500)), time_left: None };
    Situation { mover: seat, opponent: seat, ..Situation::of(position) }
}

fn positions() -> Vec<Chess> {
    let mut text = include_str!("../../../fixtures/positions.fen").to_owned();
    if let Ok(path) = std::env::var("TABIA_POSITIONS") {
        text.push_str(&fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}")));
    }
    let position = |line: &str| -> Chess {
        let fen: Fen = line.parse().unwrap_or_else(|e| panic!("{line}: {e}"));
        fen.into_position(CastlingMode::Standard).unwrap_or_else(|e| panic!("{line}: {e}"))
    };
    text.lines().map(position).collect()
}
