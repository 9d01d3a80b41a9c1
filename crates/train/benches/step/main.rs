//! One training step on the CPU: ours against the same network and step written with candle and with PyTorch.
//!
//! All get the same weights and the same batch, 32-bit floats and as many threads, and have to agree on the loss before
//! and after some steps; then they take turns in rounds of which the best counts. A step is forward, backward and AdamW;
//! ours also measures the gradient and averages the weights, and begins with examples as the loader gives them, where the
//! others are handed ready tensors. PyTorch runs without torch.compile in a child (`TABIA_PYTHON`, else `python3`), see
//! `tools/bench_torch.py`; without it the bench says so and goes on.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a bench is a program: it reads the clock and the environment, and prints"
)]

mod candle;
mod case;
mod torch;

use std::time::{Duration, Instant};

use tabia_bench::{Contender, Round, Shown, Table, best_of};
use tabia_train::{Backend, CpuBackend, StepHyper};

use crate::candle::CandleTrainer;
use crate::case::Case;
use crate::torch::{Torch, TorchTrainer};

const ROUNDS: usize = 5;
/// How far losses may be apart, as a share, at the same weights.
const SAME: f32 = 1e-3;
/// The same after [`AGREEING_STEPS`] steps.
const SIMILAR: f32 = 1e-2;
const AGREEING_STEPS: usize = 2;

/// A configuration, how many positions a batch has, and how many steps a round: of large networks few.
const CASES: [(&str, usize, usize); 6] = [
    ("value-nnue", 8192, 2),
    ("value-mlp", 2048, 1),
    ("policy-mlp", 512, 1),
    ("policy-cnn", 32, 1),
    ("challenge-l", 64, 1),
    ("human", 16, 1),
];

/// The settings everyone uses. No clipping, which only ours knows.
const HYPER: StepHyper = StepHyper {
    lr: 1e-3,
    beta1: 0.9,
    beta2: 0.98,
    eps: 1e-8,
    weight_decay: 0.01,
    clip: 0.0,
    ema_decay: 0.999,
};

/// A network in training, on a batch of its own.
trait Trainer {
    fn name(&self) -> String;

    /// Makes so many steps, at least one. Gives how long they took and the loss at the beginning of the last one.
    fn steps(&mut self, count: usize) -> Result<(Duration, f32), String>;
}

fn main() {
    // `cargo test --benches` starts this too; only `cargo bench` asks for a measurement.
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--bench") {
        let wanted: Vec<&str> =
            arguments.iter().map(String::as_str).filter(|argument| !argument.starts_with("--")).collect();
        if let Err(error) = bench(&wanted) {
            eprintln!("error: {error}");
            std::process::exit(1);
        }
    }
}

fn bench(wanted: &[&str]) -> Result<(), String> {
    let threads = rayon::current_num_threads();
    let torch = Torch::start(threads).inspect_err(|why| println!("PyTorch is left out: {why}")).ok();
    println!("training steps on {threads} threads, 32-bit floats, best of {ROUNDS} rounds");
    for (name, batch, steps) in CASES {
        if wanted.is_empty() || wanted.contains(&name) {
            compare(&Case::new(name, batch)?, steps, torch.as_ref())
                .map_err(|error| format!("{name}: {error}"))?;
        }
    }
    Ok(())
}

fn compare(case: &Case, steps: usize, torch: Option<&Torch>) -> Result<(), String> {
    let mut trainers: Vec<Box<dyn Trainer + '_>> = vec![Box::new(Ours::new(case))];
    match CandleTrainer::new(case) {
        Ok(trainer) => trainers.push(Box::new(trainer)),
        Err(why) => println!("candle is left out: {why}"),
    }
    if let Some(torch) = torch {
        match TorchTrainer::new(torch, case) {
            Ok(trainer) => trainers.push(Box::new(trainer)),
            Err(why) => println!("PyTorch is left out: {why}"),
        }
    }
    agree(&mut trainers, 1, SAME)?;
    agree(&mut trainers, AGREEING_STEPS, SIMILAR)?;

    let batch = case.examples.rows();
    let mut contenders: Vec<Box<TimedSteps<'_>>> =
        trainers.into_iter().map(|trainer| Box::new(TimedSteps { trainer, steps, batch })).collect();
    let best = best_of(ROUNDS, &mut contenders);
    let lines = contenders.iter().map(|contender| contender.name()).zip(best).collect();
    let ratios = [("of candle's", "candle"), ("of PyTorch's", "PyTorch")];
    let parameters = case.table.parameters();
    println!("\n{}: {parameters} parameters, {batch} positions a step", case.config.name);
    println!("{}", Table { unit: "position", shown: Shown::PerSecond, lines, ratios: &ratios });
    Ok(())
}

/// Everyone makes so many steps and has to say the loss that the first one says.
fn agree(trainers: &mut [Box<dyn Trainer + '_>], steps: usize, tolerance: f32) -> Result<(), String> {
    let mut expected = None;
    for trainer in trainers {
        let (_, loss) = trainer.steps(steps)?;
        let expected = *expected.get_or_insert(loss);
        let off = (loss / expected - 1.0).abs();
        if !loss.is_finite() || off > tolerance {
            return Err(format!("{} has a loss of {loss}, not {expected}", trainer.name()));
        }
    }
    Ok(())
}

struct TimedSteps<'a> {
    trainer: Box<dyn Trainer + 'a>,
    steps: usize,
    batch: usize,
}

impl Contender for TimedSteps<'_> {
    fn name(&self) -> String {
        self.trainer.name()
    }

    fn round(&mut self) -> Round {
        let (time, _) = self.trainer.steps(self.steps).expect("it made steps before");
        Round { work: (self.steps * self.batch) as u64, time }
    }
}

/// The CPU backend, as a run uses it.
struct Ours<'a> {
    case: &'a Case,
    backend: CpuBackend,
}

impl<'a> Ours<'a> {
    fn new(case: &'a Case) -> Self {
        Ours { case, backend: CpuBackend::new(&case.config, case::SEED) }
    }
}

impl Trainer for Ours<'_> {
    fn name(&self) -> String {
        "tabia".to_owned()
    }

    fn steps(&mut self, count: usize) -> Result<(Duration, f32), String> {
        let started = Instant::now();
        let mut loss = f32::NAN;
        for _ in 0..count {
            let reports =
                self.backend.step(&self.case.examples, &HYPER).map_err(|error| error.to_string())?;
            loss = reports.last().map_or(f32::NAN, |report| report.losses.total);
        }
        Ok((started.elapsed(), loss))
    }
}
