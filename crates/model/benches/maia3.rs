//! The transformer runtime against rten and onnxruntime: Maia-3 with random weights, one position a call.
//!
//! All runtimes get the same network and positions, each on one thread, in interleaved rounds of which the best counts. Our times
//! and rten's include encoding and reading the policy; onnxruntime gets its inputs ready-made.
//!
//! `TABIA_MAIA3` names the size: 3M, 5M (default), 23M or 79M. Also compares the first choices and probabilities with those of the
//! `f32` graph on rten.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a bench is a program: it reads the clock and the environment, and prints"
)]

use std::{cell::RefCell, path::Path, rc::Rc};

use safetensors::{Dtype, tensor::TensorView};
use shakmaty::{Chess, Position};
use tabia_bench::{Contender, Onnxruntime, Pass, Shown, Table, best_of};
use tabia_encoding::{Batch, Column, Elo, PlayerInfo, Situation, vocabulary};
use tabia_model::{Model, Policy, Source, WeightPrecision};
use tabia_nets::{Architecture, Maia3Config};
use tabia_runtime::transformer::Level;

const ROUNDS: usize = 9;
/// Positions in a round.
const TIMED: usize = 24;

fn main() {
    // `cargo test --benches` starts this too; only `cargo bench` asks for a measurement.
    if std::env::args().any(|argument| argument == "--bench") {
        bench();
    }
}

fn bench() {
    let size = std::env::var("TABIA_MAIA3").unwrap_or_else(|_| "5M".to_owned());
    let floats = random_weights(&config(&size));
    let positions = tabia_bench::positions(include_str!("../../../fixtures/positions.fen"));
    let timed = &positions[..TIMED];

    let source = Source::read(&floats).expect("named as Maia-3");
    let card = Model::new(source.clone(), None).expect("it was read").card().clone();
    println!("{}", card.architecture.as_deref().unwrap_or_default());
    let onnx = source.to_onnx(&card).expect("its weights are finite");
    let rounded = Source::state_dict_as(&floats, &card, None, WeightPrecision::Int8).expect("a state dict");
    let mut models = vec![("rten f32".to_owned(), Model::from_bytes(&onnx).expect("our own graph is valid"))];
    // Plain Rust is the reference and an order of magnitude slower.
    for level in Level::available().skip(1) {
        for (bytes, numbers) in [(&rounded, "int8"), (&floats, "f32")] {
            let model = Source::read(bytes).and_then(|source| Model::at_level(source, None, level));
            models.push((format!("tabia {numbers}, {level}"), model.expect("it was loaded before")));
        }
    }
    let mut passes = Vec::new();
    for (name, model) in &models {
        passes.push(Pass::new(name.clone(), TIMED, move |_| {
            for position in timed {
                model.evaluate(&[situation(position)]).expect("the network runs");
            }
        }));
    }
    let inputs = encoded(timed);
    let inputs: Vec<&[f32]> = inputs.iter().map(Vec::as_slice).collect();
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
    match Onnxruntime::start(scratch, &onnx, "logits_move", &inputs, &[TIMED]) {
        Ok(child) => {
            let child = Rc::new(RefCell::new(child));
            for numbers in ["f32", "int8"] {
                let (child, mode) = (child.clone(), format!("{numbers} single"));
                let run = move |logits: &mut Vec<f32>| child.borrow_mut().run(&mode, logits);
                passes.push(Pass::self_timed(format!("onnxruntime {numbers}"), TIMED, run));
            }
        }
        Err(why) => println!("onnxruntime is left out: {why}"),
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

    let policies = |model: &Model| -> Vec<Policy> {
        let evaluate = |position| model.evaluate(&[situation(position)]).expect("the network runs").remove(0);
        positions.iter().map(|position| evaluate(position).policy.expect("a policy")).collect()
    };
    let exact = policies(&models[0].1);
    let ours = models.iter().flat_map(|(name, model)| {
        let policies = policies(model);
        let some = policies[..TIMED].to_vec();
        [(name, some), (name, policies)]
    });
    let by_logits = passes.iter().filter(|pass| !pass.outputs.is_empty());
    let theirs = by_logits.map(|pass| (&pass.name, policies_of(&pass.outputs, timed)));
    for (name, policies) in ours.chain(theirs) {
        let pairs = || policies.iter().zip(&exact);
        let best = |policy: &Policy| policy.best().map(|candidate| candidate.mv);
        let same = pairs().filter(|(a, b)| best(a) == best(b)).count();
        let differences: Vec<f32> = pairs()
            .flat_map(|(a, b)| {
                let candidates = b.candidates().iter();
                candidates
                    .map(|of| (a.probability(of.mv).ln() - of.probability.ln()).abs())
                    .collect::<Vec<_>>()
            })
            .collect();
        let mean = differences.iter().sum::<f32>() / differences.len() as f32;
        let most = differences.iter().copied().fold(0.0, f32::max);
        println!(
            "{name:24}{same} of {} first choices as rten's; ln p off by {mean:.5} on average, at most {most:.4}",
            policies.len()
        );
    }
}

/// The sizes that the networks are published in.
fn config(size: &str) -> Maia3Config {
    let (width, heads, bias_square, bias) = match size {
        "3M" => (192, 6, 0, 64),
        "5M" => (256, 8, 0, 64),
        "23M" => (512, 16, 32, 128),
        "79M" => (1024, 32, 32, 128),
        other => panic!("TABIA_MAIA3: unknown size {other:?} (expected 3M, 5M, 23M or 79M)"),
    };
    Maia3Config {
        boards: 8,
        width,
        heads,
        layers: 8,
        inner: 2 * width,
        rating: 128,
        head: width,
        bias_square,
        bias_hidden: bias,
        bias_width: bias,
        layer_norm: false,
    }
}

/// A network as it is before training, with attention without biases, as a safetensors file.
fn random_weights(config: &Maia3Config) -> Vec<u8> {
    let table = config.table();
    let weights = table.initial(1);
    let used = table
        .entries()
        .iter()
        .filter(|entry| !entry.name.ends_with("in_proj_bias") && !entry.name.ends_with("out_proj.bias"));
    let tensors: Vec<(&str, Vec<usize>, Vec<u8>)> = used
        .map(|entry| {
            let data = entry.of(&weights).iter().flat_map(|number| number.to_le_bytes()).collect();
            (&*entry.name, entry.shape.clone(), data)
        })
        .collect();
    let views = tensors.iter().map(|(name, shape, data)| {
        (*name, TensorView::new(Dtype::F32, shape.clone(), data).expect("as many elements"))
    });
    safetensors::serialize(views, None).expect("named tensors")
}

fn encoded(positions: &[Chess]) -> Vec<Vec<f32>> {
    let mut batch = Batch::new(tabia_encoding::encoding("maia3-96").expect("a known id"));
    positions.iter().for_each(|position| batch.push(&situation(position)));
    let floats = |column: &Column| match column {
        Column::Values(values) => values.clone(),
        Column::Ids(ids) => ids.iter().map(|&id| id as f32).collect(),
    };
    batch.columns().iter().map(floats).collect()
}

fn policies_of(logits: &[f32], positions: &[Chess]) -> Vec<Policy> {
    let moves = vocabulary("maia3-4352").expect("a known id");
    let rows = logits.chunks_exact(moves.width()).zip(positions);
    rows.map(|(logits, position)| {
        Policy::from_logits(moves, position.turn(), &position.legal_moves(), logits, &[])
    })
    .collect()
}

/// The position with players rated 1500 and 1600.
fn situation(position: &Chess) -> Situation<'_> {
    let player = |rating| PlayerInfo { rating: Some(Elo(rating)), time_left: None };
    Situation { mover: player(1500), opponent: player(1600), ..Situation::of(position) }
}
