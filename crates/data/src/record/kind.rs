use std::cmp::Reverse;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{EvaluationBytes, GameBytes, RecordError, RecordKey, merge_evaluations};

/// The kind of records in a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RecordKind {
    /// Games: [`GameRecord`](crate::GameRecord).
    Games,
    /// Analysed positions: [`EvaluationRecord`](crate::EvaluationRecord).
    Evaluations,
}

impl RecordKind {
    /// The key of a record's bytes.
    ///
    /// # Errors
    /// If they are not the bytes of such a record.
    pub fn key(self, bytes: &[u8]) -> Result<RecordKey, RecordError> {
        Ok(match self {
            RecordKind::Games => GameBytes::parse(bytes)?.key(),
            RecordKind::Evaluations => EvaluationBytes::parse(bytes)?.key(),
        })
    }

    /// The number of training positions of a record: the moves of a game, or one.
    ///
    /// # Errors
    /// If they are not the bytes of such a record.
    pub fn positions(self, bytes: &[u8]) -> Result<u32, RecordError> {
        match self {
            RecordKind::Games => Ok(GameBytes::parse(bytes)?.plies),
            RecordKind::Evaluations => EvaluationBytes::parse(bytes).map(|_| 1),
        }
    }

    /// Merges records with the same key: of games, the one with the most information, then the one with the smaller bytes;
    /// of analysed positions, all sessions. The order of `parts` and duplicates among them do not matter.
    ///
    /// # Errors
    /// If there are no parts or one cannot be read.
    pub fn unite<'a>(self, parts: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<u8>, RecordError> {
        match self {
            RecordKind::Evaluations => merge_evaluations(parts),
            RecordKind::Games => {
                let mut best: Option<(Reverse<u64>, &[u8])> = None;
                for part in parts {
                    let candidate = (Reverse(GameBytes::parse(part)?.information()), part);
                    if best.is_none_or(|best| candidate < best) {
                        best = Some(candidate);
                    }
                }
                best.map(|(_, bytes)| bytes.to_vec()).ok_or(RecordError::Short { what: "a game" })
            }
        }
    }
}

impl fmt::Display for RecordKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RecordKind::Games => "games",
            RecordKind::Evaluations => "evaluations",
        })
    }
}

impl FromStr for RecordKind {
    type Err = UnknownKind;

    fn from_str(text: &str) -> Result<Self, UnknownKind> {
        match text {
            "games" => Ok(RecordKind::Games),
            "evaluations" => Ok(RecordKind::Evaluations),
            _ => Err(UnknownKind(text.to_owned())),
        }
    }
}

/// Not the name of a [`RecordKind`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown record kind {0:?} (expected games or evaluations)")]
pub struct UnknownKind(pub String);
