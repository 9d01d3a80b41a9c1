use std::io;
use std::path::Path;

use tabia_model::{HeldOut, Training};

use super::card::figures;
use crate::checkpoint::Checkpoint;
use crate::metrics::{MetricsLine, metrics_path, read_lines};
use crate::starts::{read_starts, starts_path};
use crate::{Evaluation, Weights};

/// Where a network comes from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Provenance {
    /// Its name.
    pub name: String,
    /// Its authors.
    pub authors: String,
    /// What it was trained on.
    pub data: String,
    /// The licence of the weights.
    pub licence: String,
    /// How it was trained.
    pub training: Option<Training>,
    /// What it reached on positions it was not trained on.
    pub held_out: Vec<HeldOut>,
    /// How many centipawns a unit of its value is; it counts pawns where nothing is said.
    pub value_unit_cp: Option<f32>,
    /// Anything else.
    pub notes: String,
}

impl Provenance {
    /// Everything the folder of a run and one of its checkpoints say. Results belong to the averaged weights; others have none.
    ///
    /// # Errors
    /// If a file of the run is there but cannot be read.
    pub fn of_run(run: &Path, checkpoint: &Checkpoint, weights: Weights) -> io::Result<Self> {
        let Checkpoint { head, state } = checkpoint;
        let starts = present(read_starts(&starts_path(run)))?;
        let starts: Vec<_> = starts.into_iter().filter(|start| start.step <= state.step).collect();
        let mut devices: Vec<&str> = starts.iter().map(|start| start.device.as_str()).collect();
        devices.dedup();
        let training = Training {
            commands: starts.iter().map(|start| start.command.clone()).collect(),
            device: (!devices.is_empty()).then(|| devices.join(", then ")),
            seed: head.seed,
            steps: state.step,
            positions: head.positions,
            minutes: (head.seconds / 6.0).round() / 10.0,
        };
        let evaluation = match weights {
            Weights::Averaged => last_evaluation(run, state.step)?,
            Weights::Live => None,
        };
        // Games are no held-out positions.
        let held_out = evaluation.iter().flat_map(|evaluation| &evaluation.groups);
        let held_out = held_out.filter(|(_, score)| score.points.is_none());
        let held_out = held_out.map(|(group, score)| HeldOut {
            group: group.clone(),
            positions: score.count,
            figures: figures(score),
        });
        let notes = match &evaluation {
            Some(evaluation) if evaluation.step < state.step => {
                format!("The held-out figures are those after {} of {} steps.", evaluation.step, state.step)
            }
            _ => String::new(),
        };
        Ok(Provenance {
            name: head.config.name.clone(),
            authors: String::new(),
            data: head.data.clone(),
            licence: String::new(),
            training: Some(training),
            held_out: held_out.collect(),
            value_unit_cp: Some(head.config.value_unit_cp()),
            notes,
        })
    }
}

/// The last evaluation up to a step; a checkpoint without its run has none.
fn last_evaluation(run: &Path, step: u64) -> io::Result<Option<Evaluation>> {
    let lines = present(read_lines(&metrics_path(run)))?;
    Ok(lines.into_iter().rev().find_map(|line| match line {
        MetricsLine::Evaluation(evaluation) if evaluation.step <= step => Some(evaluation),
        MetricsLine::Evaluation(_) | MetricsLine::Step(_) => None,
    }))
}

/// No lines where there is no file.
fn present<T>(lines: io::Result<Vec<T>>) -> io::Result<Vec<T>> {
    match lines {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        lines => lines,
    }
}
