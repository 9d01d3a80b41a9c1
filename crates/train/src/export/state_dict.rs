use std::collections::HashMap;

use half::f16;
use safetensors::tensor::{Dtype, SafeTensorError, TensorView, serialize};
use tabia_model::{CARD_KEY, ModelCard};

use super::Precision;
use crate::NetConfig;
use crate::nets::ChallengeConfig;

/// In 8 bits weights of no more elements stay in 16: they cost little and lose most.
const LARGEST_HALF: usize = 1024;

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
        let (dtype, bytes) = match precision {
            Precision::F32 => (Dtype::F32, full(numbers)),
            Precision::Int8 | Precision::Int8Weights
                if entry.shape.len() >= 2 && numbers.len() > LARGEST_HALF =>
            {
                let rows = entry.shape[0];
                let (bytes, scales) = in_8_bits(numbers, numbers.len() / rows);
                tensors.push((format!("{}.scale", entry.name), Dtype::F32, vec![rows], full(&scales)));
                (Dtype::I8, bytes)
            }
            Precision::F16 | Precision::Int8 | Precision::Int8Weights => {
                (Dtype::F16, numbers.iter().flat_map(|&v| f16::from_f32(v).to_le_bytes()).collect())
            }
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

fn full(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// The nearest bytes for the scale of each row, which takes its largest number to 127; and the scales.
fn in_8_bits(numbers: &[f32], row_len: usize) -> (Vec<u8>, Vec<f32>) {
    let mut bytes = Vec::with_capacity(numbers.len());
    let scale = |row: &[f32]| {
        let largest = row.iter().fold(0.0_f32, |largest, v| largest.max(v.abs()));
        // Rows of nothing but zeros, or as good as that, have any scale.
        if largest / 127.0 > f32::MIN_POSITIVE { largest / 127.0 } else { 1.0 }
    };
    let scales: Vec<f32> = numbers.chunks(row_len).map(scale).collect();
    for (row, scale) in numbers.chunks(row_len).zip(&scales) {
        bytes.extend(row.iter().map(|v| (v / scale).round().clamp(-127.0, 127.0) as i8 as u8));
    }
    (bytes, scales)
}
