//! State dicts in the form that the architectures of `tabia-nets` have: one name per tensor, nothing that only trains.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use tabia_onnx::tensors::{Tensor, TensorMap};
use tabia_onnx::{ErrorKind, TensorError};

/// What `nn.BatchNorm2d` adds to the variance.
const BATCH_NORM_EPS: f64 = 1e-5;

/// Brings the tensors of the networks that need it into the form of their architecture.
///
/// # Errors
/// If copies of one tensor differ, or a batch norm is incomplete.
pub(super) fn canonicalise(tensors: &mut TensorMap) -> Result<(), TensorError> {
    if tensors.contains("elo_embedding_low.weight") && tensors.contains("token_projection.weight") {
        maia3(tensors)?;
    }
    if tensors.contains("chess_cnn.conv1.weight") && tensors.contains("elo_embedding.weight") {
        maia2(tensors)?;
    }
    Ok(())
}

fn names(tensors: &TensorMap, select: impl Fn(&str) -> bool) -> Vec<String> {
    tensors.names().filter(|name| select(name)).map(str::to_owned).collect()
}

/// Older files say `smolgen` for `gab`. Every block of a state dict repeats the shared table. The head that predicts the time to
/// think is not used.
fn maia3(tensors: &mut TensorMap) -> Result<(), TensorError> {
    const SHARED: &str = "gab_shared_weight";
    for name in names(tensors, |name| name.contains("smolgen")) {
        tensors.rename(&name, &name.replace("smolgen", "gab"));
    }
    for name in names(tensors, |name| name.ends_with(".self_attn.gab_weight")) {
        tensors.rename(&name, SHARED);
        let Some(copy) = tensors.remove(&name) else { continue };
        if tensors.iter().find(|(found, _)| *found == SHARED).is_none_or(|(_, shared)| *shared != copy) {
            let message = format!("differs from {SHARED}, which all blocks share");
            return Err(TensorError::new(ErrorKind::UnknownNetwork, message).at_tensor(name));
        }
    }
    for name in names(tensors, |name| name.starts_with("fc_ponder")) {
        tensors.remove(&name);
    }
    Ok(())
}

/// Batch norms become part of the convolution before them. The head of auxiliary predictions is not used.
fn maia2(tensors: &mut TensorMap) -> Result<(), TensorError> {
    for name in names(tensors, |name| name.ends_with(".num_batches_tracked") || name.starts_with("fc_2.")) {
        tensors.remove(&name);
    }
    for mean in names(tensors, |name| name.starts_with("chess_cnn.") && name.ends_with(".running_mean")) {
        let norm = mean.trim_end_matches(".running_mean");
        let (folder, number) = norm.rsplit_once(".bn").unwrap_or((norm, ""));
        fold(tensors, norm, &format!("{folder}.conv{number}"))?;
    }
    Ok(())
}

fn fold(tensors: &mut TensorMap, norm: &str, conv: &str) -> Result<(), TensorError> {
    let weight = format!("{conv}.weight");
    let [channels, inputs, rows, columns] = tensors.dims(&weight)?;
    if tensors.contains(&format!("{conv}.bias")) {
        let message = format!("unexpected before the batch norm {norm}");
        return Err(TensorError::new(ErrorKind::UnknownNetwork, message).at_tensor(format!("{conv}.bias")));
    }
    let mut part = |name: &str| tensors.take(&format!("{norm}.{name}"), &[channels]);
    let (gain, shift) = (part("weight")?, part("bias")?);
    let (mean, variance) = (part("running_mean")?, part("running_var")?);
    if let Some(channel) = variance.data().iter().position(|&v| f64::from(v) + BATCH_NORM_EPS <= 0.0) {
        let message = format!("element {channel} is negative; a variance is not");
        return Err(TensorError::new(ErrorKind::Malformed, message).at_tensor(format!("{norm}.running_var")));
    }
    let shape = [channels, inputs, rows, columns];
    let kernels = tensors.take(&weight, &shape)?;
    let numbers = |tensor: &Tensor| tensor.data().iter().map(|&v| f64::from(v)).collect::<Vec<_>>();
    let scales: Vec<f64> = numbers(&gain)
        .into_iter()
        .zip(numbers(&variance))
        .map(|(gain, variance)| gain / (variance + BATCH_NORM_EPS).sqrt())
        .collect();
    let folded = kernels
        .data()
        .chunks_exact(inputs * rows * columns)
        .zip(&scales)
        .flat_map(|(kernel, scale)| kernel.iter().map(move |&w| (f64::from(w) * scale) as f32))
        .collect();
    let moved = numbers(&shift).into_iter().zip(numbers(&mean)).zip(&scales);
    let bias = moved.map(|((shift, mean), scale)| (shift - mean * scale) as f32).collect();
    tensors.insert(&weight, &shape, folded)?;
    tensors.insert(&format!("{conv}.bias"), &[channels], bias)
}
