//! A training run's state on disk, in parts small enough to pass anywhere. The layout is `docs/formats/checkpoint.md`.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use twox_hash::XxHash3_64;

use crate::metrics::Window;
use crate::{NetConfig, ParameterTable, TrainConfig, TrainerState};

/// The first bytes of every part.
pub const MAGIC: [u8; 8] = *b"TABIACKP";
/// The version of the layout.
pub const VERSION: u16 = 1;
/// The most bytes of a part, its header included.
pub const MAX_PART: usize = 15 << 20;

const HEADER: usize = 32;
/// A file with more parts than this is not one of ours: 64 GiB.
const MAX_PARTS: usize = 4096;
/// Weights, both moments and averaged weights.
const ARENAS: usize = 4;
const UNFINISHED: &str = "unfinished-";
const FOLDER: &str = "step-";

/// A run at rest: with the same data it continues as if it had never stopped.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// What is known besides the numbers.
    pub head: CheckpointHead,
    /// The numbers.
    pub state: TrainerState,
}

/// What a checkpoint says about its run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckpointHead {
    /// The configuration, as it was resolved.
    pub config: TrainConfig,
    /// The seed of weights, order and dropout.
    pub seed: u64,
    /// Positions seen.
    pub positions: u64,
    /// Seconds of training.
    pub seconds: f64,
    /// Evaluations made.
    pub evaluations: u32,
    /// The losses since the last line of metrics.
    pub window: Window,
    /// Where the supply of examples continues; its owner's own business.
    pub supply: Value,
    /// What it was trained on, for the card.
    pub data: String,
}

/// The stored header: the head, and what is needed to read the numbers that follow.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    head: CheckpointHead,
    step: u64,
    tensors: Vec<(String, Vec<usize>)>,
}

/// Why a checkpoint could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The file system refused.
    #[error("{}: {error}", path.display())]
    Io {
        /// Which file or folder.
        path: PathBuf,
        /// What it said.
        error: io::Error,
    },
    /// The bytes are not a whole checkpoint.
    #[error("{}: {problem}", path.display())]
    Damaged {
        /// Which file or folder.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
}

fn io_at(path: &Path) -> impl FnOnce(io::Error) -> CheckpointError + use<> {
    let path = path.to_owned();
    move |error| CheckpointError::Io { path, error }
}

fn damaged(path: &Path, problem: impl Into<String>) -> CheckpointError {
    CheckpointError::Damaged { path: path.to_owned(), problem: problem.into() }
}

/// Writes `checkpoint` as a folder of `parent`, named for its step, and returns the folder. The folder has its name only
/// once everything in it is on the disk.
///
/// # Errors
/// If the file system refuses; no folder with the final name is left then.
pub fn write(parent: &Path, checkpoint: &Checkpoint) -> Result<PathBuf, CheckpointError> {
    let table = checkpoint.head.config.net.table();
    let name = format!("{FOLDER}{:010}", checkpoint.state.step);
    let target = parent.join(&name);
    let work = parent.join(format!("{UNFINISHED}{name}"));
    fs::create_dir_all(parent).map_err(io_at(parent))?;
    if work.exists() {
        fs::remove_dir_all(&work).map_err(io_at(&work))?;
    }
    fs::create_dir(&work).map_err(io_at(&work))?;

    let payload = encode(&table, checkpoint).map_err(|e| damaged(&work, e))?;
    let chunk = MAX_PART - HEADER;
    let parts = payload.len().div_ceil(chunk);
    for (index, bytes) in payload.chunks(chunk).enumerate() {
        let path = work.join(part_name(index));
        let mut file = File::create(&path).map_err(io_at(&path))?;
        let header = header(index as u16, parts as u16, bytes.len() as u64);
        file.write_all(&header)
            .and_then(|()| file.write_all(&checksum(&header, bytes).to_le_bytes()))
            .and_then(|()| file.write_all(bytes))
            .and_then(|()| file.sync_all())
            .map_err(io_at(&path))?;
    }
    sync_folder(&work)?;
    if target.exists() {
        fs::remove_dir_all(&target).map_err(io_at(&target))?;
    }
    fs::rename(&work, &target).map_err(io_at(&target))?;
    sync_folder(parent)?;
    Ok(target)
}

/// Reads the checkpoint in `folder`.
///
/// # Errors
/// If a part is missing, damaged or of a later version, or the network has other tensors than its configuration says.
pub fn read(folder: &Path) -> Result<Checkpoint, CheckpointError> {
    let mut payload = Vec::new();
    let mut index = 0;
    loop {
        let path = folder.join(part_name(index));
        let bytes = fs::read(&path).map_err(io_at(&path))?;
        let (parts, body) = open_part(&bytes, index).map_err(|problem| damaged(&path, problem))?;
        payload.extend_from_slice(body);
        index += 1;
        if index >= parts {
            break;
        }
    }
    decode(&payload).map_err(|problem| damaged(folder, problem))
}

/// The folders of whole checkpoints in `parent`, latest first. What a crash left unfinished is not among them.
///
/// # Errors
/// If the folder cannot be listed.
pub fn list(parent: &Path) -> Result<Vec<PathBuf>, CheckpointError> {
    let entries = match fs::read_dir(parent) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(io_at(parent)(error)),
    };
    let mut folders = Vec::new();
    for entry in entries {
        let entry = entry.map_err(io_at(parent))?;
        let name = entry.file_name();
        let step = name.to_str().and_then(|name| name.strip_prefix(FOLDER)?.parse::<u64>().ok());
        folders.extend(step.map(|step| (step, entry.path())));
    }
    folders.sort_unstable_by(|a, b| b.cmp(a));
    Ok(folders.into_iter().map(|(_, path)| path).collect())
}

/// Removes all but the latest `keep` checkpoints, and what crashes left unfinished.
///
/// # Errors
/// If the file system refuses.
pub fn prune(parent: &Path, keep: usize) -> Result<(), CheckpointError> {
    for folder in list(parent)?.into_iter().skip(keep) {
        fs::remove_dir_all(&folder).map_err(io_at(&folder))?;
    }
    for entry in fs::read_dir(parent).map_err(io_at(parent))? {
        let path = entry.map_err(io_at(parent))?.path();
        if path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(UNFINISHED)) {
            fs::remove_dir_all(&path).map_err(io_at(&path))?;
        }
    }
    Ok(())
}

fn part_name(index: usize) -> String {
    format!("part-{index:03}.ckpt")
}

fn sync_folder(folder: &Path) -> Result<(), CheckpointError> {
    File::open(folder).and_then(|file| file.sync_all()).map_err(io_at(folder))
}

/// The first 24 bytes of a part.
fn header(index: u16, parts: u16, length: u64) -> Vec<u8> {
    let numbers: [&[u8]; 5] =
        [&VERSION.to_le_bytes(), &index.to_le_bytes(), &parts.to_le_bytes(), &[0; 2], &length.to_le_bytes()];
    [&MAGIC[..], &numbers.concat()].concat()
}

/// Covers every byte of a part: its header and the hash of the rest.
fn checksum(header: &[u8], body: &[u8]) -> u64 {
    XxHash3_64::oneshot(&[header, &XxHash3_64::oneshot(body).to_le_bytes()].concat())
}

/// How many parts there are, and the bytes of this one.
pub(crate) fn open_part(bytes: &[u8], index: usize) -> Result<(usize, &[u8]), String> {
    let mut fields = Fields(bytes);
    if fields.take::<8>()? != MAGIC {
        return Err("not a part of a checkpoint".to_owned());
    }
    let version = u16::from_le_bytes(fields.take()?);
    if version != VERSION {
        return Err(format!("layout version {version}; this program knows {VERSION}"));
    }
    let stored = usize::from(u16::from_le_bytes(fields.take()?));
    let parts = usize::from(u16::from_le_bytes(fields.take()?));
    let _reserved: [u8; 2] = fields.take()?;
    let length = u64::from_le_bytes(fields.take()?);
    let sum = u64::from_le_bytes(fields.take()?);
    let body = fields.0;
    if sum != checksum(&header(stored as u16, parts as u16, length), body) {
        return Err("its checksum is wrong".to_owned());
    }
    if stored != index || parts > MAX_PARTS {
        return Err(format!("says it is part {stored} of {parts}, but it is part {index}"));
    }
    if length != body.len() as u64 {
        return Err(format!("has {} bytes, its header says {length}", body.len()));
    }
    Ok((parts, body))
}

pub(crate) fn encode(table: &ParameterTable, checkpoint: &Checkpoint) -> Result<Vec<u8>, String> {
    let stored =
        Stored { head: checkpoint.head.clone(), step: checkpoint.state.step, tensors: shapes(table) };
    let json = serde_json::to_vec(&stored).map_err(|e| e.to_string())?;
    let mut payload = Vec::with_capacity(json.len() + 8 + 16 * table.parameters());
    payload.extend_from_slice(&(json.len() as u64).to_le_bytes());
    payload.extend_from_slice(&json);
    let TrainerState { weights, m, v, ema, .. } = &checkpoint.state;
    for arena in [weights, m, v, ema] {
        for entry in table.entries() {
            payload.extend(entry.of(arena).iter().flat_map(|value| value.to_le_bytes()));
        }
    }
    Ok(payload)
}

pub(crate) fn decode(payload: &[u8]) -> Result<Checkpoint, String> {
    let mut fields = Fields(payload);
    let length = usize::try_from(u64::from_le_bytes(fields.take()?)).map_err(|e| e.to_string())?;
    let json = fields.slice(length)?;
    let Stored { head, step, tensors } =
        serde_json::from_slice(json).map_err(|e| format!("its header: {e}"))?;
    fits(&head.config.net, tensors.len(), fields.0.len())?;
    head.config.net.check()?;
    let table = head.config.net.table();
    if tensors != shapes(&table) {
        return Err("its tensors are not those of the network it names".to_owned());
    }
    let (have, need) = (fields.0.len(), table.parameters().checked_mul(ARENAS * 4));
    if Some(have) != need {
        let parameters = table.parameters();
        return Err(format!("{have} bytes of numbers for a network of {parameters} parameters"));
    }
    let mut arena = || -> Result<Vec<f32>, String> {
        let mut arena = vec![0.0; table.arena_len()];
        for entry in table.entries() {
            let bytes = fields.slice(4 * entry.len())?;
            let (numbers, _) = bytes.as_chunks::<4>();
            for (slot, number) in entry.of_mut(&mut arena).iter_mut().zip(numbers) {
                *slot = f32::from_le_bytes(*number);
            }
        }
        Ok(arena)
    };
    let state = TrainerState { step, weights: arena()?, m: arena()?, v: arena()?, ema: arena()? };
    Ok(Checkpoint { head, state })
}

/// Whether a network of such sizes can have no more tensors and bytes than there are: asked before anything of its size is
/// made. No width is larger than the number of weights, no depth than the number of tensors.
fn fits(net: &NetConfig, tensors: usize, bytes: usize) -> Result<(), String> {
    let json = serde_json::to_value(net).map_err(|e| e.to_string())?;
    let weights = (bytes / (ARENAS * 4)) as u64;
    let depth = tensors as u64;
    let mut pending = vec![(weights, &json)];
    while let Some((most, value)) = pending.pop() {
        match value {
            Value::Number(number) if number.as_f64().is_none_or(|number| number > most as f64) => {
                return Err(format!("its network has a size of {number}, which is more than the file holds"));
            }
            Value::Array(items) => pending.extend(items.iter().map(|item| (most, item))),
            Value::Object(fields) => pending.extend(fields.iter().map(|(name, field)| {
                let is_depth = matches!(name.as_str(), "layers" | "blocks");
                (if is_depth { most.min(depth) } else { most }, field)
            })),
            _ => {}
        }
    }
    Ok(())
}

fn shapes(table: &ParameterTable) -> Vec<(String, Vec<usize>)> {
    table.entries().iter().map(|entry| (entry.name.clone(), entry.shape.clone())).collect()
}

/// Bytes taken from the front.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let (field, rest) = self.0.split_first_chunk::<N>().ok_or("it is cut off")?;
        self.0 = rest;
        Ok(*field)
    }

    fn slice(&mut self, length: usize) -> Result<&'a [u8], String> {
        let (field, rest) = self.0.split_at_checked(length).ok_or("it is cut off")?;
        self.0 = rest;
        Ok(field)
    }
}
