//! Correctness and speed of the GPU trainer: what `train check` and `train bench` print.

use std::io::Write;
use std::time::{Duration, Instant};

use super::backend::GpuBackend;
use super::graph;
use crate::optimiser::{self, Optimiser};
use crate::synthetic;
use crate::{
    Backend, BackendError, CpuBackend, Examples, Losses, NetConfig, OptimiserKind, Parameter, ParameterTable,
    StepHyper, TrainConfig, TrainerState, Weights,
};
use tabia_gpu::{Cuda, Device, Tuning};

/// The largest relative error of a parameter's gradient that rounding to bfloat16 explains.
pub(crate) const GRADIENT_TOLERANCE: f64 = 0.08;
pub(crate) const LOSS_TOLERANCE: f64 = 0.02;
/// The same for the way weights move. An eps above most gradients makes steps follow their size: with less, Adam's first
/// steps are as long for a gradient whose sign is noise as for a large one.
pub(crate) const STEP_TOLERANCE: f64 = 0.15;
pub(crate) const STEP_EPS: f32 = 1e-2;
/// Settings of steps that are compared in the tests: large, so that a wrong one shows.
#[cfg(test)]
pub(crate) const STEP_HYPER: StepHyper = StepHyper {
    lr: 1e-2,
    beta1: 0.9,
    beta2: 0.98,
    eps: STEP_EPS,
    weight_decay: 0.1,
    clip: 1.0,
    ema_decay: 0.5,
};
/// The same for one update by a given gradient and [momentum](with_momentum).
pub(crate) const UPDATE_TOLERANCE: f64 = 0.03;

/// One comparison of a fused result with the plain one.
#[derive(Clone, Debug)]
pub(crate) struct Compared {
    pub(crate) name: String,
    /// Length of the plain result.
    pub(crate) norm: f64,
    /// Length of the difference over that.
    pub(crate) error: f64,
}

fn length(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|v| v * v).sum::<f64>().sqrt()
}

impl Compared {
    pub(crate) fn new(name: impl Into<String>, fused: &[f32], plain: &[f32]) -> Self {
        Compared::among(name, fused, plain, 0.0)
    }

    /// The same for something so small beside the rest that only a difference beyond `least` counts.
    fn among(name: impl Into<String>, fused: &[f32], plain: &[f32], least: f64) -> Self {
        let norm = length(plain.iter().map(|&v| f64::from(v)));
        let distance = length(fused.iter().zip(plain).map(|(&a, &b)| f64::from(a) - f64::from(b)));
        // A gradient that is exactly zero has no relative error: its difference is then taken as it is.
        let error = if norm == 0.0 { distance } else { distance / norm.max(least) };
        Compared { name: name.into(), norm, error }
    }
}

/// The share of the whole gradient below which a parameter's is not compared with itself: a bias that every move shares
/// has a gradient of zero, but for rounding.
const LEAST_SHARE: f64 = 2e-3;

/// The gradient of every parameter and every loss, fused against plain.
pub(crate) fn compare_gradients(
    fused: &mut dyn Backend,
    plain: &mut dyn Backend,
    examples: &Examples,
) -> Result<(Vec<Compared>, Vec<Compared>), BackendError> {
    plain.load(&fused.state()?)?;
    let (fused_losses, fused_gradient) = fused.gradients(examples)?;
    let (plain_losses, plain_gradient) = plain.gradients(examples)?;
    let least = LEAST_SHARE * length(plain_gradient.iter().map(|&v| f64::from(v)));
    let compared = |entry: &Parameter| {
        Compared::among(&entry.name, entry.of(&fused_gradient), entry.of(&plain_gradient), least)
    };
    let gradients = plain.table().entries().iter().map(compared).collect();
    Ok((gradients, compare_losses(&fused_losses, &plain_losses)))
}

/// One step of the fused trainer against the plain optimiser's, by the gradient the fused one has: what is rounded before
/// that is no part of it. Of weights the way they move is compared, matrices of the body by themselves.
pub(crate) fn compare_update(
    fused: &mut dyn Backend,
    optimiser: Optimiser,
    examples: &Examples,
    hyper: &StepHyper,
) -> Result<Vec<Compared>, BackendError> {
    let before = fused.state()?;
    let (_, gradient) = fused.gradients(examples)?;
    fused.step(examples, hyper)?;
    fused.finish()?;
    let after = fused.state()?;
    let mut plain = before.clone();
    optimiser.step(fused.table(), &mut plain, &gradient, optimiser::norm(&gradient), hyper);
    let entries = fused.table().entries();
    let moved = |now: &[f32], then: &[f32], body: bool| -> Vec<f32> {
        let own = entries.iter().filter(|entry| (entry.matrices > 0) == body);
        own.flat_map(|entry| entry.of(now).iter().zip(entry.of(then)).map(|(a, b)| a - b)).collect()
    };
    let compared = |name: &str, fused: &[f32], plain: &[f32], then: &[f32], body| {
        Compared::new(format!("update {name}"), &moved(fused, then, body), &moved(plain, then, body))
    };
    let zeros = vec![0.0; before.m.len()];
    Ok(vec![
        compared("matrices", &after.weights, &plain.weights, &before.weights, true),
        compared("averaged matrices", &after.ema, &plain.ema, &before.ema, true),
        compared("other weights", &after.weights, &plain.weights, &before.weights, false),
        compared("other averaged weights", &after.ema, &plain.ema, &before.ema, false),
        Compared::new("update first moments", &after.m, &plain.m),
        compared("second moments of matrices", &after.v, &plain.v, &zeros, true),
        compared("other second moments", &after.v, &plain.v, &zeros, false),
    ])
}

fn compare_losses(fused: &Losses, plain: &Losses) -> Vec<Compared> {
    let parts = |l: &Losses| [l.total, l.policy, l.promotion, l.outcome, l.think, l.value];
    ["total", "policy", "promotion", "outcome", "think", "value"]
        .into_iter()
        .zip(parts(fused).into_iter().zip(parts(plain)))
        .map(|(name, (a, b))| Compared::new(format!("loss {name}"), &[a], &[b]))
        .collect()
}

/// Weights that exercise everything: gains, biases and score biases away from their initial ones and zeros.
///
/// A sum that rounding moves across the bend of a ReLU changes a gradient by all it is worth, and one among large logits
/// changes the chance of a move as much. Where there is enough of that to hide a mistake, sums are kept away from the
/// bend, and small.
pub(crate) fn stirred(backend: &dyn Backend, net: &NetConfig, seed: u64) -> TrainerState {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut weights = backend.table().initial(seed);
    let body = match net {
        NetConfig::Challenge(entry) => entry.body(),
        net => net.clone(),
    };
    let (shrink, lift) = match body {
        NetConfig::ValueCnn(_) => (0.1, 1.0),
        NetConfig::ValueMlp(_) | NetConfig::PolicyMlp(_) | NetConfig::Mlp(_) | NetConfig::Pair(_) => {
            (0.3, 1.0)
        }
        NetConfig::Nnue(_) => (0.3, 0.5),
        NetConfig::PolicyCnn(_) => (0.3, 0.0),
        NetConfig::Human(_)
        | NetConfig::Humchess(_)
        | NetConfig::ValueAttention(_)
        | NetConfig::Maia3(_)
        | NetConfig::Maia2(_)
        | NetConfig::Challenge(_) => (1.0, 0.0),
    };
    for entry in backend.table().entries() {
        let small = entry.decay == crate::Decay::Exempt;
        let add = if entry.name.ends_with(".bias") { lift } else { 0.0 };
        for value in entry.of_mut(&mut weights) {
            *value = if small { *value + add + 0.2 * (random.f32() - 0.5) } else { *value * shrink };
        }
    }
    TrainerState::fresh(weights)
}

/// Momentum in every direction, about as much as a clipped gradient. A gradient of a few examples has few directions; those
/// it has not are rounding alone, which Muon makes as long as the others.
pub(crate) fn with_momentum(state: TrainerState, table: &ParameterTable, seed: u64) -> TrainerState {
    let mut random = fastrand::Rng::with_seed(seed);
    let body = || table.entries().iter().filter(|entry| entry.matrices > 0);
    let size = 3.0 / (body().map(Parameter::len).sum::<usize>().max(1) as f32).sqrt();
    let mut state = state;
    for entry in body() {
        entry.of_mut(&mut state.m).fill_with(|| 2.0 * size * (random.f32() - 0.5));
    }
    state
}

/// A writer's failure as a backend's: there is nothing better to do with it.
fn wrote(result: std::io::Result<()>) -> Result<(), BackendError> {
    result.map_err(|error| BackendError::Device(format!("writing the report: {error}")))
}

/// Compares the fused trainer with the plain one on synthetic examples: losses, gradients, evaluation, a few steps.
///
/// Writes a line for each comparison and returns how many were out of tolerance.
///
/// # Errors
/// If there is no GPU or it fails; the message says where.
pub fn check(config: &TrainConfig, out: &mut dyn Write) -> Result<usize, BackendError> {
    let rows = config.data.batch.min(16);
    let config = TrainConfig { data: crate::DataConfig { batch: rows, ..config.data }, ..config.clone() };
    // The library's own choices: what is checked does not depend on which was faster today.
    let gpu = graph::open(&config, 1, Tuning::Suggested)?;
    describe(&gpu, out)?;
    compare(&config, gpu, out)
}

fn describe(gpu: &GpuBackend<Cuda>, out: &mut dyn Write) -> Result<(), BackendError> {
    wrote(writeln!(out, "device: {}", gpu.device()))?;
    for (kernel, registers, spilled) in gpu.device_of().kernel_facts() {
        wrote(writeln!(out, "kernel {kernel:22} {registers:4} registers {spilled:5} bytes spilled"))?;
    }
    Ok(())
}

/// Compares batches of the configuration's size.
pub(crate) fn compare<D: Device>(
    config: &TrainConfig,
    mut gpu: GpuBackend<D>,
    out: &mut dyn Write,
) -> Result<usize, BackendError> {
    let rows = config.data.batch;
    let mut bad = 0;
    let mut line = |out: &mut dyn Write, compared: &Compared, tolerance: f64| {
        let fine = compared.error <= tolerance;
        bad += usize::from(!fine);
        let verdict = if fine { "" } else { "BAD" };
        let Compared { name, norm, error } = compared;
        wrote(writeln!(out, "{name:34} norm {norm:12.5e}  relative error {error:9.5} {verdict}"))
    };
    let mut plain = CpuBackend::plain(config, 1);
    gpu.load(&stirred(&gpu, &config.net, 3))?;
    let examples = synthetic::examples(&config.net, rows, 11);
    let (gradients, losses) = compare_gradients(&mut gpu, &mut plain, &examples)?;
    for compared in &losses {
        line(out, compared, LOSS_TOLERANCE)?;
    }
    for compared in &gradients {
        line(out, compared, GRADIENT_TOLERANCE)?;
    }
    for weights in [Weights::Live, Weights::Averaged] {
        let (a, b) = (gpu.evaluate(&examples, weights)?, plain.evaluate(&examples, weights)?);
        let known = |v: &[f32]| v.iter().map(|x| if x.is_nan() { 0.0 } else { *x }).collect::<Vec<f32>>();
        let columns = [
            ("policy", &a.policy, &b.policy),
            ("promotion", &a.promotion, &b.promotion),
            ("outcome", &a.outcome, &b.outcome),
            ("think", &a.think, &b.think),
            ("value", &a.value, &b.value),
            ("value loss", &a.value_loss, &b.value_loss),
        ];
        for (name, fused, plain) in columns.into_iter().filter(|(_, _, plain)| !plain.is_empty()) {
            let name = format!("evaluate {weights:?} {name}");
            line(out, &Compared::new(name, &known(fused), &known(plain)), LOSS_TOLERANCE)?;
        }
    }
    let hyper = StepHyper {
        lr: 1e-3,
        beta1: 0.9,
        beta2: 0.98,
        eps: STEP_EPS,
        weight_decay: 0.01,
        clip: 1.0,
        ema_decay: 0.9,
    };
    let before = gpu.state()?.weights;
    for step in 0..4 {
        let examples = synthetic::examples(&config.net, rows, 20 + step);
        let mut reports = gpu.step(&examples, &hyper)?;
        reports.extend(gpu.finish()?);
        let plain_report = plain.step(&examples, &hyper)?;
        for (a, b) in reports.iter().zip(&plain_report) {
            let name = format!("step {} total", a.step);
            line(out, &Compared::new(name, &[a.losses.total], &[b.losses.total]), LOSS_TOLERANCE)?;
            let name = format!("step {} gradient norm", a.step);
            line(out, &Compared::new(name, &[a.gradient_norm], &[b.gradient_norm]), GRADIENT_TOLERANCE)?;
        }
    }
    // Two gradients that differ by rounding alone have other small directions, which Muon takes as seriously as the rest.
    if config.optimiser.kind == OptimiserKind::Adamw {
        let moved = |after: &[f32]| after.iter().zip(&before).map(|(a, b)| a - b).collect::<Vec<f32>>();
        let (a, b) = (gpu.state()?, plain.state()?);
        let weights = Compared::new("weights moved in 4 steps", &moved(&a.weights), &moved(&b.weights));
        line(out, &weights, STEP_TOLERANCE)?;
        let averaged = Compared::new("averaged weights moved", &moved(&a.ema), &moved(&b.ema));
        line(out, &averaged, STEP_TOLERANCE)?;
    }
    let state = with_momentum(gpu.state()?, gpu.table(), 5);
    gpu.load(&state)?;
    let examples = synthetic::examples(&config.net, rows, 24);
    for compared in compare_update(&mut gpu, Optimiser::of(&config.optimiser), &examples, &hyper)? {
        line(out, &compared, UPDATE_TOLERANCE)?;
    }
    let worst = gradients.iter().map(|c| c.error).fold(0.0, f64::max);
    let verdict = if bad == 0 { "PASS" } else { "FAIL" };
    wrote(writeln!(out, "CHECK {verdict}: {bad} out of tolerance, worst gradient error {worst:.5}"))?;
    Ok(bad)
}

/// How long and how closely to measure.
#[derive(Clone, Copy, Debug)]
pub struct BenchPlan {
    /// How long to train.
    pub time: Duration,
    /// Steps to profile afterwards; none for 0.
    pub profiled_steps: u32,
}

/// Trains on synthetic batches and prints positions per second, and what each kernel and product costs.
///
/// # Errors
/// If there is no GPU or it fails; the message says where.
#[expect(clippy::disallowed_methods, reason = "measuring time is what it is for")]
pub fn bench(config: &TrainConfig, plan: BenchPlan, out: &mut dyn Write) -> Result<(), BackendError> {
    let opened = Instant::now();
    let mut gpu = graph::open(config, 1, Tuning::Measured)?;
    wrote(writeln!(out, "device: {}, {} parameters", gpu.device(), gpu.table().parameters()))?;
    wrote(writeln!(out, "opened in {:.2} s", opened.elapsed().as_secs_f64()))?;
    let batch = config.data.batch;
    let batches = batches(config);
    let Timed { steps: first, seconds, .. } = steps(&mut gpu, &batches, Duration::ZERO)?;
    wrote(writeln!(out, "first {first} steps (tuning included) {seconds:.2} s"))?;
    let Timed { steps, seconds, host, loss } = steps(&mut gpu, &batches, plan.time)?;
    wrote(writeln!(
        out,
        "RESULT positions/s={:.0} batch={batch} steps={steps} ms/step={:.3} host ms/step={:.3} loss={loss:.5}",
        (steps * batch) as f64 / seconds,
        seconds * 1e3 / steps as f64,
        host.as_secs_f64() * 1e3 / steps as f64,
    ))?;
    if plan.profiled_steps > 0 {
        profile(&mut gpu, &batches, plan.profiled_steps, out)?;
    }
    Ok(())
}

fn batches(config: &TrainConfig) -> Vec<Examples> {
    (0..4).map(|seed| synthetic::examples(&config.net, config.data.batch, seed)).collect()
}

/// Steps that were timed.
struct Timed {
    steps: usize,
    seconds: f64,
    /// Time spent in calls of the trainer, before the last step was waited for.
    host: Duration,
    loss: f32,
}

/// Trains for `time`, and at least once on every batch.
#[expect(clippy::disallowed_methods, reason = "measuring time is what it is for")]
fn steps(gpu: &mut dyn Backend, batches: &[Examples], time: Duration) -> Result<Timed, BackendError> {
    let begin = Instant::now();
    let (mut steps, mut last, mut host) = (0_usize, None, Duration::ZERO);
    while steps < batches.len() || begin.elapsed() < time {
        let called = Instant::now();
        last = gpu.step(&batches[steps % batches.len()], &BENCH_HYPER)?.pop().or(last);
        host += called.elapsed();
        steps += 1;
    }
    last = gpu.finish()?.pop().or(last);
    let loss = last.map_or(f32::NAN, |report| report.losses.total);
    Ok(Timed { steps, seconds: begin.elapsed().as_secs_f64(), host, loss })
}

const BENCH_HYPER: StepHyper = StepHyper {
    lr: 1e-4,
    beta1: 0.9,
    beta2: 0.98,
    eps: 1e-8,
    weight_decay: 0.01,
    clip: 1.0,
    ema_decay: 0.999,
};

fn profile(
    gpu: &mut GpuBackend<Cuda>,
    batches: &[Examples],
    steps: u32,
    out: &mut dyn Write,
) -> Result<(), BackendError> {
    for note in gpu.device_of().tuned() {
        wrote(writeln!(out, "TUNED {note}"))?;
    }
    gpu.device_of().start_profile();
    for examples in batches.iter().cycle().take(steps as usize) {
        gpu.step(examples, &BENCH_HYPER)?;
    }
    gpu.finish()?;
    let lines = gpu.device_of().profile()?;
    let total: f64 = lines.iter().map(|line| line.milliseconds).sum();
    for line in &lines {
        wrote(writeln!(
            out,
            "PROFILE {:44} {:4} a step {:9.3} ms a step {:9.1} us each {:5.1} %",
            line.name,
            line.calls / steps,
            line.milliseconds / f64::from(steps),
            line.milliseconds * 1e3 / f64::from(line.calls),
            100.0 * line.milliseconds / total,
        ))?;
    }
    wrote(writeln!(out, "PROFILE total {:.3} ms a step", total / f64::from(steps)))
}

#[cfg(test)]
mod tests {
    use super::super::graph::Recorded;
    use super::*;
    use crate::nets::HumanConfig;
    use tabia_gpu::Emulated;

    fn config(net: HumanConfig) -> TrainConfig {
        let text = "name = 'small'\nnet = { kind = 'human' }";
        TrainConfig { net: NetConfig::Human(net), ..TrainConfig::parse(text).unwrap() }
    }

    fn small() -> HumanConfig {
        HumanConfig { width: 64, heads: 2, layers: 2, inner: 96, pair: 32, hidden: 32, sites: false }
    }

    /// The fused trainer in emulation, or nothing where there is no compiler.
    fn emulated(net: HumanConfig, rows: usize) -> Option<GpuBackend<Emulated>> {
        emulated_by(net, rows, OptimiserKind::Adamw)
    }

    fn emulated_by(net: HumanConfig, rows: usize, kind: OptimiserKind) -> Option<GpuBackend<Emulated>> {
        let mut config = config(net);
        (config.optimiser.kind, config.data.batch) = (kind, rows);
        let recorded = Recorded::new(&config).unwrap();
        let device = Emulated::open(&recorded.sources(), &recorded.defines())?;
        let mut fused = recorded.on(device, &config, 5).unwrap();
        fused.load(&stirred(&fused, &NetConfig::Human(net), 5)).unwrap();
        Some(fused)
    }

    #[test]
    fn measuring_a_device_leaves_its_state() {
        let Some(mut fused) = emulated(small(), 4) else { return };
        let examples = synthetic::examples(&NetConfig::Human(small()), 3, 7);
        let before = fused.state().unwrap();
        crate::forecast::measure_steps(&mut fused, &examples, &|| 0.0).unwrap();
        assert_eq!(fused.state().unwrap(), before);
    }

    #[test]
    fn steps_and_scores_follow_the_plain_network() {
        let net = HumanConfig { layers: 1, ..small() };
        let Some(mut fused) = emulated(net, 4) else { return };
        let mut plain = CpuBackend::plain(&config(net), 5);
        plain.load(&fused.state().unwrap()).unwrap();
        let before = fused.state().unwrap();
        for step in 1..=2 {
            let examples = synthetic::examples(&NetConfig::Human(net), 2, step);
            let mut reports = fused.step(&examples, &STEP_HYPER).unwrap();
            reports.extend(fused.finish().unwrap());
            let expected = plain.step(&examples, &STEP_HYPER).unwrap();
            assert_eq!(reports.len(), 1);
            assert_eq!(reports[0].step, step);
            assert!((reports[0].losses.total / expected[0].losses.total - 1.0).abs() < 0.02);
            assert!((reports[0].gradient_norm / expected[0].gradient_norm - 1.0).abs() < 0.05);
        }
        let (after, expected) = (fused.state().unwrap(), plain.state().unwrap());
        let moved = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<f32>>();
        let pairs = [
            (moved(&after.weights, &before.weights), moved(&expected.weights, &before.weights)),
            (moved(&after.ema, &before.ema), moved(&expected.ema, &before.ema)),
        ];
        assert_eq!((after.step, expected.step), (2, 2));
        for (fused, plain) in pairs {
            let compared = Compared::new("moved", &fused, &plain);
            assert!(compared.error < STEP_TOLERANCE, "{compared:?}");
        }

        let examples = synthetic::examples(&NetConfig::Human(net), 3, 9);
        fused.load(&expected).unwrap();
        for weights in [Weights::Live, Weights::Averaged] {
            let (a, b) =
                (fused.evaluate(&examples, weights).unwrap(), plain.evaluate(&examples, weights).unwrap());
            for (a, b) in [
                (&a.policy, &b.policy),
                (&a.promotion, &b.promotion),
                (&a.outcome, &b.outcome),
                (&a.think, &b.think),
            ] {
                assert_eq!(a.len(), b.len());
                for (a, b) in a.iter().zip(b) {
                    assert!(
                        a.is_nan() == b.is_nan() && (a.is_nan() || (a - b).abs() < 0.05),
                        "{a} against {b}"
                    );
                }
            }
            assert_eq!(a.rank.len(), b.rank.len());
        }
    }

    #[test]
    fn muon_moves_the_human_network_as_the_plain_optimiser_does() {
        let net = HumanConfig { layers: 1, ..small() };
        let Some(mut fused) = emulated_by(net, 2, OptimiserKind::Muon) else { return };
        for step in 1..=2 {
            let state = with_momentum(fused.state().unwrap(), fused.table(), step);
            fused.load(&state).unwrap();
            let examples = synthetic::examples(&NetConfig::Human(net), 2, step);
            let muon = Optimiser::Muon { momentum: 0.95 };
            for compared in compare_update(&mut fused, muon, &examples, &STEP_HYPER).unwrap() {
                assert!(compared.error < UPDATE_TOLERANCE, "{step}: {compared:?}");
            }
        }
    }

    #[test]
    fn a_step_that_is_not_finite_changes_nothing() {
        for kind in [OptimiserKind::Adamw, OptimiserKind::Muon] {
            not_finite(kind);
        }
    }

    fn not_finite(kind: OptimiserKind) {
        let net = HumanConfig { layers: 1, ..small() };
        let Some(mut fused) = emulated_by(net, 2, kind) else { return };
        let mut state = fused.state().unwrap();
        let final_gain = fused.table().get("norm_final.weight").unwrap().offset;
        state.weights[final_gain] = f32::INFINITY;
        fused.load(&state).unwrap();
        let hyper = StepHyper {
            lr: 1e-2,
            beta1: 0.9,
            beta2: 0.98,
            eps: 1e-8,
            weight_decay: 0.1,
            clip: 0.0,
            ema_decay: 0.5,
        };
        let examples = synthetic::examples(&NetConfig::Human(net), 2, 1);
        let mut reports = fused.step(&examples, &hyper).unwrap();
        reports.extend(fused.finish().unwrap());
        assert!(!reports[0].is_finite());
        assert_eq!(fused.state().unwrap(), state);
    }

    #[test]
    fn examples_that_do_not_fit_are_refused() {
        let net = HumanConfig { layers: 1, ..small() };
        let Some(mut fused) = emulated(net, 2) else { return };
        let too_many = synthetic::examples(&NetConfig::Human(net), 3, 1);
        assert!(fused.gradients(&too_many).is_err());
        let mut bad_move = synthetic::examples(&NetConfig::Human(net), 2, 1);
        bad_move.policy.as_mut().unwrap().played[0] = 4096;
        assert!(fused.gradients(&bad_move).is_err());
    }
}
