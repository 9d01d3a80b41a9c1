use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::evaluation::Evaluation;
use crate::{Losses, StepReport};

/// The losses of some steps on their way into one line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    steps: u64,
    total: f64,
    policy: f64,
    promotion: f64,
    outcome: f64,
    think: f64,
    value: f64,
    gradient_norm: f64,
}

impl Window {
    /// Counts one more step.
    pub(crate) fn add(&mut self, report: &StepReport) {
        let Losses { total, policy, promotion, outcome, think, value } = report.losses;
        let sums = [
            (&mut self.total, total),
            (&mut self.policy, policy),
            (&mut self.promotion, promotion),
            (&mut self.outcome, outcome),
            (&mut self.think, think),
            (&mut self.value, value),
            (&mut self.gradient_norm, report.gradient_norm),
        ];
        sums.into_iter().for_each(|(sum, part)| *sum += f64::from(part));
        self.steps += 1;
    }

    /// Steps counted.
    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }

    /// The means, as a line to be written.
    pub(crate) fn line(&self, step: u64, positions: u64, seconds: f64, lr: f32) -> StepLine {
        let mean = |sum: f64| sum / self.steps.max(1) as f64;
        StepLine {
            step,
            positions,
            seconds,
            lr,
            loss: mean(self.total),
            policy: mean(self.policy),
            promotion: mean(self.promotion),
            outcome: mean(self.outcome),
            think: mean(self.think),
            value: mean(self.value),
            gradient_norm: mean(self.gradient_norm),
        }
    }
}

/// Where training stands, with losses averaged since the last such line.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepLine {
    /// Steps made.
    pub step: u64,
    /// Positions seen.
    pub positions: u64,
    /// Seconds of training.
    pub seconds: f64,
    /// The learning rate of the last step.
    pub lr: f32,
    /// What is minimised.
    pub loss: f64,
    /// Cross entropy of the move.
    pub policy: f64,
    /// Cross entropy of the promotion piece.
    pub promotion: f64,
    /// Cross entropy of the result.
    pub outcome: f64,
    /// Cross entropy of the think-time bin.
    pub think: f64,
    /// The value loss.
    pub value: f64,
    /// The norm of the gradient before clipping.
    pub gradient_norm: f64,
}

/// One line of a run's `metrics.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum MetricsLine {
    /// Training losses.
    Step(StepLine),
    /// Losses and hits on held-out positions.
    Evaluation(Evaluation),
}

impl MetricsLine {
    fn step(&self) -> u64 {
        match self {
            MetricsLine::Step(line) => line.step,
            MetricsLine::Evaluation(evaluation) => evaluation.step,
        }
    }
}

/// Appends to a run's `metrics.jsonl`.
pub(crate) struct MetricsFile {
    file: File,
}

impl MetricsFile {
    /// Opens the file at `path`, keeping the lines up to `step`: those after it belong to steps that a crash undid.
    pub(crate) fn open(path: &Path, step: u64) -> io::Result<Self> {
        let mut kept = Vec::new();
        if path.exists() {
            for line in read_lines(path)?.into_iter().filter(|line| line.step() <= step) {
                serde_json::to_writer(&mut kept, &line)?;
                kept.push(b'\n');
            }
        }
        let fresh = path.with_extension("jsonl.tmp");
        let mut file = File::create(&fresh)?;
        file.write_all(&kept)?;
        file.sync_all()?;
        fs::rename(&fresh, path)?;
        Ok(MetricsFile { file: OpenOptions::new().append(true).open(path)? })
    }

    /// Adds a line.
    pub(crate) fn write(&mut self, line: &MetricsLine) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(line)?;
        bytes.push(b'\n');
        self.file.write_all(&bytes)
    }
}

/// Where a run keeps its metrics.
pub fn metrics_path(run: &Path) -> PathBuf {
    run.join("metrics.jsonl")
}

/// The lines of a `metrics.jsonl`. A last line that a crash cut off is left out.
///
/// # Errors
/// If the file cannot be read, or a line before the last is not one of ours.
pub fn read_lines(path: &Path) -> io::Result<Vec<MetricsLine>> {
    let text = fs::read_to_string(path)?;
    let mut lines = Vec::new();
    for (number, text) in text.split_inclusive('\n').enumerate() {
        match serde_json::from_str(text) {
            Ok(line) => lines.push(line),
            Err(_) if !text.ends_with('\n') => break,
            Err(error) => {
                let message = format!("{}, line {}: {error}", path.display(), number + 1);
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
        }
    }
    Ok(lines)
}
