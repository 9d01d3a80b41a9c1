//! Initial weights from an earlier run.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tabia_model::{Source, Tensor};

use crate::checkpoint::{self, CheckpointError};
use crate::graph_weights::{self, Found};
use crate::{Initial, NetConfig, ParameterTable, checkpoints_path};

/// Why initial weights cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum InitialWeightsError {
    /// A checkpoint cannot be read.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// A file cannot be read, or does not fit.
    #[error("{}: {problem}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
}

/// An arena of `net` from a state dict (safetensors or PyTorch), an ONNX file that [`export`](crate::export) wrote, a NumPy
/// archive with the names of either, a checkpoint, or a run: its latest checkpoint. Of a checkpoint the averaged weights are
/// taken.
///
/// # Errors
/// If a tensor of the network is missing or has another shape, or the file cannot be read. A layer may have fewer inputs
/// than the network's: what the new ones add is zero at first. A parameter with given [initial values](Initial::Values) may be
/// missing.
pub fn initial_weights(path: &Path, net: &NetConfig) -> Result<Vec<f32>, InitialWeightsError> {
    read(path, net).map(|read| read.arena)
}

/// An arena from a file.
pub(crate) struct Read {
    pub(crate) arena: Vec<f32>,
    /// Parameters that the file lacks.
    pub(crate) missing: Vec<String>,
}

/// [`initial_weights`], and what the file lacks.
pub(crate) fn read(path: &Path, net: &NetConfig) -> Result<Read, InitialWeightsError> {
    let table = &net.table();
    let wrong = |problem: String| InitialWeightsError::File { path: path.to_owned(), problem };
    if path.is_dir() {
        let latest = checkpoint::list(&checkpoints_path(path))?.into_iter().next();
        let found = checkpoint::read(latest.as_deref().unwrap_or(path))?;
        let other = found.head.config.net.table();
        return copy(table, |name| {
            let entry = other.get(name)?;
            Some((entry.shape.clone(), entry.of(&found.state.ema).to_vec()))
        })
        .map_err(wrong);
    }
    let bytes = fs::read(path).map_err(|e| wrong(e.to_string()))?;
    let mut found = tensors(&bytes, net).map_err(wrong)?;
    copy(table, |name| found.remove(name)).map_err(wrong)
}

/// The tensors of a file under the names of a state dict.
fn tensors(bytes: &[u8], net: &NetConfig) -> Result<BTreeMap<String, Found>, String> {
    if graph_weights::is_npz(bytes) {
        return graph_weights::of_npz(bytes, net);
    }
    let not_a_dict = match Source::state_dict(bytes) {
        Ok(dict) => {
            let found =
                |(name, tensor): (String, Tensor)| (name, (tensor.shape().to_vec(), tensor.into_data()));
            return Ok(dict.into_iter().map(found).collect());
        }
        Err(error) => error.to_string(),
    };
    match graph_weights::of_onnx(bytes, net) {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => Err(format!("{not_a_dict}; nor is it an ONNX file with the tensors of this network")),
    }
}

fn copy(table: &ParameterTable, mut find: impl FnMut(&str) -> Option<Found>) -> Result<Read, String> {
    let mut arena = vec![0.0; table.arena_len()];
    let mut missing = Vec::new();
    for entry in table.entries() {
        let (shape, data) = match (find(&entry.name), entry.initial) {
            (Some(found), _) => found,
            (None, Initial::Values(values)) => {
                missing.push(entry.name.clone());
                (entry.shape.clone(), values.to_vec())
            }
            (None, _) => return Err(format!("has no tensor {}", entry.name)),
        };
        match (shape.as_slice(), entry.shape.as_slice()) {
            (found, expected) if found == expected => entry.of_mut(&mut arena).copy_from_slice(&data),
            (&[rows, inputs], &[expected, more]) if rows == expected && (1..more).contains(&inputs) => {
                let to = entry.of_mut(&mut arena).chunks_exact_mut(more);
                for (to, from) in to.zip(data.chunks_exact(inputs)) {
                    for (to, from) in to.iter_mut().zip(from) {
                        *to = *from;
                    }
                }
            }
            (found, expected) => {
                return Err(format!("{} has shape {found:?}, the network {expected:?}", entry.name));
            }
        }
    }
    Ok(Read { arena, missing })
}
