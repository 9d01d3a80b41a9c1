//! Labelling with several engines: one thread reads, one per engine evaluates, and this one writes in input order.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use shakmaty::{EnPassantMode, fen::Epd};
use tabia_data::Faults;
use twox_hash::XxHash3_64;

use super::form::Form;
use super::input;
use super::positions::{Choice, Keyed, Met, Picker};
use super::session::Labeller;
use super::teacher::Teacher;
use crate::data::unfinished::{Output, Written};
use tabia_report::Progress;

/// Size of the queue of positions. The reader runs ahead, so that the progress meter knows the total.
const AHEAD: usize = 1 << 20;

/// Grace period of a chunk after the time limit.
const GRACE: Duration = Duration::from_secs(10);

/// Consecutive positions without labels after which the command fails.
pub(super) const MOST_FAULTS_IN_A_ROW: u32 = 8;

/// zstd level; cheap compared to an engine.
const ZSTD_LEVEL: i32 = 9;

/// The work and its resources.
pub(super) struct Work<'a> {
    pub(super) inputs: &'a [PathBuf],
    pub(super) choice: Choice,
    pub(super) chunk: usize,
    pub(super) form: Form,
    /// Starts one more engine, or opens the network once more.
    pub(super) teacher: &'a (dyn Fn() -> Result<Teacher> + Sync),
    pub(super) jobs: usize,
    pub(super) stop: &'a AtomicBool,
    /// No chunk is started after this.
    pub(super) deadline: Option<Instant>,
    pub(super) progress: &'a Progress,
}

/// The result.
pub(super) struct Labelled {
    pub(super) met: Met,
    /// Faults of the input.
    pub(super) unreadable: Faults,
    pub(super) restarts: u32,
    pub(super) ending: Ending,
}

/// How the work ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// Everything is labelled.
    Whole,
    /// The time limit was reached; a prefix of the input is labelled.
    OutOfTime,
    /// It was stopped and can be resumed.
    Stopped,
}

/// A chunk of positions to label.
struct Task {
    number: u64,
    positions: Vec<Keyed>,
    /// The hash of all positions up to the last of these.
    input: u64,
}

/// A finished task.
struct Done {
    number: u64,
    frame: Vec<u8>,
    positions: u64,
    rows: u64,
    short: u64,
    faults: u64,
    input: u64,
}

impl Work<'_> {
    /// Labels positions until the end of the input or the time limit; `first` is an engine that runs already.
    pub(super) fn run(&self, mut first: Option<Labeller>, output: &mut Output) -> Result<Labelled> {
        let (tasks, todo) = mpsc::sync_channel((AHEAD / self.chunk).max(self.jobs));
        let (results, done) = mpsc::channel();
        let before = output.written();
        let (read, asked, written) = std::thread::scope(|scope| {
            let reader = scope.spawn(move || self.read(before, &tasks));
            // Owned by the workers, so that the reader fails when the last of them ends.
            let todo = Arc::new(Mutex::new(todo));
            let workers: Vec<_> = (0..self.jobs)
                .map(|_| {
                    let (results, first, todo) = (results.clone(), first.take(), Arc::clone(&todo));
                    scope.spawn(move || self.label(first, &todo, &results))
                })
                .collect();
            drop((results, todo));
            let written = self.write(&done, output);
            if written.is_err() {
                self.stop.store(true, Ordering::Relaxed);
            }
            let asked: Result<u32> =
                workers.into_iter().map(|worker| worker.join().expect("a worker does not panic")).sum();
            (reader.join().expect("the reader does not panic"), asked, written)
        });
        written?;
        output.note()?;
        // A failed engine ends the reader, too: report the engine's error.
        let (restarts, (met, unreadable)) = (asked?, read?);
        let ending = if self.stop.load(Ordering::Relaxed) {
            Ending::Stopped
        } else if output.written().positions < met.chosen {
            Ending::OutOfTime
        } else {
            Ending::Whole
        };
        Ok(Labelled { met, unreadable, restarts, ending })
    }

    /// Splits the positions into tasks, skipping those that are already written.
    fn read(&self, before: Written, tasks: &SyncSender<Task>) -> Result<(Met, Faults)> {
        let mut task = Task { number: 0, positions: Vec::new(), input: 0 };
        let mut changed = false;
        let mut send = |task: &mut Task| {
            let next = Task { number: task.number + 1, positions: Vec::new(), input: task.input };
            let full = std::mem::replace(task, next);
            if full.number < before.chunks {
                changed |= full.number + 1 == before.chunks && full.input != before.input;
                self.progress.skip(full.positions.len() as u64);
                return if changed { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
            }
            // Fails if all engines have failed.
            let taken = tasks.send(full).is_ok() && !self.stop.load(Ordering::Relaxed);
            if taken { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let mut picker = Picker::new(self.choice, |keyed: Keyed| {
            task.input = XxHash3_64::oneshot_with_seed(task.input, &keyed.key.to_le_bytes());
            task.positions.push(keyed);
            if task.positions.len() == self.chunk { send(&mut task) } else { ControlFlow::Continue(()) }
        });
        let unreadable = input::show_all(self.inputs, &mut picker)?;
        let met = picker.met();
        if !task.positions.is_empty() {
            let _nothing_follows = send(&mut task);
        }
        if changed || (task.number < before.chunks && !self.stop.load(Ordering::Relaxed)) {
            self.stop.store(true, Ordering::Relaxed);
            bail!("the input has changed since the output was started; delete the .part and .journal files");
        }
        self.progress.set_total(met.chosen);
        Ok((met, unreadable))
    }

    /// Runs the tasks of one engine; returns the number of restarts.
    fn label(
        &self,
        engine: Option<Labeller>,
        todo: &Mutex<Receiver<Task>>,
        results: &Sender<Done>,
    ) -> Result<u32> {
        let asked = engine
            .map(|engine| Teacher::Engine(Box::new(engine)))
            .map_or_else(self.teacher, Ok)
            .and_then(|mut teacher| {
                let mut faults_in_a_row = 0;
                while let Some(task) = self.next_task(todo) {
                    let Some(done) = self.label_task(&mut teacher, &task, &mut faults_in_a_row)? else {
                        break;
                    };
                    // The writer ends early only after an error.
                    if results.send(done).is_err() {
                        break;
                    }
                }
                Ok(teacher.restarts())
            });
        if asked.is_err() {
            self.stop.store(true, Ordering::Relaxed);
        }
        asked
    }

    /// The next task in order, while there is time.
    fn next_task(&self, todo: &Mutex<Receiver<Task>>) -> Option<Task> {
        let todo = todo.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_past(Duration::ZERO) { None } else { todo.recv().ok() }
    }

    /// Whether the grace period is over.
    fn is_past(&self, since: Duration) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now().saturating_duration_since(deadline) > since)
    }

    /// `None` if stopped or abandoned.
    fn label_task(
        &self,
        teacher: &mut Teacher,
        task: &Task,
        faults_in_a_row: &mut u32,
    ) -> Result<Option<Done>> {
        teacher.forget();
        let mut text = Vec::new();
        let (mut rows, mut short, mut faults) = (0, 0, 0);
        for part in task.positions.chunks(teacher.batch()) {
            if self.stop.load(Ordering::Relaxed) || self.is_past(GRACE) {
                return Ok(None);
            }
            let answers = teacher.ask(part)?;
            for (keyed, answer) in part.iter().zip(answers) {
                match answer {
                    Ok(findings) => {
                        self.form.write(&mut text, keyed, &findings)?;
                        rows += findings.lines.len() as u64;
                        short += u64::from(findings.lines.len() < findings.expected);
                        *faults_in_a_row = 0;
                    }
                    Err(fault) => {
                        let fen = Epd::from_position(&keyed.position, EnPassantMode::Legal);
                        faults += 1;
                        *faults_in_a_row += 1;
                        if *faults_in_a_row == MOST_FAULTS_IN_A_ROW {
                            bail!(
                                "no answer to {MOST_FAULTS_IN_A_ROW} positions in a row, the last {fen}: {fault}"
                            );
                        }
                        let fault = fault.to_string();
                        self.progress.say(&format!("{fen}: {}", fault.lines().next().unwrap_or_default()));
                    }
                }
                self.progress.add(1);
            }
        }
        let frame = zstd::encode_all(text.as_slice(), ZSTD_LEVEL).context("cannot compress")?;
        let positions = task.positions.len() as u64;
        Ok(Some(Done { number: task.number, frame, positions, rows, short, faults, input: task.input }))
    }

    /// Writes finished tasks in order.
    fn write(&self, done: &Receiver<Done>, output: &mut Output) -> Result<()> {
        let mut early = BTreeMap::new();
        for done in done {
            early.insert(done.number, done);
            while let Some(next) = early.remove(&output.written().chunks) {
                let before = output.written();
                let now = Written {
                    chunks: before.chunks + 1,
                    positions: before.positions + next.positions,
                    rows: before.rows + next.rows,
                    short: before.short + next.short,
                    faults: before.faults + next.faults,
                    bytes: before.bytes,
                    input: next.input,
                };
                output.append(&next.frame, now)?;
            }
        }
        Ok(())
    }
}
