//! `run.json` (configuration and outcome of a run) and the lock file held while training.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

const MAGIC: &str = "tabia training run";
const VERSION: u32 = 1;
const MAX_CARD_BYTES: u64 = 1 << 20;
/// A reader that tests the lock holds it for an instant, so the writer retries.
const LOCK_ATTEMPTS: u32 = 20;
const LOCK_RETRY_DELAY: Duration = Duration::from_millis(25);

/// Contents of `run.json`. Unknown keys are ignored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunCard {
    run: String,
    version: u32,
    /// State when the card was written.
    pub state: RunState,
    /// Error message of a failed run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Unix time of the start or last resume.
    pub started: u64,
    /// Unix time of the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<u64>,
    /// Unfinished step that was discarded when the run ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped_step: Option<u64>,
    /// Training budget in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_seconds: Option<f64>,
    /// Training budget in positions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_positions: Option<u64>,
    /// Other inputs: device, parameters, seed, data.
    #[serde(default)]
    pub facts: Map<String, Value>,
    /// Configuration with all defaults filled in.
    #[serde(default)]
    pub config: Value,
}

/// State of a run as written in its card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunState {
    /// Started. If the lock is free, the run was interrupted.
    Running,
    /// The budget was used up.
    Complete,
    /// Stopped on request.
    Stopped,
    /// Ended with an error.
    Failed,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunOutcome {
    /// The budget was used up.
    Complete,
    /// Stopped on request.
    Stopped,
    /// Ended with this error.
    Failed(String),
}

impl RunCard {
    /// Card of a run started at Unix time `started`.
    pub fn new(started: u64, config: Value) -> Self {
        RunCard {
            run: MAGIC.to_owned(),
            version: VERSION,
            state: RunState::Running,
            message: None,
            started,
            ended: None,
            dropped_step: None,
            max_seconds: None,
            max_positions: None,
            facts: Map::new(),
            config,
        }
    }

    /// Reads the card in `folder`; `None` if it is missing, malformed or of another version.
    pub(crate) fn read(folder: &Path) -> Option<RunCard> {
        let mut bytes = Vec::new();
        File::open(card_path(folder)).ok()?.take(MAX_CARD_BYTES).read_to_end(&mut bytes).ok()?;
        let card: RunCard = serde_json::from_slice(&bytes).ok()?;
        (card.run == MAGIC && card.version == VERSION).then_some(card)
    }

    fn write(&self, folder: &Path) -> io::Result<()> {
        let path = card_path(folder);
        let fresh = path.with_extension("json.tmp");
        let mut file = File::create(&fresh)?;
        serde_json::to_writer_pretty(&mut file, self)?;
        file.write_all(b"\n")?;
        file.sync_all()?;
        fs::rename(&fresh, path)
    }
}

pub(crate) fn card_path(folder: &Path) -> PathBuf {
    folder.join("run.json")
}

fn lock_path(folder: &Path) -> PathBuf {
    folder.join("run.lock")
}

/// A run being trained by this process. Holds the lock that makes its status [`Running`](crate::RunStatus::Running).
#[derive(Debug)]
pub struct OpenRun {
    folder: PathBuf,
    card: RunCard,
    /// Released by the OS when the process ends.
    _lock: File,
}

/// Error opening or closing a run.
#[derive(Debug, thiserror::Error)]
pub enum OpenRunError {
    /// Another process holds the lock.
    #[error("{}: locked by another training process", .0.display())]
    Locked(PathBuf),
    /// I/O error on a file.
    #[error("{}: {error}", path.display())]
    Io {
        /// File.
        path: PathBuf,
        /// Cause.
        error: io::Error,
    },
}

impl OpenRun {
    /// Locks the run in the existing `folder` and writes its card.
    ///
    /// # Errors
    /// If another process holds the lock or the files cannot be written.
    pub fn start(folder: &Path, card: RunCard) -> Result<Self, OpenRunError> {
        let path = lock_path(folder);
        let failed = |path: &Path, error| OpenRunError::Io { path: path.to_owned(), error };
        let lock = File::create(&path).map_err(|error| failed(&path, error))?;
        let mut tries = 0;
        while let Err(error) = lock.try_lock() {
            tries += 1;
            match error {
                TryLockError::WouldBlock if tries < LOCK_ATTEMPTS => std::thread::sleep(LOCK_RETRY_DELAY),
                TryLockError::WouldBlock => return Err(OpenRunError::Locked(folder.to_owned())),
                TryLockError::Error(error) => return Err(failed(&path, error)),
            }
        }
        card.write(folder).map_err(|error| failed(&card_path(folder), error))?;
        Ok(OpenRun { folder: folder.to_owned(), card, _lock: lock })
    }

    /// Records the unfinished step that is discarded.
    pub fn set_dropped_step(&mut self, step: u64) {
        self.card.dropped_step = Some(step);
    }

    /// Writes the outcome at Unix time `now`.
    ///
    /// # Errors
    /// If the card cannot be written.
    pub fn finish(mut self, outcome: RunOutcome, now: u64) -> Result<(), OpenRunError> {
        self.card.ended = Some(now);
        (self.card.state, self.card.message) = match outcome {
            RunOutcome::Complete => (RunState::Complete, None),
            RunOutcome::Stopped => (RunState::Stopped, None),
            RunOutcome::Failed(message) => (RunState::Failed, Some(message)),
        };
        let path = card_path(&self.folder);
        self.card.write(&self.folder).map_err(|error| OpenRunError::Io { path, error })
    }
}

/// Whether a process holds the lock of the run in `folder`.
pub(crate) fn is_locked(folder: &Path) -> bool {
    let Ok(file) = File::open(lock_path(folder)) else { return false };
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}
