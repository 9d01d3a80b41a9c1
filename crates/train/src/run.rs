use std::io;
use std::path::{Path, PathBuf};

use crate::checkpoint::{self, Checkpoint, CheckpointError, CheckpointHead};
use crate::evaluation::{Evaluation, Tallies};
use crate::metrics::{MetricsFile, MetricsLine, StepLine, Window, metrics_path};
use crate::schedule::{self, Budget};
use crate::supply::{Supply, SupplyError};
use crate::{Backend, BackendError, StepReport, TrainConfig, Weights};

/// How many steps one line of metrics sums up.
const STEPS_PER_LINE: u64 = 20;
/// A choice among all moves is about as many positions to evaluate.
const POSITIONS_A_CHOICE: usize = 32;
/// How many checkpoints a run keeps.
const KEPT: usize = 2;

/// Everything that decides a run besides its data.
#[derive(Clone, Debug)]
pub struct RunSettings {
    /// The configuration.
    pub config: TrainConfig,
    /// The seed of weights, order and dropout.
    pub seed: u64,
    /// What bounds it.
    pub budget: Budget,
    /// Where metrics and checkpoints go.
    pub folder: PathBuf,
    /// Seconds between checkpoints.
    pub checkpoint_seconds: f64,
}

/// The world around a run: its clock, its wish to stop, and who looks on.
pub trait Watch {
    /// Seconds since some moment before the run.
    fn seconds(&self) -> f64;

    /// Whether to stop after this step, with a checkpoint.
    fn stopped(&self) -> bool;

    /// A line of metrics was written; `progress` of the run is over.
    fn stepped(&mut self, line: &StepLine, progress: f64);

    /// An evaluation was made.
    fn evaluated(&mut self, evaluation: &Evaluation);

    /// A checkpoint was written.
    fn saved(&mut self, folder: &Path);
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub struct RunEnd {
    /// Whether the budget was used up; otherwise it was asked to stop.
    pub complete: bool,
    /// Steps made.
    pub step: u64,
    /// Positions seen.
    pub positions: u64,
    /// Seconds of training.
    pub seconds: f64,
    /// Seconds of this run spent waiting for examples.
    pub waited: f64,
    /// The last checkpoint.
    pub checkpoint: PathBuf,
    /// The last evaluation, if any was made.
    pub evaluation: Option<Evaluation>,
}

/// Why a run broke off.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// The backend failed.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// There were no examples.
    #[error(transparent)]
    Supply(#[from] SupplyError),
    /// A checkpoint could not be written or read.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// Metrics could not be written.
    #[error("metrics: {0}")]
    Metrics(#[from] io::Error),
    /// A loss or a gradient is not a finite number any more.
    #[error("{what} of step {step} is not finite; {}", match checkpoint {
        Some(folder) => format!("the last good checkpoint is {}", folder.display()),
        None => "there is no checkpoint yet".to_owned(),
    })]
    NotFinite {
        /// What is not.
        what: &'static str,
        /// At which step.
        step: u64,
        /// The last checkpoint.
        checkpoint: Option<PathBuf>,
    },
}

/// Where a run keeps its checkpoints.
pub fn checkpoints_path(run: &Path) -> PathBuf {
    run.join("checkpoints")
}

/// Trains until the budget is used up or `watch` says stop. `resumed` is the head of the checkpoint whose state the backend
/// holds and whose place the supply continues at.
///
/// # Errors
/// If the backend, the data or the disk fails, or the numbers stop being finite; the last checkpoint is kept then.
pub fn train(
    settings: &RunSettings,
    backend: &mut dyn Backend,
    supply: &mut dyn Supply,
    watch: &mut dyn Watch,
    resumed: Option<&CheckpointHead>,
) -> Result<RunEnd, TrainError> {
    let state = backend.state()?;
    let metrics = MetricsFile::open(&metrics_path(&settings.folder), state.step)?;
    let mut run = Run {
        settings,
        metrics,
        step: state.step,
        positions: resumed.map_or(0, |head| head.positions),
        earlier_seconds: resumed.map_or(0.0, |head| head.seconds),
        started: watch.seconds(),
        evaluations: resumed.map_or(0, |head| head.evaluations),
        window: resumed.map(|head| head.window).unwrap_or_default(),
        lr: 0.0,
        waited: 0.0,
        saved: checkpoint::list(&checkpoints_path(&settings.folder))?.into_iter().next(),
        evaluation: None,
    };
    drop(state);
    run.until_its_end(backend, supply, watch)
}

struct Run<'a> {
    settings: &'a RunSettings,
    metrics: MetricsFile,
    step: u64,
    positions: u64,
    earlier_seconds: f64,
    started: f64,
    evaluations: u32,
    window: Window,
    lr: f32,
    waited: f64,
    saved: Option<PathBuf>,
    evaluation: Option<Evaluation>,
}

impl Run<'_> {
    fn seconds(&self, watch: &dyn Watch) -> f64 {
        self.earlier_seconds + watch.seconds() - self.started
    }

    fn progress(&self, watch: &dyn Watch) -> f64 {
        self.settings.budget.progress(self.seconds(watch), self.positions)
    }

    fn until_its_end(
        &mut self,
        backend: &mut dyn Backend,
        supply: &mut dyn Supply,
        watch: &mut dyn Watch,
    ) -> Result<RunEnd, TrainError> {
        let mut last_save = watch.seconds();
        let mut complete = false;
        loop {
            let progress = self.progress(watch);
            complete |= progress >= 1.0;
            let due = (progress * f64::from(self.settings.config.evaluation.times)) as u32;
            if due > self.evaluations && !complete {
                self.drain(backend, watch)?;
                self.evaluate(backend, supply, watch, self.settings.config.evaluation.positions)?;
                self.evaluations = due;
            }
            if complete || watch.stopped() {
                break;
            }
            if watch.seconds() - last_save >= self.settings.checkpoint_seconds {
                self.save(backend, supply, watch)?;
                last_save = watch.seconds();
            }
            self.one_step(backend, supply, watch, progress)?;
        }
        self.drain(backend, watch)?;
        if complete && self.evaluations < self.settings.config.evaluation.times {
            self.evaluate(backend, supply, watch, self.settings.config.evaluation.final_positions)?;
            self.evaluations = self.settings.config.evaluation.times;
        }
        let checkpoint = self.save(backend, supply, watch)?;
        Ok(RunEnd {
            complete,
            step: self.step,
            positions: self.positions,
            seconds: self.seconds(watch),
            waited: self.waited,
            checkpoint,
            evaluation: self.evaluation.take(),
        })
    }

    fn one_step(
        &mut self,
        backend: &mut dyn Backend,
        supply: &mut dyn Supply,
        watch: &mut dyn Watch,
        progress: f64,
    ) -> Result<(), TrainError> {
        let before = watch.seconds();
        let examples = supply.next()?;
        self.waited += watch.seconds() - before;
        let TrainConfig { optimiser, schedule, .. } = &self.settings.config;
        let hyper = schedule::hyper(optimiser, schedule, self.step + 1, progress);
        let reports = backend.step(&examples, &hyper)?;
        self.step += 1;
        self.lr = hyper.lr;
        self.positions += examples.weights.iter().filter(|weight| **weight > 0.0).count() as u64;
        self.note(&reports, watch)
    }

    /// Takes in the reports of steps made.
    fn note(&mut self, reports: &[StepReport], watch: &mut dyn Watch) -> Result<(), TrainError> {
        for report in reports {
            if !report.is_finite() {
                return Err(self.not_finite("the loss or gradient", report.step));
            }
            self.window.add(report);
            if self.window.steps() == STEPS_PER_LINE {
                let line = self.window.line(report.step, self.positions, self.seconds(watch), self.lr);
                self.metrics.write(&MetricsLine::Step(line))?;
                watch.stepped(&line, self.progress(watch));
                self.window = Window::default();
            }
        }
        Ok(())
    }

    fn not_finite(&self, what: &'static str, step: u64) -> TrainError {
        TrainError::NotFinite { what, step, checkpoint: self.saved.clone() }
    }

    /// Waits for every step that was started.
    fn drain(&mut self, backend: &mut dyn Backend, watch: &mut dyn Watch) -> Result<(), TrainError> {
        let reports = backend.finish()?;
        self.note(&reports, watch)
    }

    fn evaluate(
        &mut self,
        backend: &mut dyn Backend,
        supply: &mut dyn Supply,
        watch: &mut dyn Watch,
        positions: usize,
    ) -> Result<(), TrainError> {
        let mut tallies = Tallies::new(self.settings.config.loss.value_kind.even());
        let mut failed = None;
        let outcome =
            supply.held_out(positions, &mut |examples| match backend.evaluate(examples, Weights::Averaged) {
                Ok(scores) => {
                    tallies.add(examples, &scores);
                    Ok(())
                }
                Err(error) => {
                    failed = Some(error);
                    Err(SupplyError("evaluation broke off".to_owned()))
                }
            });
        let outcome = outcome.and_then(|()| {
            supply.choices(positions / POSITIONS_A_CHOICE, &mut |choices| match backend
                .evaluate(&choices.examples, Weights::Averaged)
            {
                Ok(scores) => {
                    tallies.add_choices(choices, &scores.value);
                    Ok(())
                }
                Err(error) => {
                    failed = Some(error);
                    Err(SupplyError("evaluation broke off".to_owned()))
                }
            })
        });
        if let Some(error) = failed {
            return Err(error.into());
        }
        outcome?;
        if tallies.positions() == 0 {
            return Ok(());
        }
        let evaluation = Evaluation {
            step: self.step,
            positions: self.positions,
            seconds: self.seconds(watch),
            groups: tallies.scores(),
        };
        if evaluation.groups.values().any(|group| !group.is_finite()) {
            return Err(self.not_finite("the evaluation", self.step));
        }
        self.metrics.write(&MetricsLine::Evaluation(evaluation.clone()))?;
        watch.evaluated(&evaluation);
        self.evaluation = Some(evaluation);
        Ok(())
    }

    fn save(
        &mut self,
        backend: &mut dyn Backend,
        supply: &mut dyn Supply,
        watch: &mut dyn Watch,
    ) -> Result<PathBuf, TrainError> {
        self.drain(backend, watch)?;
        let head = CheckpointHead {
            config: self.settings.config.clone(),
            seed: self.settings.seed,
            positions: self.positions,
            seconds: self.seconds(watch),
            evaluations: self.evaluations,
            window: self.window,
            supply: supply.place(),
            data: supply.describe(),
        };
        let parent = checkpoints_path(&self.settings.folder);
        let folder = checkpoint::write(&parent, &Checkpoint { head, state: backend.state()? })?;
        checkpoint::prune(&parent, KEPT)?;
        self.saved = Some(folder.clone());
        watch.saved(&folder);
        Ok(folder)
    }
}
