//! The trainer on a real GPU, where there is one.

use std::path::Path;

use tabia_train::{Budget, RunSettings, Supply, TrainConfig, forecast, gpu};
use tempfile::tempdir;

use crate::configs::shipped;
use crate::runs::{Clock, Setting};

/// The hand-scheduled network, and one that runs as a graph.
fn configs() -> [TrainConfig; 2] {
    ["human", "value-nnue"].map(shipped)
}

fn is_there() -> bool {
    let found = Path::new("/dev/nvidiactl").exists().then_some(());
    tabia_requires::of_machine("an NVIDIA GPU", found).is_some()
}

#[test]
fn a_gpu_does_what_the_plain_trainer_does() {
    if !is_there() {
        return;
    }
    for config in configs() {
        let mut said = Vec::new();
        let bad = gpu::check(&config, &mut said).unwrap();
        assert_eq!(bad, 0, "{}", String::from_utf8_lossy(&said));
    }
}

#[test]
fn forecast_leaves_gpu_state_unchanged() {
    if !is_there() {
        return;
    }
    let folder = tempdir().unwrap();
    for config in configs() {
        let run = Setting { config, ..Setting::new(&folder, "run") };
        let settings = RunSettings { budget: Budget::new(Some(60.0), None).unwrap(), ..run.settings() };
        let mut backend = gpu::open(&run.config, 7).unwrap();
        let mut supply = run.supply(None);
        let before = (backend.state().unwrap(), supply.place());
        let found =
            forecast(&settings, &mut *backend, &mut supply, &Clock::endless(), None).unwrap().unwrap();
        assert!(found.steps > 0.0);
        assert!((backend.state().unwrap(), supply.place()) == before);
    }
}
