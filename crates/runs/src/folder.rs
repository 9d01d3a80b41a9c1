//! A run's folder.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::Serialize;
use serde_json::{Value, json};

use crate::card::{self, RunCard, RunState};
use crate::metrics::{self, FileId, Metrics};

/// A run's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFolder {
    path: PathBuf,
}

/// Status of a run as derived from its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunStatus {
    /// A process is training.
    Running,
    /// The budget was used up.
    Complete,
    /// Stopped on request.
    Stopped,
    /// Ended with an error, which is in the card.
    Failed,
    /// Started, not ended and not locked: the process was killed, or this is a copy of a running run.
    #[serde(rename = "broken-off")]
    Interrupted,
    /// No card.
    Unknown,
}

impl From<RunState> for RunStatus {
    fn from(state: RunState) -> RunStatus {
        match state {
            RunState::Running => RunStatus::Running,
            RunState::Complete => RunStatus::Complete,
            RunState::Stopped => RunStatus::Stopped,
            RunState::Failed => RunStatus::Failed,
        }
    }
}

/// The part of a run that changes during training. Cheap to compute, and equal as long as nothing changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunSummary {
    /// Status.
    #[serde(rename = "standing")]
    pub status: RunStatus,
    /// Error message of a failed run.
    pub message: Option<String>,
    /// Unix time of the start or last resume.
    pub started: Option<u64>,
    /// Unix time of the end.
    pub ended: Option<u64>,
    /// Size of the metrics file in bytes.
    pub bytes: u64,
    /// Modification time of the metrics file in Unix milliseconds.
    pub modified: Option<u64>,
    /// Identity of the metrics file.
    pub file: FileId,
}

impl RunFolder {
    /// The run at `path`, if it has metrics or a card.
    pub(crate) fn at(path: &Path) -> Option<Self> {
        let is_file = |path: PathBuf| fs::symlink_metadata(path).is_ok_and(|data| data.is_file());
        let is_run = is_file(metrics::path(path)) || is_file(card::card_path(path));
        is_run.then(|| RunFolder { path: path.to_owned() })
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Current status.
    pub fn status(&self) -> RunStatus {
        self.summary().status
    }

    /// Current summary.
    pub fn summary(&self) -> RunSummary {
        let card = RunCard::read(&self.path);
        let status = match card.as_ref().map(|card| card.state) {
            None => RunStatus::Unknown,
            Some(RunState::Running) if !card::is_locked(&self.path) => {
                // Read again: the run may have ended between reading the card and testing the lock.
                match RunCard::read(&self.path).map(|card| card.state) {
                    Some(RunState::Running) | None => RunStatus::Interrupted,
                    Some(ended) => ended.into(),
                }
            }
            Some(state) => state.into(),
        };
        let data = fs::symlink_metadata(metrics::path(&self.path)).ok();
        let modified = data.as_ref().and_then(|data| data.modified().ok());
        let modified = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        RunSummary {
            status,
            message: card.as_ref().and_then(|card| card.message.clone()),
            started: card.as_ref().map(|card| card.started),
            ended: card.as_ref().and_then(|card| card.ended),
            bytes: data.as_ref().map_or(0, fs::Metadata::len),
            modified: modified.and_then(|time| u64::try_from(time.as_millis()).ok()),
            file: data.as_ref().map(FileId::of).unwrap_or_default(),
        }
    }

    /// The part that does not change during training, from the card, or from `config.toml` if there is no card.
    pub fn about(&self) -> Value {
        if let Some(card) = RunCard::read(&self.path) {
            return json!({
                "config": card.config,
                "facts": card.facts,
                "max_seconds": card.max_seconds,
                "max_positions": card.max_positions,
            });
        }
        let text = fs::read_to_string(self.path.join("config.toml")).unwrap_or_default();
        json!({ "config": text.parse::<toml::Table>().ok() })
    }

    /// All complete lines of the metrics, downsampled.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn metrics(&self, max_lines: usize) -> io::Result<Metrics> {
        metrics::first(&self.path, max_lines)
    }

    /// The complete lines after byte `from` of `file`; all of them, downsampled, if the metrics file was replaced.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn metrics_since(&self, file: &FileId, from: u64, max_lines: usize) -> io::Result<Metrics> {
        metrics::more(&self.path, file, from, max_lines)
    }
}
