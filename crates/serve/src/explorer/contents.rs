//! What is explored: a set, or the arrays of Learning a Chess Policy.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::path::{Path, PathBuf};

use tabia_data::{AnyRecord, NpyError, NpyFolder, PositionIndex, RecordIndex, RecordKind, Set, SetError};

use crate::ConfigError;

/// How the file of an array set's planes ends.
const PLANES: &str = "_planes.npy";

/// Positions by number.
pub(super) enum Contents {
    Set(Box<Set>),
    Arrays(Box<NpyFolder>),
}

/// Why a position cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadError {
    #[error(transparent)]
    Set(#[from] SetError),
    #[error(transparent)]
    Npy(#[from] NpyError),
}

impl Contents {
    /// What a path of [`paths_at`] holds, and a name for it.
    pub(super) fn open(path: &Path) -> Result<(Contents, String), ConfigError> {
        let full = path.canonicalize().ok();
        let name = full.and_then(|full| Some(full.file_name()?.to_string_lossy().into_owned()));
        let name = name.unwrap_or_else(|| "set".to_owned());
        if path.is_file() {
            let short = name.strip_suffix(PLANES).unwrap_or(&name).to_owned();
            return Ok((Contents::Arrays(Box::new(NpyFolder::open(path)?)), short));
        }
        Ok((Contents::Set(Box::new(Set::open(path)?)), name))
    }

    pub(super) fn kind(&self) -> RecordKind {
        match self {
            Contents::Set(set) => set.kind(),
            Contents::Arrays(_) => RecordKind::Evaluations,
        }
    }

    pub(super) fn records(&self) -> u64 {
        match self {
            Contents::Set(set) => set.records(),
            Contents::Arrays(arrays) => arrays.positions(),
        }
    }

    pub(super) fn positions(&self) -> u64 {
        match self {
            Contents::Set(set) => set.positions(),
            Contents::Arrays(arrays) => arrays.positions(),
        }
    }

    pub(super) fn sources(&self) -> Vec<String> {
        match self {
            Contents::Set(set) => set.manifest().sources.iter().map(|source| source.name.clone()).collect(),
            Contents::Arrays(arrays) => vec![arrays.path().display().to_string()],
        }
    }

    pub(super) fn position(&self, index: PositionIndex) -> Result<(RecordIndex, u32), ReadError> {
        match self {
            Contents::Set(set) => Ok(set.position(index)?),
            Contents::Arrays(_) => Ok((RecordIndex(index.0), 0)),
        }
    }

    pub(super) fn record(&self, index: RecordIndex) -> Result<AnyRecord, ReadError> {
        match self {
            Contents::Set(set) => Ok(set.record(index)?),
            Contents::Arrays(arrays) => Ok(AnyRecord::Evaluation(arrays.record(index.0)?)),
        }
    }
}

/// `path` if it is a set or the planes of arrays, otherwise those directly inside it. Another array of a set stands for its planes.
pub(super) fn paths_at(path: &Path) -> Result<Vec<PathBuf>, ConfigError> {
    let is_set = |dir: &Path| dir.join("set.json").is_file();
    let is_planes = |file: &Path| file.to_string_lossy().ends_with(PLANES) && file.is_file();
    if is_set(path) || is_planes(path) {
        return Ok(vec![path.to_owned()]);
    }
    if let Some(planes) = planes_beside(path).filter(|planes| planes.is_file()) {
        return Ok(vec![planes]);
    }
    let unreadable = |error| ConfigError::Unreadable { path: path.to_owned(), error };
    let entries = path.read_dir().map_err(unreadable)?;
    let mut inside: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|entry| is_set(entry) || is_planes(entry))
        .collect();
    inside.sort();
    if inside.is_empty() {
        return Err(ConfigError::NoSets(path.to_owned()));
    }
    Ok(inside)
}

/// The planes of the set that an array, or a prefix such as `cache/train`, belongs to.
fn planes_beside(path: &Path) -> Option<PathBuf> {
    if path.is_dir() {
        return None;
    }
    let name = path.file_name()?.to_str()?;
    let others = ["_meta.npy", "_analysis_data.npy", "_analysis_offsets.npy"];
    let prefix = others.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    Some(path.with_file_name(format!("{prefix}{PLANES}")))
}
