use std::collections::HashMap;

use half::f16;
use safetensors::tensor::{Dtype, SafeTensorError, TensorView, serialize};
use tabia_model::{CARD_KEY, ModelCard};

use super::Precision;
use crate::NetConfig;
use crate::nets::ChallengeConfig;

/// Whether `tabia-model` knows the network by the names of its tensors.
pub(super) fn is_known(net: &NetConfig) -> bool {
    match net {
        NetConfig::Human(_)
        | NetConfig::Humchess(_)
        | NetConfig::PolicyCnn(_)
        | NetConfig::PolicyMlp(_)
        | NetConfig::ValueMlp(_)
        | NetConfig::Nnue(_)
        | NetConfig::Challenge(ChallengeConfig::Dense { .. } | ChallengeConfig::Perspective(_)) => true,
        NetConfig::ValueCnn(_) | NetConfig::Pair(_) | NetConfig::Challenge(_) => false,
    }
}

/// The weights as a safetensors file with the card inside.
pub(super) fn encode(
    net: &NetConfig,
    arena: &[f32],
    precision: Precision,
    card: &ModelCard,
) -> Result<Vec<u8>, SafeTensorError> {
    let table = net.table();
    let mut tensors: Vec<(String, Dtype, Vec<usize>, Vec<u8>)> = Vec::new();
    for entry in table.entries() {
        let numbers = entry.of(arena);
        let (dtype, bytes) = if precision == Precision::F16 {
            (Dtype::F16, numbers.iter().flat_map(|&v| f16::from_f32(v).to_le_bytes()).collect())
        } else {
            (Dtype::F32, numbers.iter().flat_map(|v| v.to_le_bytes()).collect())
        };
        tensors.push((entry.name.clone(), dtype, entry.shape.clone(), bytes));
    }
    for (name, indices) in net.buffers() {
        let bytes = indices.iter().flat_map(|v| v.to_le_bytes()).collect();
        tensors.push((name.to_owned(), Dtype::I64, vec![indices.len()], bytes));
    }
    let views = tensors
        .iter()
        .map(|(name, dtype, shape, bytes)| Ok((name, TensorView::new(*dtype, shape.clone(), bytes)?)))
        .collect::<Result<Vec<_>, SafeTensorError>>()?;
    serialize(views, Some(HashMap::from([(CARD_KEY.to_owned(), card.to_json())])))
}
