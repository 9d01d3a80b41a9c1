//! Hugging Face safetensors: a JSON header and raw tensors. See `docs/formats/safetensors.md`.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::{BTreeMap, HashMap};

use half::f16;
use safetensors::tensor::{TensorView, serialize};
use safetensors::{Dtype, SafeTensorError, SafeTensors};

use crate::tensors::{Element, TensorMap};
use crate::{Format, LoadError, LoadErrorKind};

/// What a safetensors file holds.
#[derive(Debug)]
pub(crate) struct SafetensorsFile {
    /// The weights, as 32-bit floats.
    pub(crate) tensors: TensorMap,
    /// The free text entries of the header (`__metadata__`).
    pub(crate) metadata: BTreeMap<String, String>,
}

/// Reads a whole file.
///
/// # Errors
/// If it is cut off, its header does not describe its bytes, or its tensors are too large together.
pub(crate) fn read(bytes: &[u8]) -> Result<SafetensorsFile, LoadError> {
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(|e| explain(&e))?;
    let file = SafeTensors::deserialize(bytes).map_err(|e| explain(&e))?;

    let mut tensors = TensorMap::new(Format::Safetensors);
    for (name, view) in file.iter() {
        match element(view.dtype()) {
            Some(element) => {
                tensors.reserve(name, view.data().len() / element.size())?;
                tensors.insert(name, view.shape(), element.decode(view.data()))?;
            }
            None => tensors.insert_unreadable(name, format!("elements of type {:?}", view.dtype())),
        }
    }
    let metadata = header.metadata().iter().flatten().map(|(k, v)| (k.clone(), v.clone())).collect();
    Ok(SafetensorsFile { tensors, metadata })
}

/// Writes a state dict. A tensor that half precision holds exactly is written in half precision.
///
/// # Errors
/// If the tensors cannot be laid out, which no set of tensors that was read can bring about.
pub(crate) fn write(tensors: &TensorMap, metadata: HashMap<String, String>) -> Result<Vec<u8>, LoadError> {
    let encoded: Vec<(&str, Dtype, &[usize], Vec<u8>)> = tensors
        .iter()
        .map(|(name, tensor)| {
            let halves: Vec<f16> = tensor.data().iter().map(|&v| f16::from_f32(v)).collect();
            let exact = halves.iter().zip(tensor.data()).all(|(half, &full)| half.to_f32() == full);
            let (dtype, bytes) = if exact {
                (Dtype::F16, halves.iter().flat_map(|v| v.to_le_bytes()).collect())
            } else {
                (Dtype::F32, tensor.data().iter().flat_map(|v| v.to_le_bytes()).collect())
            };
            (name, dtype, tensor.shape(), bytes)
        })
        .collect();
    let views: Vec<(&str, TensorView<'_>)> = encoded
        .iter()
        .map(|(name, dtype, shape, bytes)| Ok((*name, TensorView::new(*dtype, shape.to_vec(), bytes)?)))
        .collect::<Result<_, SafeTensorError>>()
        .map_err(|e| explain(&e))?;
    serialize(views, Some(metadata)).map_err(|e| explain(&e))
}

fn element(dtype: Dtype) -> Option<Element> {
    Some(match dtype {
        Dtype::F64 => Element::F64,
        Dtype::F32 => Element::F32,
        Dtype::F16 => Element::F16,
        Dtype::BF16 => Element::Bf16,
        Dtype::I64 => Element::I64,
        Dtype::I32 => Element::I32,
        Dtype::I16 => Element::I16,
        Dtype::I8 => Element::I8,
        Dtype::U8 => Element::U8,
        Dtype::BOOL => Element::Bool,
        _ => return None,
    })
}

fn explain(cause: &SafeTensorError) -> LoadError {
    let error = |message: String| LoadError::new(LoadErrorKind::Malformed, Format::Safetensors, message);
    match cause {
        SafeTensorError::InvalidOffset(name) => {
            error("its byte range does not follow the one before it".to_owned()).at_tensor(name)
        }
        // The header follows the eight bytes of its own length.
        SafeTensorError::InvalidHeaderDeserialization(json) if json.line() == 1 => {
            error(format!("header: {json}")).at_byte(8 + json.column())
        }
        SafeTensorError::InvalidHeader(_) => error(cause.to_string()).at_byte(8),
        SafeTensorError::HeaderTooSmall
        | SafeTensorError::HeaderTooLarge
        | SafeTensorError::InvalidHeaderLength => error(cause.to_string()).at_byte(0),
        _ => error(cause.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Place;

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(header.as_bytes());
        bytes.extend_from_slice(data);
        bytes
    }

    #[test]
    fn tensors_and_metadata_come_out() {
        let header = r#"{"__metadata__":{"tabia.card":"{}"},"a":{"dtype":"F16","shape":[1,2],"data_offsets":[0,4]},
            "n":{"dtype":"I64","shape":[],"data_offsets":[4,12]}}"#;
        let data = [0x00, 0x3c, 0x00, 0xc0, 7, 0, 0, 0, 0, 0, 0, 0];
        let mut read = read(&file(header, &data)).unwrap();
        assert_eq!(read.metadata["tabia.card"], "{}");
        assert_eq!(read.tensors.take("a", &[1, 2]).unwrap().data(), [1.0, -2.0]);
        assert_eq!(read.tensors.take("n", &[]).unwrap().data(), [7.0]);
    }

    #[test]
    fn every_cut_is_refused() {
        let header = r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#;
        let whole = file(header, &[0; 8]);
        read(&whole).unwrap();
        for cut in 0..whole.len() {
            assert_eq!(read(&whole[..cut]).unwrap_err().kind(), LoadErrorKind::Malformed, "cut at {cut}");
        }
    }

    #[test]
    fn a_bad_header_is_located() {
        let broken = r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]?}}"#;
        assert_eq!(read(&file(broken, &[0; 8])).unwrap_err().place(), &Place::Byte(8 + 53));
        let overlapping = r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},
            "b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}"#;
        let error = read(&file(overlapping, &[0; 12])).unwrap_err();
        assert_eq!(error.place(), &Place::Tensor("b".to_owned()), "{error}");
        for header in [
            r#"{"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,8]}}"#,
            r#"{"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}}"#,
        ] {
            assert_eq!(read(&file(header, &[0; 8])).unwrap_err().kind(), LoadErrorKind::Malformed);
        }
        let mut endless = file("{}", &[]);
        endless[..8].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(read(&endless).unwrap_err().place(), &Place::Byte(0));
    }
}
