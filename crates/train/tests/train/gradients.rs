//! Gradients against finite differences, for every parameter of every kind of network.

use tabia_train::{
    Backend, CpuBackend, Examples, FeedSupply, Supply, SupplyOptions, TrainConfig, TrainerState,
};

use crate::configs::{From, KINDS, config};
use crate::folder::Folder;
use crate::sets;

fn examples(folder: &Folder, config: &TrainConfig, from: From) -> Examples {
    let dir = folder.path().join(if from == From::Games { "games" } else { "evaluations" });
    if !dir.exists() {
        match from {
            From::Games => sets::games(&dir),
            From::Evaluations => sets::evaluations(&dir),
        }
    }
    let options = SupplyOptions { sets: vec![dir], seed: 3, threads: 1 };
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
    let folder = Folder::new("gradients");
    for (name, ..) in KINDS {
        let (mut config, from) = config(name);
        config.data.batch = 4;
        let examples = examples(&folder, &config, from);
        let mut backend = CpuBackend::new(&config, 5);
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
