//! `run.json`: what a run is and how it ended, and the lock that is held while it goes on.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What a card's `run` says.
const MAGIC: &str = "tabia training run";
/// The version written.
const VERSION: u32 = 1;
/// More than any card needs: a file beyond it is something else.
const LARGEST: u64 = 1 << 20;
/// A reader that looks whether the lock is held has it for an instant: so often a writer tries again, and so long it waits.
const TRIES: u32 = 20;
const BETWEEN_TRIES: Duration = Duration::from_millis(25);

/// A run's `run.json`. Keys it does not know are ignored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunCard {
    run: String,
    version: u32,
    /// How the run stood when the card was written.
    pub state: RunState,
    /// Why it failed, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// When it was begun or continued, in seconds since 1970.
    pub started: u64,
    /// When it ended, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<u64>,
    /// The step that was broken off when the run ended; it left no trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped_step: Option<u64>,
    /// The bound in seconds of training.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_seconds: Option<f64>,
    /// The bound in positions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_positions: Option<u64>,
    /// What else decides the run: device, parameters, seed, data.
    #[serde(default)]
    pub facts: Map<String, Value>,
    /// The configuration with every default written out.
    #[serde(default)]
    pub config: Value,
}

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunState {
    /// It was begun; if nobody holds the lock any more, it broke off.
    Running,
    /// Its bound was reached.
    Complete,
    /// It was asked to stop.
    Stopped,
    /// It ended with an error.
    Failed,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Its bound was reached.
    Complete,
    /// It was asked to stop.
    Stopped,
    /// It ended with this error.
    Failed(String),
}

impl RunCard {
    /// The card of a run that begins now.
    pub fn begun(started: u64, config: Value) -> Self {
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

    /// The card of the run in `folder`; none if there is none, or it is of a later version or something else.
    pub(crate) fn read(folder: &Path) -> Option<RunCard> {
        let mut bytes = Vec::new();
        File::open(card_path(folder)).ok()?.take(LARGEST).read_to_end(&mut bytes).ok()?;
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

/// A run that is going on in this program: while this exists others see it as running.
#[derive(Debug)]
pub struct OpenRun {
    folder: PathBuf,
    card: RunCard,
    /// Let go when the program ends, however it ends.
    _lock: File,
}

/// Why a run could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenRunError {
    /// Another program has it open.
    #[error("{}: another program is training there", .0.display())]
    Taken(PathBuf),
    /// The file system refused.
    #[error("{}: {error}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What went wrong.
        error: io::Error,
    },
}

impl OpenRun {
    /// Locks the run in `folder`, which exists, and writes its card.
    ///
    /// # Errors
    /// If another program has locked it, or the files cannot be written.
    pub fn begin(folder: &Path, card: RunCard) -> Result<Self, OpenRunError> {
        let path = lock_path(folder);
        let failed = |path: &Path, error| OpenRunError::Io { path: path.to_owned(), error };
        let lock = File::create(&path).map_err(|error| failed(&path, error))?;
        let mut tries = 0;
        while let Err(error) = lock.try_lock() {
            tries += 1;
            match error {
                TryLockError::WouldBlock if tries < TRIES => std::thread::sleep(BETWEEN_TRIES),
                TryLockError::WouldBlock => return Err(OpenRunError::Taken(folder.to_owned())),
                TryLockError::Error(error) => return Err(failed(&path, error)),
            }
        }
        card.write(folder).map_err(|error| failed(&card_path(folder), error))?;
        Ok(OpenRun { folder: folder.to_owned(), card, _lock: lock })
    }

    /// Says which step the run ends in the middle of.
    pub fn drop_step(&mut self, step: u64) {
        self.card.dropped_step = Some(step);
    }

    /// Writes how the run ended at `now`, in seconds since 1970.
    ///
    /// # Errors
    /// If the card cannot be written.
    pub fn end(mut self, ending: Ending, now: u64) -> Result<(), OpenRunError> {
        self.card.ended = Some(now);
        (self.card.state, self.card.message) = match ending {
            Ending::Complete => (RunState::Complete, None),
            Ending::Stopped => (RunState::Stopped, None),
            Ending::Failed(message) => (RunState::Failed, Some(message)),
        };
        let path = card_path(&self.folder);
        self.card.write(&self.folder).map_err(|error| OpenRunError::Io { path, error })
    }
}

/// Whether some program has the run in `folder` open.
pub(crate) fn is_open(folder: &Path) -> bool {
    let Ok(file) = File::open(lock_path(folder)) else { return false };
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}
