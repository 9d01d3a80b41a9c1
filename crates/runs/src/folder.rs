//! The folder of one run.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::Serialize;
use serde_json::{Value, json};

use crate::card::{self, RunCard, RunState};
use crate::metrics::{self, FileId, Metrics};

/// The folder of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFolder {
    path: PathBuf,
}

/// How a run stands, as far as its files tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// A program is training.
    Running,
    /// Its bound was reached.
    Complete,
    /// It was asked to stop.
    Stopped,
    /// It ended with an error, which its card names.
    Failed,
    /// It was begun, did not say how it ended, and no program has it open: it was killed, or this is a copy made while it went on.
    BrokenOff,
    /// It has no card.
    Unknown,
}

/// What changes while a run goes on: cheap to make, small, and the same as long as nothing happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Glance {
    /// How the run stands.
    pub standing: Standing,
    /// Why it failed.
    pub message: Option<String>,
    /// When it was begun or continued, in seconds since 1970.
    pub started: Option<u64>,
    /// When it ended, in seconds since 1970.
    pub ended: Option<u64>,
    /// Bytes of metrics.
    pub bytes: u64,
    /// When the metrics were last written, in milliseconds since 1970.
    pub modified: Option<u64>,
    /// Which file the metrics are.
    pub file: FileId,
}

impl RunFolder {
    /// `path` as a run, if it holds metrics or a card.
    pub(crate) fn at(path: &Path) -> Option<Self> {
        let is_file = |path: PathBuf| fs::symlink_metadata(path).is_ok_and(|data| data.is_file());
        let is_run = is_file(metrics::path(path)) || is_file(card::card_path(path));
        is_run.then(|| RunFolder { path: path.to_owned() })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How it stands.
    pub fn standing(&self) -> Standing {
        self.glance().standing
    }

    /// What changes while it goes on.
    pub fn glance(&self) -> Glance {
        let card = RunCard::read(&self.path);
        let standing = match card.as_ref().map(|card| card.state) {
            None => Standing::Unknown,
            Some(RunState::Complete) => Standing::Complete,
            Some(RunState::Stopped) => Standing::Stopped,
            Some(RunState::Failed) => Standing::Failed,
            Some(RunState::Running) if card::is_open(&self.path) => Standing::Running,
            Some(RunState::Running) => match RunCard::read(&self.path).map(|card| card.state) {
                // It ended between the two looks.
                Some(RunState::Complete) => Standing::Complete,
                Some(RunState::Stopped) => Standing::Stopped,
                Some(RunState::Failed) => Standing::Failed,
                Some(RunState::Running) | None => Standing::BrokenOff,
            },
        };
        let data = fs::symlink_metadata(metrics::path(&self.path)).ok();
        let modified = data.as_ref().and_then(|data| data.modified().ok());
        let modified = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Glance {
            standing,
            message: card.as_ref().and_then(|card| card.message.clone()),
            started: card.as_ref().map(|card| card.started),
            ended: card.as_ref().and_then(|card| card.ended),
            bytes: data.as_ref().map_or(0, fs::Metadata::len),
            modified: modified.and_then(|time| u64::try_from(time.as_millis()).ok()),
            file: data.as_ref().map(FileId::of).unwrap_or_default(),
        }
    }

    /// What does not change while it goes on: its card, or the configuration's file where it has no card.
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

    /// All metrics up to the last whole line, downsampled to what a page can show.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn first_metrics(&self, most_lines: usize) -> io::Result<Metrics> {
        metrics::first(&self.path, most_lines)
    }

    /// The whole lines after the first `from` bytes of `file`; all of them, downsampled, if the metrics are another file by now.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn more_metrics(&self, file: &FileId, from: u64, most_lines: usize) -> io::Result<Metrics> {
        metrics::more(&self.path, file, from, most_lines)
    }
}
