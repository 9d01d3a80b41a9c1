//! Initial weights from an earlier run.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;
use std::path::{Path, PathBuf};

use tabia_model::Source;

use crate::checkpoint::{self, CheckpointError};
use crate::{ParameterTable, checkpoints_path};

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

/// An arena of `table` from a state dict (safetensors or PyTorch), a checkpoint or a run: its latest checkpoint. Of a checkpoint the averaged
/// weights are taken.
///
/// # Errors
/// If a tensor of the table is missing or has another shape, or the file cannot be read. A layer may have fewer inputs
/// than the table's: what the new ones add is zero at first.
pub fn initial_weights(path: &Path, table: &ParameterTable) -> Result<Vec<f32>, InitialWeightsError> {
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
    let found = Source::state_dict(&bytes).map_err(|e| wrong(e.to_string()))?;
    copy(table, |name| {
        let tensor = found.get(name)?;
        Some((tensor.shape().to_vec(), tensor.data().to_vec()))
    })
    .map_err(wrong)
}

fn copy(
    table: &ParameterTable,
    find: impl Fn(&str) -> Option<(Vec<usize>, Vec<f32>)>,
) -> Result<Vec<f32>, String> {
    let mut arena = vec![0.0; table.arena_len()];
    for entry in table.entries() {
        let (shape, data) = find(&entry.name).ok_or_else(|| format!("has no tensor {}", entry.name))?;
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
    Ok(arena)
}
