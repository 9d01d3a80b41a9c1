use std::cell::Cell;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::checkpoint::{self, Checkpoint, CheckpointError, CheckpointHead};
use crate::evaluation::{Evaluation, Tallies};
use crate::metrics::{MetricsFile, MetricsLine, StepLine, Window, metrics_path};
use crate::schedule::{self, Budget};
use crate::supply::{Supply, SupplyError};
use crate::{Backend, BackendError, Examples, GroupScore, Scores, StepReport, TrainConfig, Weights};

/// How many steps one line of metrics sums up.
const STEPS_PER_LINE: u64 = 20;
/// A choice among all moves is about as many positions to evaluate.
const POSITIONS_A_CHOICE: usize = 32;
/// How many checkpoints a run keeps.
const KEPT: usize = 2;
/// Where time bounds a run, its intermediate evaluations may take this share of the bound together, and the final one, which
/// comes after the bound, takes as much again, or so many seconds if they are more. An evaluation that has not seen all its
/// positions by then ends with those it has seen.
pub(crate) const EVALUATION_SHARE: f64 = 0.1;
const FINAL_EVALUATION_SECONDS: f64 = 5.0;

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

/// The callbacks of a run: clock, stop request, progress.
pub trait Watch {
    /// Seconds since the run was started, its setup included.
    fn seconds(&self) -> f64;

    /// Whether to stop, with a checkpoint of the last whole step. Once true it stays true.
    fn stopped(&self) -> bool;

    /// A part of some work is done: a micro-batch, a step, a batch of an evaluation. `progress` of the run is over.
    fn working(&self, work: Work, progress: f64);

    /// A line of metrics was written; `progress` of the run is over.
    fn stepped(&mut self, line: &StepLine, progress: f64);

    /// An evaluation was made.
    fn evaluated(&mut self, evaluation: &Evaluation);

    /// A checkpoint was written.
    fn saved(&mut self, folder: &Path);

    /// Plays the games of [`EvaluationConfig`](crate::EvaluationConfig) with these averaged weights; returns the results by
    /// opponent, none if stopped.
    ///
    /// # Errors
    /// The reason why a game cannot be played.
    fn play(&mut self, config: &TrainConfig, weights: &[f32]) -> Result<Vec<(String, GroupScore)>, String> {
        let _ = (config, weights);
        Err("nothing here can play".to_owned())
    }
}

/// A part of a run's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// An optimiser step.
    Step {
        /// Which, counted from 1.
        step: u64,
        /// Examples whose gradient is computed; all of them when the step was made.
        done: usize,
        /// Examples of the batch.
        of: usize,
    },
    /// An evaluation.
    Evaluation {
        /// Held-out positions seen.
        done: u64,
        /// How many it looks at, at most.
        of: u64,
    },
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub struct RunEnd {
    /// Whether the budget was used up; otherwise it was asked to stop.
    pub complete: bool,
    /// Steps made.
    pub step: u64,
    /// The step that was broken off when the run ended. It left no trace.
    pub dropped_step: Option<u64>,
    /// Positions seen.
    pub positions: u64,
    /// Seconds since the run was started, over all its starts.
    pub seconds: f64,
    /// Seconds of this run after its setup.
    pub trained: f64,
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
    /// The games of an evaluation could not be played.
    #[error("evaluation by playing: {0}")]
    Play(String),
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

/// Trains until the budget is used up or `watch` says stop, in the middle of a step if the backend works in micro-batches.
/// Such a step is dropped: the last checkpoint is of the step before it. `resumed` is the head of the checkpoint whose state the backend
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

/// What became of a step.
enum Stepped {
    Made,
    /// It was broken off.
    Dropped,
    /// There was no batch for it before the run's end.
    NotBegun,
}

/// Which evaluation of a run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    Intermediate,
    Final,
}

impl Run<'_> {
    fn seconds(&self, watch: &dyn Watch) -> f64 {
        self.earlier_seconds + watch.seconds()
    }

    fn progress(&self, watch: &dyn Watch) -> f64 {
        self.settings.budget.progress(self.seconds(watch), self.positions)
    }

    /// Whether the run goes on.
    fn poll(&self, watch: &dyn Watch) -> ControlFlow<()> {
        if watch.stopped() || self.progress(watch) >= 1.0 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    fn until_its_end(
        &mut self,
        backend: &mut dyn Backend,
        supply: &mut dyn Supply,
        watch: &mut dyn Watch,
    ) -> Result<RunEnd, TrainError> {
        let mut last_save = watch.seconds();
        let mut dropped_step = None;
        let mut complete = loop {
            let progress = self.progress(watch);
            if progress >= 1.0 || watch.stopped() {
                break progress >= 1.0;
            }
            let due = (progress * f64::from(self.settings.config.evaluation.times)) as u32;
            // Before the first step there is nothing to see.
            if due > self.evaluations && self.step > 0 {
                self.drain(backend, watch)?;
                if !self.evaluate(backend, supply, watch, Which::Intermediate)? {
                    continue;
                }
                self.evaluations = due;
            }
            if watch.seconds() - last_save >= self.settings.checkpoint_seconds {
                self.save(backend, supply, watch)?;
                last_save = watch.seconds();
            }
            if let Stepped::Dropped = self.one_step(backend, supply, watch, progress)? {
                dropped_step = Some(self.step + 1);
            }
        };
        self.drain(backend, watch)?;
        if complete && self.evaluations < self.settings.config.evaluation.times {
            complete = self.evaluate(backend, supply, watch, Which::Final)?;
            if complete {
                self.evaluations = self.settings.config.evaluation.times;
            }
        }
        let checkpoint = self.save(backend, supply, watch)?;
        Ok(RunEnd {
            complete,
            step: self.step,
            dropped_step,
            positions: self.positions,
            seconds: self.seconds(watch),
            trained: watch.seconds() - self.started,
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
    ) -> Result<Stepped, TrainError> {
        let before = watch.seconds();
        let examples = match supply.next_polling(&mut || self.poll(watch)) {
            Err(SupplyError::Cancelled) => return Ok(Stepped::NotBegun),
            examples => examples?,
        };
        self.waited += watch.seconds() - before;
        let TrainConfig { optimiser, schedule, .. } = &self.settings.config;
        let (step, of) = (self.step + 1, examples.rows());
        let hyper = schedule::hyper(optimiser, schedule, step, progress);
        let outcome = backend.step_polling(&examples, &hyper, &mut |done| {
            watch.working(Work::Step { step, done, of }, self.progress(watch));
            self.poll(watch)
        });
        let reports = match outcome {
            Err(BackendError::Cancelled) => {
                supply.put_back(examples);
                return Ok(Stepped::Dropped);
            }
            reports => reports?,
        };
        self.step = step;
        self.lr = hyper.lr;
        self.positions += examples.weights.iter().filter(|weight| **weight > 0.0).count() as u64;
        self.note(&reports, watch)?;
        watch.working(Work::Step { step, done: of, of }, self.progress(watch));
        Ok(Stepped::Made)
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

    /// Evaluates the averaged weights, on fewer positions than asked for where the time for that is up; `false` if the run's
    /// end came first.
    fn evaluate(
        &mut self,
        backend: &mut dyn Backend,
        supply: &mut dyn Supply,
        watch: &mut dyn Watch,
        which: Which,
    ) -> Result<bool, TrainError> {
        let config = &self.settings.config;
        let share = self.settings.budget.seconds().map(|bound| EVALUATION_SHARE * bound);
        let (positions, limit) = match which {
            Which::Intermediate => {
                let times = f64::from(config.evaluation.times.max(2) - 1);
                (config.evaluation.positions, share.map(|share| share / times))
            }
            Which::Final => {
                (config.evaluation.final_positions, share.map(|share| share.max(FINAL_EVALUATION_SECONDS)))
            }
        };
        let deadline = limit.map(|limit| watch.seconds() + limit);
        let cut_short = Cell::new(false);
        let poll = || {
            let ended = match which {
                Which::Intermediate => self.poll(watch).is_break(),
                Which::Final => watch.stopped(),
            };
            cut_short.set(!ended && deadline.is_some_and(|deadline| watch.seconds() >= deadline));
            if ended || cut_short.get() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let rows = backend.micro_batch().unwrap_or(usize::MAX);
        let mut failed = None;
        let mut scores = |examples: &Examples| -> Result<Scores, SupplyError> {
            if poll().is_break() {
                return Err(SupplyError::Cancelled);
            }
            backend.evaluate(examples, Weights::Averaged).map_err(|error| {
                failed = Some(error);
                SupplyError::Cancelled
            })
        };
        let mut tallies = Tallies::new(config.loss.value_kind.even(), config.evaluation.min_depth);
        let outcome = supply.held_out(positions, &mut || poll(), &mut |examples| {
            for part in examples.micro_batches(rows) {
                tallies.add(&part, &scores(&part)?);
                let done = tallies.positions();
                // Batches are whole.
                let work = Work::Evaluation { done, of: done.max(positions as u64) };
                watch.working(work, self.progress(watch));
            }
            Ok(())
        });
        let outcome = outcome.and_then(|()| {
            supply.choices(positions / POSITIONS_A_CHOICE, &mut || poll(), &mut |choices| {
                let mut values = Vec::new();
                for part in choices.examples.micro_batches(rows) {
                    values.extend(scores(&part)?.value);
                }
                tallies.add_choices(choices, &values);
                Ok(())
            })
        });
        if let Some(error) = failed {
            return Err(error.into());
        }
        match outcome {
            Err(SupplyError::Cancelled) if cut_short.get() => {}
            Err(SupplyError::Cancelled) => return Ok(false),
            outcome => outcome?,
        }
        let mut groups = tallies.scores();
        if config.evaluation.plays() {
            let weights = backend.state()?.ema;
            groups.extend(watch.play(config, &weights).map_err(TrainError::Play)?);
        }
        if groups.is_empty() {
            return Ok(true);
        }
        let evaluation =
            Evaluation { step: self.step, positions: self.positions, seconds: self.seconds(watch), groups };
        if evaluation.groups.values().any(|group| !group.is_finite()) {
            return Err(self.not_finite("the evaluation", self.step));
        }
        self.metrics.write(&MetricsLine::Evaluation(evaluation.clone()))?;
        watch.evaluated(&evaluation);
        self.evaluation = Some(evaluation);
        Ok(true)
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
