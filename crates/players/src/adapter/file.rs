//! An adapter as a file: JSON. `docs/formats/adapter.md` describes it.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use shakmaty::uci::UciMove;
use tabia_encoding::{Elo, RatingPool};

use super::{Adapter, AdapterGain, AdapterNetwork, Feature, MemoryMove, OpeningMemory};

const FORMAT: &str = "tabia-adapter";
/// The newest version. A change that older programs would misread raises it; older versions stay readable.
const VERSION: u32 = 1;

/// The largest file that is read.
const MOST_BYTES: usize = 4 << 20;
/// Longer names are refused.
const LONGEST_NAME: usize = 200;
/// Greater weights are refused: `exp` of a few of them still is a number.
const MOST_WEIGHT: f32 = 20.0;
const ALPHAS: std::ops::RangeInclusive<f32> = 1e-3..=1e6;
const MOST_SHIFT: i16 = 2000;
const MOST_RATING: u16 = 4000;
const MOST_COUNT: u32 = 1_000_000;

/// Why a file is no adapter.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AdapterError {
    /// It is too large.
    #[error("{0} bytes (expected at most {MOST_BYTES})")]
    TooLarge(usize),
    /// It is not JSON, or not of this form.
    #[error("invalid adapter: {0}")]
    Json(#[from] serde_json::Error),
    /// It is another kind of file.
    #[error("format {0:?} (expected {FORMAT:?})")]
    Format(String),
    /// It was written by a newer program.
    #[error("version {0} of the adapter format (this program reads up to {VERSION})")]
    Version(u32),
    /// A field is out of range.
    #[error("invalid {field} {value} (expected {expected})")]
    Value {
        /// Which.
        field: &'static str,
        /// What it holds.
        value: String,
        /// What it may hold.
        expected: &'static str,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AdapterFile {
    format: String,
    version: u32,
    name: String,
    network: NetworkField,
    games: u32,
    moves: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rating: Option<u16>,
    #[serde(default)]
    pool: RatingPool,
    #[serde(default)]
    shift: i16,
    #[serde(default)]
    pace: f32,
    #[serde(default)]
    gain: GainField,
    #[serde(default)]
    weights: BTreeMap<String, f32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    openings: Option<OpeningsField>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct NetworkField {
    name: String,
    sha256: String,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct GainField {
    moves: u32,
    log_loss: [f64; 2],
    top_1: [f64; 2],
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OpeningsField {
    alpha: f32,
    /// By key in hexadecimal: moves in UCI notation, castling as king takes rook, and how often.
    positions: BTreeMap<String, BTreeMap<String, u32>>,
}

impl Adapter {
    /// Whether a file says that it is an adapter; it may still be invalid.
    pub fn is_adapter(bytes: &[u8]) -> bool {
        let start = bytes.trim_ascii_start();
        let head = start.get(..start.len().min(256)).unwrap_or_default();
        let quoted = format!("\"{FORMAT}\"");
        head.first() == Some(&b'{') && head.windows(quoted.len()).any(|part| part == quoted.as_bytes())
    }

    /// The adapter as JSON.
    pub fn to_json(&self) -> String {
        let openings = self.memory.as_ref().map(|memory| OpeningsField {
            alpha: memory.alpha,
            positions: memory
                .positions
                .iter()
                .map(|(key, moves)| {
                    let moves = moves.iter().map(|(m, count)| (uci(*m), *count));
                    (format!("{key:016x}"), moves.collect())
                })
                .collect(),
        });
        let file = AdapterFile {
            format: FORMAT.to_owned(),
            version: VERSION,
            name: self.name.clone(),
            network: NetworkField { name: self.network.name.clone(), sha256: self.network.sha256.clone() },
            games: self.games,
            moves: self.moves,
            rating: self.rating.map(|rating| rating.0),
            pool: self.pool,
            shift: self.shift,
            pace: self.pace,
            gain: GainField { moves: self.gain.moves, log_loss: self.gain.log_loss, top_1: self.gain.top_1 },
            weights: self.weights.iter().map(|(feature, weight)| (feature.name(), *weight)).collect(),
            openings,
        };
        let mut text = serde_json::to_string(&file).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Reads an adapter.
    ///
    /// # Errors
    /// If it is not an adapter, of a newer version, or a field is out of range.
    pub fn from_json(bytes: &[u8]) -> Result<Adapter, AdapterError> {
        #[derive(Deserialize)]
        struct Head {
            format: String,
            version: u32,
        }
        if bytes.len() > MOST_BYTES {
            return Err(AdapterError::TooLarge(bytes.len()));
        }
        // First, so that a newer version is named instead of an unknown field.
        let head: Head = serde_json::from_slice(bytes)?;
        if head.format != FORMAT {
            return Err(AdapterError::Format(head.format));
        }
        if head.version > VERSION {
            return Err(AdapterError::Version(head.version));
        }
        let file: AdapterFile = serde_json::from_slice(bytes)?;
        file.checked()
    }
}

impl AdapterFile {
    fn checked(self) -> Result<Adapter, AdapterError> {
        let wrong = |field, value: String, expected| AdapterError::Value { field, value, expected };
        if self.name.trim().is_empty() || self.name.len() > LONGEST_NAME {
            return Err(wrong("name", format!("{:?}", self.name), "1 to 200 bytes"));
        }
        if self.rating.is_some_and(|rating| !(1..=MOST_RATING).contains(&rating)) {
            return Err(wrong("rating", self.rating.unwrap_or_default().to_string(), "1 to 4000"));
        }
        if !(-MOST_SHIFT..=MOST_SHIFT).contains(&self.shift) {
            return Err(wrong("shift", self.shift.to_string(), "-2000 to 2000"));
        }
        if !(-5.0..=5.0).contains(&self.pace) {
            return Err(wrong("pace", self.pace.to_string(), "-5 to 5"));
        }
        let mut weights = Vec::with_capacity(self.weights.len());
        for (name, weight) in self.weights {
            let Some(feature) = Feature::named(&name) else {
                return Err(wrong("feature", format!("{name:?}"), "one that docs/formats/adapter.md lists"));
            };
            if !(-MOST_WEIGHT..=MOST_WEIGHT).contains(&weight) {
                return Err(wrong("weight", format!("{weight} of {name:?}"), "-20 to 20"));
            }
            weights.push((feature, weight));
        }
        weights.sort_by_key(|(feature, _)| *feature);
        Ok(Adapter {
            name: self.name,
            network: AdapterNetwork { name: self.network.name, sha256: self.network.sha256 },
            games: self.games,
            moves: self.moves,
            rating: self.rating.map(Elo),
            pool: self.pool,
            shift: self.shift,
            weights,
            memory: self.openings.map(OpeningsField::checked).transpose()?,
            pace: self.pace,
            gain: AdapterGain {
                moves: self.gain.moves,
                log_loss: self.gain.log_loss,
                top_1: self.gain.top_1,
            },
        })
    }
}

impl OpeningsField {
    fn checked(self) -> Result<OpeningMemory, AdapterError> {
        let wrong = |field, value: String, expected| AdapterError::Value { field, value, expected };
        if !ALPHAS.contains(&self.alpha) {
            return Err(wrong("alpha", self.alpha.to_string(), "0.001 to 1000000"));
        }
        let mut positions = BTreeMap::new();
        for (key, moves) in self.positions {
            let number = u64::from_str_radix(&key, 16).ok().filter(|_| key.len() == 16);
            let Some(number) = number else {
                return Err(wrong("position", format!("{key:?}"), "16 hexadecimal digits"));
            };
            let mut counts = BTreeMap::new();
            for (text, count) in moves {
                let Some(m) = memory_move(&text) else {
                    return Err(wrong("move", format!("{text:?}"), "one in UCI notation"));
                };
                if !(1..=MOST_COUNT).contains(&count) {
                    return Err(wrong("count", format!("{count} of {text}"), "1 to 1000000"));
                }
                counts.insert(m, count);
            }
            positions.insert(number, counts);
        }
        Ok(OpeningMemory { alpha: self.alpha, positions })
    }
}

fn uci(MemoryMove { from, to, promotion }: MemoryMove) -> String {
    UciMove::Normal { from, to, promotion }.to_string()
}

fn memory_move(text: &str) -> Option<MemoryMove> {
    match text.parse().ok()? {
        UciMove::Normal { from, to, promotion } => Some(MemoryMove { from, to, promotion }),
        UciMove::Put { .. } | UciMove::Null => None,
    }
}
