use std::collections::{BTreeMap, HashMap};

use half::f16;
use safetensors::tensor::{Dtype, SafeTensorError, TensorView, serialize};
use tabia_model::{CARD_KEY, ModelCard};

use super::Precision;
use super::calibration::{RoundedMatrix, nearest};
use crate::NetConfig;

/// In 8 bits weights of no more elements stay in 16: they cost little and lose most.
const LARGEST_HALF: usize = 1024;

/// The weights as a safetensors file with the card inside. In 8 bits those of `rounded` are written as they are there.
pub(super) fn encode(
    net: &NetConfig,
    arena: &[f32],
    precision: Precision,
    card: &ModelCard,
    rounded: &BTreeMap<String, RoundedMatrix>,
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
                let plain = || RoundedMatrix::of(numbers, numbers.len() / rows, nearest);
                let RoundedMatrix { weights, scales } =
                    rounded.get(&entry.name).cloned().unwrap_or_else(plain);
                tensors.push((format!("{}.scale", entry.name), Dtype::F32, vec![rows], full(&scales)));
                (Dtype::I8, weights.into_iter().map(i8::cast_unsigned).collect())
            }
            Precision::F16 | Precision::Int8 | Precision::Int8Weights => {
                (Dtype::F16, numbers.iter().flat_map(|&v| f16::from_f32(v).to_le_bytes()).collect())
            }
        };
        tensors.push((entry.name.clone(), dtype, entry.shape.clone(), bytes));
    }
    for buffer in table.buffers() {
        let bytes = buffer.indices.iter().flat_map(|v| v.to_le_bytes()).collect();
        tensors.push((buffer.name.to_owned(), Dtype::I64, buffer.shape.to_vec(), bytes));
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
