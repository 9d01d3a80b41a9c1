//! Gradients against finite differences, for every parameter of every kind of network.

use tabia_train::{
    Backend, CpuBackend, Examples, FeedSupply, ParameterTable, Supply, SupplyOptions, TrainConfig,
    TrainerState, Weights,
};
use tempfile::{TempDir, tempdir};

use crate::configs::{From, KINDS, config};
use crate::sets;

fn examples(folder: &TempDir, config: &TrainConfig, from: From) -> Examples {
    let dir = folder.path().join(if from == From::Games { "games" } else { "evaluations" });
    if !dir.exists() {
        match from {
            From::Games => sets::games(&dir),
            From::Evaluations => sets::evaluations(&dir),
        }
    }
    let options =
        SupplyOptions { sets: vec![dir], mix: Vec::new(), seed: 3, threads: 1, teachers: Vec::new() };
    FeedSupply::open(config, options, None).unwrap().next().unwrap()
}

/// The loss when the weights go `by` along `direction`.
fn loss(backend: &mut CpuBackend, weights: &[f32], direction: &[f32], by: f32, examples: &Examples) -> f64 {
    let moved = weights.iter().zip(direction).map(|(w, d)| w + by * d).collect();
    backend.load(&TrainerState::fresh(moved)).unwrap();
    f64::from(backend.gradients(examples).unwrap().0.total)
}

#[test]
fn gradients_are_slopes() {
    let folder = tempdir().unwrap();
    for (name, ..) in KINDS {
        let (mut config, from) = config(name);
        config.data.batch = 4;
        let examples = examples(&folder, &config, from);
        let mut backend = CpuBackend::plain(&config, 5);
        let weights = backend.state().unwrap().weights;
        let (losses, gradient) = backend.gradients(&examples).unwrap();
        assert!(losses.total.is_finite() && losses.total > 0.0, "{name}: {losses:?}");
        let table = backend.table().clone();
        let mut checked = 0;
        for entry in table.entries() {
            // Straight up the slope of this one tensor.
            let own = entry.of(&gradient);
            let steepness = own.iter().map(|&g| f64::from(g) * f64::from(g)).sum::<f64>().sqrt();
            if steepness < 1e-4 {
                continue;
            }
            let mut direction = vec![0.0; table.arena_len()];
            for (slot, g) in entry.of_mut(&mut direction).iter_mut().zip(own) {
                *slot = (f64::from(*g) / steepness) as f32;
            }
            // Small enough to be straight, large enough to rise above the rounding of 32 bits; kinks of ReLU and
            // curvature ask for the best of a few.
            let off = |by: f32| {
                let up = loss(&mut backend, &weights, &direction, by, &examples);
                let down = loss(&mut backend, &weights, &direction, -by, &examples);
                ((up - down) / (2.0 * f64::from(by)) / steepness - 1.0).abs()
            };
            let close = [0.01, 0.003, 0.03, 0.001, 0.0003, 0.0001].into_iter().map(off).any(|off| off < 0.03);
            assert!(close, "{name}: {} does not have a slope of {steepness}", entry.name);
            checked += 1;
        }
        assert!(2 * checked > table.entries().len(), "{name}: only {checked} tensors have a slope");
    }
}

fn length(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|v| v * v).sum::<f64>().sqrt()
}

/// Each tensor's gradients are the same up to rounding.
fn assert_close(name: &str, table: &ParameterTable, a: &[f32], b: &[f32]) {
    let whole = length(a.iter().map(|&g| f64::from(g)));
    for entry in table.entries() {
        let (own, other) = (entry.of(a), entry.of(b));
        let off = length(own.iter().zip(other).map(|(&a, &b)| f64::from(a) - f64::from(b)));
        // What cancels out but for rounding has no length to compare with.
        let scale = length(own.iter().map(|&g| f64::from(g))).max(1e-3 * whole);
        assert!(off < 1e-4 * scale, "{name}: {} is off by {off} of {scale}", entry.name);
    }
}

#[test]
fn micro_batches_add_up_to_the_gradient_of_the_batch() {
    let folder = tempdir().unwrap();
    for (name, ..) in KINDS {
        let (mut config, from) = config(name);
        config.data.batch = 21;
        let mut examples = examples(&folder, &config, from);
        // Weights that differ, and padding that fills the last micro-batch.
        for (row, weight) in examples.weights.iter_mut().enumerate() {
            *weight = if row < 20 { 1.0 + row as f32 / 7.0 } else { 0.0 };
        }
        let mut whole = CpuBackend::new(&config, 5);
        assert!(whole.micro_batch().is_some_and(|rows| rows >= 21), "{name} is small");
        let (losses, gradient) = whole.gradients(&examples).unwrap();
        for rows in [1, 5, 20] {
            let mut split = CpuBackend::new(&config, 5).with_micro_batch(rows);
            let (split_losses, split_gradient) = split.gradients(&examples).unwrap();
            let off = (losses.total - split_losses.total).abs();
            assert!(off < 1e-5 * losses.total.max(1.0), "{name}: {losses:?} {split_losses:?}");
            assert_close(name, whole.table(), &gradient, &split_gradient);
            let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
            assert_eq!(pool.install(|| split.gradients(&examples).unwrap().1), split_gradient, "{name}");
        }
    }
}

#[test]
fn fast_kernels_agree_with_the_plain_network() {
    let folder = tempdir().unwrap();
    for (name, ..) in KINDS {
        let (mut config, from) = config(name);
        // More than the kernels take at a time, and no multiple of it.
        config.data.batch = 21;
        let examples = examples(&folder, &config, from);
        let (mut plain, mut fast) = (CpuBackend::plain(&config, 5), CpuBackend::new(&config, 5));
        let (plain_losses, plain_gradient) = plain.gradients(&examples).unwrap();
        let (fast_losses, fast_gradient) = fast.gradients(&examples).unwrap();
        let off = (plain_losses.total - fast_losses.total).abs();
        assert!(off < 1e-5 * plain_losses.total.max(1.0), "{name}: {plain_losses:?} {fast_losses:?}");
        assert_close(name, plain.table(), &plain_gradient, &fast_gradient);
        for weights in [Weights::Live, Weights::Averaged] {
            let (a, b) =
                (plain.evaluate(&examples, weights).unwrap(), fast.evaluate(&examples, weights).unwrap());
            assert_eq!(a.rank, b.rank, "{name}");
            for (a, b) in a.policy.iter().chain(&a.value).zip(b.policy.iter().chain(&b.value)) {
                assert!((a - b).abs() < 1e-4, "{name}: {a} {b}");
            }
        }
    }
}

#[test]
fn gradients_do_not_depend_on_the_number_of_threads() {
    let folder = tempdir().unwrap();
    for name in ["human", "policy-cnn", "policy-mlp", "nnue"] {
        let (mut config, from) = config(name);
        config.data.batch = 37;
        let examples = examples(&folder, &config, from);
        let gradient = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| CpuBackend::new(&config, 5).gradients(&examples).unwrap().1)
        };
        assert_eq!(gradient(1), gradient(3), "{name}");
    }
}
