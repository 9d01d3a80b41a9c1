//! One training step on the CPU: the default trainer against the plain one, which uses candle's own operations only.
//!
//! Both get the same weights and batch, and have to agree on the loss before and after some steps; then they take turns in
//! rounds of which the best counts. A step is forward, backward and AdamW.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a bench is a program: it reads the clock and the environment, and prints"
)]

use std::path::Path;
use std::time::{Duration, Instant};

use tabia_bench::{Contender, Round, Shown, Table, best_of};
use tabia_train::{Backend, CpuBackend, Examples, StepHyper, TrainConfig, synthetic};

/// Seed of the initial weights and the positions.
const SEED: u64 = 1;
const ROUNDS: usize = 5;
/// The largest relative difference of losses at the same weights.
const SAME: f32 = 1e-3;
/// The same after [`AGREEING_STEPS`] steps.
const SIMILAR: f32 = 1e-2;
const AGREEING_STEPS: usize = 2;

/// A configuration, its batch size, and the steps of a round.
const CASES: [(&str, usize, usize); 6] = [
    ("value-nnue", 8192, 2),
    ("value-mlp", 2048, 1),
    ("policy-mlp", 512, 1),
    ("policy-cnn", 32, 1),
    ("challenge-l", 64, 1),
    ("human", 16, 1),
];

const HYPER: StepHyper = StepHyper {
    lr: 1e-3,
    beta1: 0.9,
    beta2: 0.98,
    eps: 1e-8,
    weight_decay: 0.01,
    clip: 0.0,
    ema_decay: 0.999,
};

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
    println!("training steps on {threads} threads, 32-bit floats, best of {ROUNDS} rounds");
    for (name, batch, steps) in CASES {
        if wanted.is_empty() || wanted.contains(&name) {
            compare(name, batch, steps).map_err(|error| format!("{name}: {error}"))?;
        }
    }
    Ok(())
}

fn compare(name: &str, batch: usize, steps: usize) -> Result<(), String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../configs/{name}.toml"));
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let config = TrainConfig::parse(&text).map_err(|error| error.to_string())?;
    let examples = &synthetic::examples(&config.net, batch, SEED);
    let mut trainers = [
        Box::new(Trainer { name: "tabia", backend: CpuBackend::new(&config, SEED), examples, steps }),
        Box::new(Trainer { name: "candle", backend: CpuBackend::plain(&config, SEED), examples, steps }),
    ];
    agree(&mut trainers, 1, SAME)?;
    agree(&mut trainers, AGREEING_STEPS, SIMILAR)?;

    let best = best_of(ROUNDS, &mut trainers);
    let lines = trainers.iter().map(|trainer| trainer.name()).zip(best).collect();
    println!("\n{name}: {} parameters, {batch} positions a step", config.net.table().parameters());
    let ratios = [("of candle's", "candle")];
    println!("{}", Table { unit: "position", shown: Shown::PerSecond, lines, ratios: &ratios });
    Ok(())
}

/// Both make so many steps and have to report the same loss.
fn agree(trainers: &mut [Box<Trainer<'_>>; 2], steps: usize, tolerance: f32) -> Result<(), String> {
    let [expected, loss] = trainers.each_mut().map(|trainer| trainer.run(steps));
    let (expected, loss) = (expected?.1, loss?.1);
    if !loss.is_finite() || (loss / expected - 1.0).abs() > tolerance {
        return Err(format!("candle has a loss of {loss}, not {expected}"));
    }
    Ok(())
}

/// A network in training on one batch.
struct Trainer<'a> {
    name: &'static str,
    backend: CpuBackend,
    examples: &'a Examples,
    steps: usize,
}

impl Trainer<'_> {
    /// Makes so many steps; returns the time and the loss at the beginning of the last one.
    fn run(&mut self, count: usize) -> Result<(Duration, f32), String> {
        let started = Instant::now();
        let mut loss = f32::NAN;
        for _ in 0..count {
            let reports = self.backend.step(self.examples, &HYPER).map_err(|error| error.to_string())?;
            loss = reports.last().map_or(f32::NAN, |report| report.losses.total);
        }
        Ok((started.elapsed(), loss))
    }
}

impl Contender for Trainer<'_> {
    fn name(&self) -> String {
        self.name.to_owned()
    }

    fn round(&mut self) -> Round {
        let (time, _) = self.run(self.steps).expect("it made steps before");
        Round { work: (self.steps * self.examples.rows()) as u64, time }
    }
}
