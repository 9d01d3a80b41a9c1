//! Hugging Face safetensors: a JSON header and raw tensors. See `docs/formats/safetensors.md`.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::{BTreeMap, HashMap};

use half::f16;
use safetensors::tensor::{TensorView, serialize};
use safetensors::{Dtype, SafeTensorError, SafeTensors};

use crate::tensors::{ElementType, TensorMap};
use crate::{Format, LoadError, LoadErrorKind};

/// The name suffix of the scales of 8-bit weights.
const SCALE: &str = ".scale";

/// The contents of a safetensors file.
#[derive(Debug)]
pub(crate) struct SafetensorsFile {
    /// The weights.
    pub(crate) tensors: TensorMap,
    /// The `__metadata__` of the header.
    pub(crate) metadata: BTreeMap<String, String>,
}

/// Reads a whole file.
///
/// # Errors
/// If it is malformed or too large, or 8-bit weights and scales do not match.
pub(crate) fn read(bytes: &[u8]) -> Result<SafetensorsFile, LoadError> {
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(|e| explain(&e))?;
    let file = SafeTensors::deserialize(bytes).map_err(|e| explain(&e))?;

    let mut tensors = TensorMap::new(Format::Safetensors);
    let has_quantised = file.iter().any(|(_, view)| is_quantised(&view));
    for (name, view) in file.iter() {
        if is_quantised(&view) {
            tensors.reserve(name, view.data().len())?;
            let weights = view.data().iter().map(|byte| byte.cast_signed()).collect();
            tensors.insert_quantised(name, view.shape(), weights, scales(&file, name, &view)?)?;
            continue;
        }
        if has_quantised && let Some(weights) = name.strip_suffix(SCALE) {
            if file.tensor(weights).is_ok_and(|view| is_quantised(&view)) {
                continue;
            }
            let message = format!("scale without 8-bit weights {weights:?}");
            return Err(malformed(message).at_tensor(name));
        }
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

/// Whether a tensor is 8-bit weights: I8 of rank 2 or more. Vectors are integers.
fn is_quantised(view: &TensorView<'_>) -> bool {
    view.dtype() == Dtype::I8 && view.shape().len() >= 2
}

/// The scales of 8-bit weights, one per row.
fn scales(file: &SafeTensors<'_>, name: &str, weights: &TensorView<'_>) -> Result<Vec<f32>, LoadError> {
    let scale_name = format!("{name}{SCALE}");
    let view = file
        .tensor(&scale_name)
        .map_err(|_| malformed(format!("8-bit weights without scales {scale_name:?}")).at_tensor(name))?;
    let rows = weights.shape().first().copied().unwrap_or_default();
    let element = match view.dtype() {
        Dtype::F32 => ElementType::F32,
        Dtype::F16 => ElementType::F16,
        other => {
            let message = format!("scales of type {other:?} (expected F32 or F16)");
            return Err(malformed(message).at_tensor(scale_name));
        }
    };
    if view.shape() != [rows] {
        let message = format!("shape {:?} (expected [{rows}], the rows of {name:?})", view.shape());
        return Err(LoadError::new(LoadErrorKind::Shape, Format::Safetensors, message).at_tensor(scale_name));
    }
    let scales = element.decode(view.data());
    if let Some(at) = scales.iter().position(|scale| !(scale.is_finite() && *scale > 0.0)) {
        let message = format!("scale of row {at} is not positive and finite");
        let error = LoadError::new(LoadErrorKind::NotFinite, Format::Safetensors, message);
        return Err(error.at_tensor(scale_name));
    }
    Ok(scales)
}

/// Writes a state dict. Tensors are written in half precision where that is exact.
///
/// # Errors
/// If the tensors cannot be serialised, which does not happen for tensors that were read.
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

/// Replaces or adds a metadata entry; the tensors are unchanged.
///
/// # Errors
/// As [`read`] says of its layout.
pub(crate) fn with_metadata(bytes: &[u8], key: &str, text: String) -> Result<Vec<u8>, LoadError> {
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(|e| explain(&e))?;
    let file = SafeTensors::deserialize(bytes).map_err(|e| explain(&e))?;
    let mut metadata = header.metadata().clone().unwrap_or_default();
    metadata.insert(key.to_owned(), text);
    serialize(file.iter().collect::<Vec<_>>(), Some(metadata)).map_err(|e| explain(&e))
}

fn element(dtype: Dtype) -> Option<ElementType> {
    Some(match dtype {
        Dtype::F64 => ElementType::F64,
        Dtype::F32 => ElementType::F32,
        Dtype::F16 => ElementType::F16,
        Dtype::BF16 => ElementType::Bf16,
        Dtype::I64 => ElementType::I64,
        Dtype::I32 => ElementType::I32,
        Dtype::I16 => ElementType::I16,
        Dtype::I8 => ElementType::I8,
        Dtype::U8 => ElementType::U8,
        Dtype::BOOL => ElementType::Bool,
        _ => return None,
    })
}

fn malformed(message: String) -> LoadError {
    LoadError::new(LoadErrorKind::Malformed, Format::Safetensors, message)
}

fn explain(cause: &SafeTensorError) -> LoadError {
    match cause {
        SafeTensorError::InvalidOffset(name) => {
            malformed("byte range does not follow the previous one".to_owned()).at_tensor(name)
        }
        // The header follows the eight bytes of its own length.
        SafeTensorError::InvalidHeaderDeserialization(json) if json.line() == 1 => {
            malformed(format!("header: {json}")).at_byte(8 + json.column())
        }
        SafeTensorError::InvalidHeader(_) => malformed(cause.to_string()).at_byte(8),
        SafeTensorError::HeaderTooSmall
        | SafeTensorError::HeaderTooLarge
        | SafeTensorError::InvalidHeaderLength => malformed(cause.to_string()).at_byte(0),
        _ => malformed(cause.to_string()),
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
    fn tensors_and_metadata_are_read() {
        let header = r#"{"__metadata__":{"tabia.card":"{}"},"a":{"dtype":"F16","shape":[1,2],"data_offsets":[0,4]},
            "n":{"dtype":"I64","shape":[],"data_offsets":[4,12]}}"#;
        let data = [0x00, 0x3c, 0x00, 0xc0, 7, 0, 0, 0, 0, 0, 0, 0];
        let mut read = read(&file(header, &data)).unwrap();
        assert_eq!(read.metadata["tabia.card"], "{}");
        assert_eq!(read.tensors.take("a", &[1, 2]).unwrap().data(), [1.0, -2.0]);
        assert_eq!(read.tensors.take("n", &[]).unwrap().data(), [7.0]);
    }

    #[test]
    fn replacing_metadata_keeps_the_tensors() {
        let header = r#"{"__metadata__":{"a":"1","b":"2"},"w":{"dtype":"I8","shape":[1,2],"data_offsets":[4,6]},
            "w.scale":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#;
        let before = file(header, &[0, 0, 128, 63, 5, 250]);
        let after = with_metadata(&before, "b", "two".to_owned()).unwrap();
        let (old, new) =
            (SafeTensors::deserialize(&before).unwrap(), SafeTensors::deserialize(&after).unwrap());
        assert_eq!(new.names().len(), 2);
        for name in ["w", "w.scale"] {
            assert_eq!(old.tensor(name).unwrap(), new.tensor(name).unwrap());
        }
        let metadata = read(&after).unwrap().metadata;
        assert_eq!((metadata["a"].as_str(), metadata["b"].as_str()), ("1", "two"));
    }

    #[test]
    fn truncated_files_are_rejected() {
        let header = r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#;
        let whole = file(header, &[0; 8]);
        read(&whole).unwrap();
        for cut in 0..whole.len() {
            assert_eq!(read(&whole[..cut]).unwrap_err().kind(), LoadErrorKind::Malformed, "cut at {cut}");
        }
    }

    #[test]
    fn invalid_headers_name_the_place() {
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

    /// Two rows of 8-bit weights and their scales.
    fn rounded(weights: &str, scales: &str, scale_bytes: &[u8]) -> Vec<u8> {
        let end = 4 + scale_bytes.len();
        let header =
            format!(r#"{{"w":{{{weights},"data_offsets":[0,4]}},"{scales},"data_offsets":[4,{end}]}}}}"#);
        file(&header, &[&[127, 0xff, 0x80, 2], scale_bytes].concat())
    }

    const WEIGHTS: &str = r#""dtype":"I8","shape":[2,2]"#;
    const SCALES: &str = r#"w.scale":{"dtype":"F32","shape":[2]"#;

    fn numbers(scales: [f32; 2]) -> Vec<u8> {
        scales.iter().flat_map(|scale| scale.to_le_bytes()).collect()
    }

    #[test]
    fn int8_weights_are_dequantised_by_row() {
        let expected = [63.5, -0.5, -256.0, 4.0];
        let halves = r#"w.scale":{"dtype":"F16","shape":[2]"#;
        let half_bytes: Vec<u8> = [0.5, 2.0].iter().flat_map(|&s| f16::from_f32(s).to_le_bytes()).collect();
        for bytes in [rounded(WEIGHTS, SCALES, &numbers([0.5, 2.0])), rounded(WEIGHTS, halves, &half_bytes)] {
            let mut read = read(&bytes).unwrap();
            assert_eq!(read.tensors.names().collect::<Vec<_>>(), ["w"]);
            assert_eq!(read.tensors.take("w", &[2, 2]).unwrap().data(), expected);
        }
        // Whole numbers in one row stay what they are.
        let plain = r#"{"n":{"dtype":"I8","shape":[2],"data_offsets":[0,2]}}"#;
        let mut plain = read(&file(plain, &[3, 0xff])).unwrap();
        assert_eq!(plain.tensors.take("n", &[2]).unwrap().data(), [3.0, -1.0]);
    }

    #[test]
    fn mismatched_scales_are_named() {
        let good = numbers([0.5, 2.0]);
        let kind_and_place = |bytes: &[u8]| {
            let error = read(bytes).unwrap_err();
            (error.kind(), error.place().clone())
        };
        let at = |kind, name: &str| (kind, Place::Tensor(name.to_owned()));
        let (malformed, shape) = (LoadErrorKind::Malformed, LoadErrorKind::Shape);
        let orphan = r#"v.scale":{"dtype":"F32","shape":[2]"#;
        assert_eq!(kind_and_place(&rounded(WEIGHTS, orphan, &good)).0, malformed);
        let alone = r#"{"w":{"dtype":"I8","shape":[2,2],"data_offsets":[0,4]}}"#;
        assert_eq!(kind_and_place(&file(alone, &[0; 4])), at(malformed, "w"));
        let more = r#"{"w":{"dtype":"I8","shape":[1,2],"data_offsets":[0,2]},
            "v":{"dtype":"F16","shape":[1],"data_offsets":[2,4]},
            "v.scale":{"dtype":"F32","shape":[1],"data_offsets":[4,8]},
            "w.scale":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}}"#;
        let one = 1_f32.to_le_bytes();
        let bytes = file(more, &[&[0; 4][..], &one, &one].concat());
        assert_eq!(kind_and_place(&bytes), at(malformed, "v.scale"));
        let column = r#"w.scale":{"dtype":"F32","shape":[2,1]"#;
        assert_eq!(kind_and_place(&rounded(WEIGHTS, column, &good)), at(shape, "w.scale"));
        let short = r#"w.scale":{"dtype":"F32","shape":[1]"#;
        assert_eq!(kind_and_place(&rounded(WEIGHTS, short, &one)), at(shape, "w.scale"));
        let whole = r#"w.scale":{"dtype":"I32","shape":[2]"#;
        assert_eq!(kind_and_place(&rounded(WEIGHTS, whole, &good)), at(malformed, "w.scale"));
        for bad in [f32::NAN, f32::INFINITY, 0.0, -1.0] {
            let bytes = rounded(WEIGHTS, SCALES, &numbers([1.0, bad]));
            assert_eq!(kind_and_place(&bytes), at(LoadErrorKind::NotFinite, "w.scale"), "{bad}");
        }
        // Without 8-bit weights `.scale` is a name like any other; empty weights are no trouble.
        let other = r#"{"norm.scale":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#;
        assert!(read(&file(other, &one)).unwrap().tensors.contains("norm.scale"));
        for shape in [[0, 2], [2, 0]] {
            let scales = 4 * shape[0];
            let header = format!(
                r#"{{"w":{{"dtype":"I8","shape":{shape:?},"data_offsets":[0,0]}},
                    "w.scale":{{"dtype":"F32","shape":[{}],"data_offsets":[0,{scales}]}}}}"#,
                shape[0]
            );
            let read = read(&file(&header, &one.repeat(shape[0]))).unwrap();
            assert_eq!(read.tensors.shape("w"), Some(&shape[..]));
        }
    }
}
