//! Whole runs: the same again, stopped and continued, broken off.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};

use tabia_train::checkpoint::{self, CheckpointError};
use tabia_train::{
    Backend, BackendError, Budget, CpuBackend, Evaluation, Examples, FeedSupply, Losses, MetricsLine,
    OptimiserKind, ParameterTable, RunEnd, RunSettings, Scores, StepHyper, StepLine, StepReport,
    SupplyOptions, TrainConfig, TrainError, TrainerState, Watch, Weights, Work, checkpoints_path, forecast,
    initial_weights, metrics_path, read_lines, train,
};
use tempfile::{TempDir, tempdir};

use crate::configs::config;
use crate::learning::HYPER;
use crate::sets;

/// A clock that stands still and stops training after some steps or micro-batches.
pub(crate) struct Clock {
    steps_left: Cell<u32>,
    micro_batches_left: Cell<u32>,
}

impl Clock {
    pub(crate) fn endless() -> Self {
        Clock::stopping_after(u32::MAX)
    }

    pub(crate) fn stopping_after(steps: u32) -> Self {
        Clock { steps_left: Cell::new(steps), micro_batches_left: Cell::new(u32::MAX) }
    }

    /// Stops within a step, when so many micro-batches are done that are not the last of theirs.
    pub(crate) fn stopping_within_a_step(micro_batches: u32) -> Self {
        Clock { micro_batches_left: Cell::new(micro_batches), ..Clock::endless() }
    }
}

impl Watch for Clock {
    fn seconds(&self) -> f64 {
        0.0
    }

    fn stopped(&self) -> bool {
        self.steps_left.get() == 0 || self.micro_batches_left.get() == 0
    }

    fn working(&self, work: Work, _: f64) {
        let left = match work {
            Work::Step { done, of, .. } if done < of => &self.micro_batches_left,
            Work::Step { .. } => &self.steps_left,
            Work::Evaluation { .. } => return,
        };
        left.set(left.get().saturating_sub(1));
    }

    fn stepped(&mut self, _: &StepLine, _: f64) {}
    fn evaluated(&mut self, _: &Evaluation) {}
    fn saved(&mut self, _: &Path) {}
}

pub(crate) const POSITIONS: u64 = 16 * 30;

pub(crate) struct Setting {
    pub(crate) set: PathBuf,
    pub(crate) run: PathBuf,
    pub(crate) config: TrainConfig,
    pub(crate) threads: usize,
    pub(crate) micro_batch: usize,
}

impl Setting {
    pub(crate) fn new(folder: &TempDir, run: &str) -> Self {
        let set = folder.path().join("games");
        if !set.exists() {
            sets::games(&set);
        }
        let run = folder.path().join(run);
        fs::create_dir_all(&run).unwrap();
        Setting { set, run, config: config("human").0, threads: 1, micro_batch: 16 }
    }

    fn moved_by(kind: OptimiserKind, folder: &TempDir, run: &str) -> Self {
        let mut setting = Setting::new(folder, &format!("{kind:?}-{run}"));
        setting.config.optimiser.kind = kind;
        setting
    }

    pub(crate) fn supply(&self, place: Option<&serde_json::Value>) -> FeedSupply {
        let options = SupplyOptions {
            mix: Vec::new(),
            sets: vec![self.set.clone()],
            seed: 7,
            threads: self.threads,
            teachers: Vec::new(),
        };
        FeedSupply::open(&self.config, options, place).unwrap()
    }

    pub(crate) fn settings(&self) -> RunSettings {
        RunSettings {
            config: self.config.clone(),
            seed: 7,
            budget: Budget::new(None, Some(POSITIONS)).unwrap(),
            folder: self.run.clone(),
            checkpoint_seconds: f64::INFINITY,
        }
    }

    pub(crate) fn begin(&self, mut watch: Clock) -> Result<RunEnd, TrainError> {
        let mut backend = CpuBackend::new(&self.config, 7).with_micro_batch(self.micro_batch);
        train(&self.settings(), &mut backend, &mut self.supply(None), &mut watch, None)
    }

    pub(crate) fn go_on(&self, mut watch: Clock) -> Result<RunEnd, TrainError> {
        let latest = checkpoint::list(&checkpoints_path(&self.run)).unwrap().remove(0);
        let found = checkpoint::read(&latest).unwrap();
        // Other weights, which the checkpoint must replace.
        let mut backend = CpuBackend::new(&self.config, 99).with_micro_batch(self.micro_batch);
        backend.load(&found.state).unwrap();
        let mut supply = self.supply(Some(&found.head.supply));
        train(&self.settings(), &mut backend, &mut supply, &mut watch, Some(&found.head))
    }

    pub(crate) fn metrics(&self) -> Vec<MetricsLine> {
        read_lines(&metrics_path(&self.run)).unwrap()
    }

    pub(crate) fn last_state(&self) -> TrainerState {
        let latest = checkpoint::list(&checkpoints_path(&self.run)).unwrap().remove(0);
        checkpoint::read(&latest).unwrap().state
    }
}

#[test]
fn run_is_bit_identical_for_a_seed_and_any_thread_count() {
    let folder = tempdir().unwrap();
    for kind in [OptimiserKind::Muon, OptimiserKind::Adamw] {
        let one = Setting::moved_by(kind, &folder, "one");
        let two = Setting { threads: 2, ..Setting::moved_by(kind, &folder, "two") };
        let end = one.begin(Clock::endless()).unwrap();
        assert!(end.complete && end.step == 30 && end.positions == POSITIONS);
        two.begin(Clock::endless()).unwrap();
        assert_eq!(one.metrics(), two.metrics());
        assert_eq!(one.last_state(), two.last_state());
    }
    let one = Setting::moved_by(OptimiserKind::Adamw, &folder, "one");

    let lines = one.metrics();
    let evaluations: Vec<_> = lines
        .iter()
        .filter_map(|line| match line {
            MetricsLine::Evaluation(evaluation) => Some(evaluation),
            MetricsLine::Step(_) => None,
        })
        .collect();
    assert_eq!(evaluations.len(), 2);
    let groups = &evaluations[1].groups;
    let all = groups["all"];
    assert!(all.count >= 120 && all.top1.unwrap() <= all.top5.unwrap());
    assert!(groups["ply>=10"].count < all.count && groups.contains_key("pool online"));
}

#[test]
fn forecast_leaves_state_unchanged() {
    let folder = tempdir().unwrap();
    let (alone, after) = (Setting::new(&folder, "alone"), Setting::new(&folder, "after"));
    alone.begin(Clock::endless()).unwrap();
    let mut backend = CpuBackend::new(&after.config, 7);
    let (settings, mut supply) = (after.settings(), after.supply(None));
    let found = forecast(&settings, &mut backend, &mut supply, &Clock::endless(), None).unwrap().unwrap();
    assert_eq!((found.positions, found.steps), (POSITIONS as f64, 30.0));
    assert!(found.epoch.is_some_and(|positions| positions > 1000 && positions < 3000), "{found:?}");
    train(&settings, &mut backend, &mut supply, &mut Clock::endless(), None).unwrap();
    assert_eq!(alone.metrics(), after.metrics());
    assert_eq!(alone.last_state(), after.last_state());
    let stopped = Clock::stopping_after(0);
    assert_eq!(forecast(&settings, &mut backend, &mut supply, &stopped, None).unwrap(), None);
}

#[test]
fn resumed_run_matches_uninterrupted_run() {
    let folder = tempdir().unwrap();
    for kind in [OptimiserKind::Adamw, OptimiserKind::Muon] {
        let whole = Setting::moved_by(kind, &folder, "whole");
        whole.begin(Clock::endless()).unwrap();
        let parts = Setting::moved_by(kind, &folder, "parts");
        // Both stops are in the middle of a line of metrics.
        let end = parts.begin(Clock::stopping_after(8)).unwrap();
        assert!(!end.complete && end.step == 8);
        assert!(!parts.go_on(Clock::stopping_after(14)).unwrap().complete);
        assert!(parts.go_on(Clock::endless()).unwrap().complete);
        assert_eq!(whole.metrics(), parts.metrics());
        assert_eq!(whole.last_state(), parts.last_state());
    }
}

#[test]
fn run_stopped_within_a_step_resumes_before_it() {
    let folder = tempdir().unwrap();
    // Four micro-batches a step, the last one smaller.
    let setting = |run: &str| Setting { micro_batch: 5, ..Setting::new(&folder, run) };
    let (whole, parts) = (setting("whole"), setting("parts"));
    assert_eq!(whole.begin(Clock::endless()).unwrap().dropped_step, None);
    let end = parts.begin(Clock::stopping_within_a_step(14)).unwrap();
    assert_eq!((end.complete, end.step, end.dropped_step), (false, 4, Some(5)));
    assert_eq!(end.positions, 4 * 16);
    assert_eq!(parts.last_state().step, 4);
    // Again and again within the first step of a start.
    let end = parts.go_on(Clock::stopping_within_a_step(1)).unwrap();
    assert_eq!((end.step, end.dropped_step), (4, Some(5)));
    assert!(parts.go_on(Clock::endless()).unwrap().complete);
    assert_eq!(whole.metrics(), parts.metrics());
    assert_eq!(whole.last_state(), parts.last_state());
}

/// A clock that goes on a second with every micro-batch, and every batch of an evaluation.
struct Slow(Cell<f64>);

impl Watch for Slow {
    fn seconds(&self) -> f64 {
        self.0.get()
    }
    fn stopped(&self) -> bool {
        false
    }
    fn working(&self, _: Work, _: f64) {
        self.0.set(self.0.get() + 1.0);
    }
    fn stepped(&mut self, _: &StepLine, _: f64) {}
    fn evaluated(&mut self, _: &Evaluation) {}
    fn saved(&mut self, _: &Path) {}
}

#[test]
fn time_budget_holds_within_steps_and_evaluations() {
    let folder = tempdir().unwrap();
    let begin = |seconds: f64, times: u32| {
        let mut run = Setting { micro_batch: 4, ..Setting::new(&folder, &format!("{seconds}-{times}")) };
        (run.config.evaluation.times, run.config.evaluation.positions) = (times, 60);
        run.config.evaluation.final_positions = 100;
        let settings = RunSettings { budget: Budget::new(Some(seconds), None).unwrap(), ..run.settings() };
        let mut backend = CpuBackend::new(&run.config, 7).with_micro_batch(run.micro_batch);
        let mut watch = Slow(Cell::new(0.0));
        let end = train(&settings, &mut backend, &mut run.supply(None), &mut watch, None).unwrap();
        assert!(end.complete && run.last_state().step == end.step);
        let evaluations = run.metrics().into_iter().filter_map(|line| match line {
            MetricsLine::Evaluation(evaluation) => Some((evaluation.step, evaluation.groups["all"].count)),
            MetricsLine::Step(_) => None,
        });
        (end.step, end.dropped_step, end.seconds, evaluations.collect::<Vec<_>>())
    };
    // A step takes four seconds, the final evaluation five.
    assert_eq!(begin(9.0, 1), (2, Some(3), 14.0, vec![(2, 5 * 4)]));
    // An evaluation that the end of the run breaks off is none.
    assert_eq!(begin(9.0, 2), (2, None, 14.0, vec![(2, 5 * 4)]));
    // Each has ten seconds, which are not enough for all positions.
    assert_eq!(begin(100.0, 2), (22, Some(23), 110.0, vec![(13, 10 * 4), (22, 10 * 4)]));
}

#[test]
fn checkpoint_provides_initial_weights() {
    let folder = tempdir().unwrap();
    let run = Setting::new(&folder, "run");
    let end = run.begin(Clock::stopping_after(2)).unwrap();
    let net = &run.config.net;
    let ema = run.last_state().ema;
    assert_eq!(initial_weights(&run.run, net).unwrap(), ema);
    assert_eq!(initial_weights(&end.checkpoint, net).unwrap(), ema);
    let other = config("nnue").0.net;
    let error = initial_weights(&end.checkpoint, &other).unwrap_err().to_string();
    assert!(error.contains("features.weight"), "{error}");
}

/// Passes everything on until a step, whose loss it calls not a number.
struct Poisoned(CpuBackend, u64);

impl Backend for Poisoned {
    fn table(&self) -> &ParameterTable {
        self.0.table()
    }
    fn device(&self) -> String {
        self.0.device()
    }
    fn step(&mut self, examples: &Examples, hyper: &StepHyper) -> Result<Vec<StepReport>, BackendError> {
        let mut reports = self.0.step(examples, hyper)?;
        for report in reports.iter_mut().filter(|report| report.step == self.1) {
            report.losses.total = f32::NAN;
        }
        Ok(reports)
    }
    fn finish(&mut self) -> Result<Vec<StepReport>, BackendError> {
        self.0.finish()
    }
    fn evaluate(&mut self, examples: &Examples, weights: Weights) -> Result<Scores, BackendError> {
        self.0.evaluate(examples, weights)
    }
    fn gradients(&mut self, examples: &Examples) -> Result<(Losses, Vec<f32>), BackendError> {
        self.0.gradients(examples)
    }
    fn state(&mut self) -> Result<TrainerState, BackendError> {
        self.0.state()
    }
    fn load(&mut self, state: &TrainerState) -> Result<(), BackendError> {
        self.0.load(state)
    }
}

#[test]
fn nan_loss_ends_the_run_and_keeps_the_last_checkpoint() {
    let folder = tempdir().unwrap();
    let run = Setting::new(&folder, "run");
    let good = run.begin(Clock::stopping_after(4)).unwrap().checkpoint;
    let found = checkpoint::read(&good).unwrap();
    let mut backend = Poisoned(CpuBackend::new(&run.config, 7), 9);
    backend.load(&found.state).unwrap();
    let mut supply = run.supply(Some(&found.head.supply));
    let error = train(&run.settings(), &mut backend, &mut supply, &mut Clock::endless(), Some(&found.head))
        .unwrap_err();
    match error {
        TrainError::NotFinite { step: 9, checkpoint: Some(kept), .. } => assert_eq!(kept, good),
        other => panic!("{other}"),
    }
    assert_eq!(checkpoint::list(&checkpoints_path(&run.run)).unwrap(), [good]);
}

#[test]
fn nan_weights_are_not_updated() {
    let folder = tempdir().unwrap();
    let hyper = StepHyper { weight_decay: 0.1, ..HYPER };
    for kind in [OptimiserKind::Adamw, OptimiserKind::Muon] {
        let run = Setting::moved_by(kind, &folder, "run");
        let mut backend = CpuBackend::new(&run.config, 7);
        let mut state = backend.state().unwrap();
        state.weights[0] = f32::INFINITY;
        backend.load(&state).unwrap();
        let examples = tabia_train::Supply::next(&mut run.supply(None)).unwrap();
        let report = backend.step(&examples, &hyper).unwrap()[0];
        assert!(!report.is_finite());
        assert_eq!(backend.state().unwrap(), state);
    }
}

#[test]
fn incomplete_checkpoints_are_skipped() {
    let folder = tempdir().unwrap();
    let run = Setting::new(&folder, "run");
    let good = run.begin(Clock::stopping_after(3)).unwrap().checkpoint;
    let parent = checkpoints_path(&run.run);
    // As a process killed while it wrote the next one leaves it: some parts, one of them cut off.
    let unfinished = parent.join("unfinished-step-0000000099");
    fs::create_dir(&unfinished).unwrap();
    let part = fs::read(good.join("part-000.ckpt")).unwrap();
    fs::write(unfinished.join("part-000.ckpt"), &part[..part.len() / 2]).unwrap();
    assert_eq!(checkpoint::list(&parent).unwrap(), std::slice::from_ref(&good));
    run.go_on(Clock::stopping_after(2)).unwrap();
    assert!(!unfinished.exists());
}

#[test]
fn corrupt_checkpoint_is_rejected() {
    let folder = tempdir().unwrap();
    let run = Setting::new(&folder, "run");
    let good = run.begin(Clock::stopping_after(1)).unwrap().checkpoint;
    let path = good.join("part-000.ckpt");
    let whole = fs::read(&path).unwrap();
    let refused = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        matches!(checkpoint::read(&good), Err(CheckpointError::Damaged { .. }))
    };
    for at in [0, 8, 10, 12, 16, 24, 32, 40, whole.len() / 2, whole.len() - 1] {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        assert!(refused(&bytes), "byte {at}");
        assert!(refused(&whole[..at]), "cut at {at}");
    }
    assert!(!refused(&whole));
    fs::remove_file(&path).unwrap();
    assert!(matches!(checkpoint::read(&good), Err(CheckpointError::Io { .. })));
}
