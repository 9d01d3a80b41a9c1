//! Hugging Face safetensors: a JSON header and raw tensors. See `docs/formats/safetensors.md`.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Cursor, Read, SeekFrom, Write};

use half::f16;
use safetensors::tensor::{Metadata, TensorInfo, serialize};
use safetensors::{Dtype, SafeTensorError, SafeTensors};
use serde::Deserialize;
use tabia_onnx::tensors::{ElementType, MAX_ELEMENTS, Tensor, TensorMap};

use super::input::{Input, floats, signed_bytes};
use crate::{Format, LoadError, LoadErrorKind, WeightPrecision, memory};

/// The most that the format allows.
const MAX_HEADER_BYTES: u64 = 100_000_000;

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
    read_from(&mut Cursor::new(bytes), MAX_ELEMENTS)
}

/// The same of a file with at most `most` elements. Tensors are decoded while they are read, so the weights are in memory once.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_from(input: &mut dyn Input, most: usize) -> Result<SafetensorsFile, LoadError> {
    let (start, header) = read_header(input)?;
    let mut file = Tensors { input, start, header };
    let named: Vec<(String, TensorInfo)> = file
        .header
        .offset_keys()
        .into_iter()
        .filter_map(|name| Some((name.clone(), file.info(&name)?)))
        .collect();
    let total = named.iter().map(|(_, info)| count(info)).fold(0, usize::saturating_add);
    memory::check(Format::Safetensors, total, most)?;

    let refused = |e| LoadError::of_tensors(Format::Safetensors, e);
    let mut tensors = TensorMap::within(most);
    let has_quantised = named.iter().any(|(_, info)| is_quantised(info));
    for (name, info) in &named {
        if is_quantised(info) {
            let weights = file.read(info, |input| signed_bytes(input, count(info)))?;
            let scales = file.scales(name, info)?;
            tensors.insert_quantised(name, &info.shape, weights, scales).map_err(refused)?;
            continue;
        }
        if has_quantised && let Some(weights) = name.strip_suffix(SCALE) {
            if file.header.info(weights).is_some_and(is_quantised) {
                continue;
            }
            let message = format!("scale without 8-bit weights {weights:?}");
            return Err(malformed(message).at_tensor(name));
        }
        match element(info.dtype) {
            Some(element) => {
                let data = file.read(info, |input| floats(input, element, count(info)))?;
                tensors.insert(name, &info.shape, data).map_err(refused)?;
            }
            None => tensors.insert_unreadable(name, format!("elements of type {:?}", info.dtype)),
        }
    }
    let metadata = file.header.metadata().iter().flatten().map(|(k, v)| (k.clone(), v.clone())).collect();
    Ok(SafetensorsFile { tensors, metadata })
}

/// The JSON of a header.
#[derive(Deserialize)]
struct Header {
    #[serde(rename = "__metadata__")]
    metadata: Option<HashMap<String, String>>,
    #[serde(flatten)]
    tensors: HashMap<String, TensorInfo>,
}

/// The header, and where the tensors begin. Their byte ranges are checked against the length of the file.
fn read_header(input: &mut dyn Input) -> Result<(u64, Metadata), LoadError> {
    let length = input.seek(SeekFrom::End(0)).map_err(|e| unreadable(&e))?;
    input.rewind().map_err(|e| unreadable(&e))?;
    let mut size = [0; 8];
    input.read_exact(&mut size).map_err(|_| explain(&SafeTensorError::HeaderTooSmall))?;
    let size = u64::from_le_bytes(size);
    if size > MAX_HEADER_BYTES {
        return Err(explain(&SafeTensorError::HeaderTooLarge));
    }
    let start = 8 + size;
    if start > length {
        return Err(explain(&SafeTensorError::InvalidHeaderLength));
    }
    let mut text = Vec::new();
    input.take(size).read_to_end(&mut text).map_err(|e| unreadable(&e))?;
    let parse = || {
        let text = std::str::from_utf8(&text).map_err(SafeTensorError::InvalidHeader)?;
        let header: Header =
            serde_json::from_str(text).map_err(SafeTensorError::InvalidHeaderDeserialization)?;
        let mut tensors: Vec<_> = header.tensors.into_iter().collect();
        tensors.sort_by_key(|(_, info)| info.data_offsets);
        let header = Metadata::new(header.metadata, tensors)?;
        if (header.data_len() as u64).checked_add(start) == Some(length) {
            Ok(header)
        } else {
            Err(SafeTensorError::MetadataIncompleteBuffer)
        }
    };
    parse().map(|header| (start, header)).map_err(|e: SafeTensorError| explain(&e))
}

/// The elements of a tensor; the header was checked against overflow.
fn count(info: &TensorInfo) -> usize {
    info.shape.iter().product()
}

/// Whether a tensor is 8-bit weights: I8 of rank 2 or more. Vectors are integers.
fn is_quantised(info: &TensorInfo) -> bool {
    info.dtype == Dtype::I8 && info.shape.len() >= 2
}

/// The tensors of a file.
struct Tensors<'a> {
    input: &'a mut dyn Input,
    /// Where the data begins.
    start: u64,
    header: Metadata,
}

impl Tensors<'_> {
    fn info(&self, name: &str) -> Option<TensorInfo> {
        self.header.info(name).cloned()
    }

    /// Reads the data of a tensor.
    fn read<T>(
        &mut self,
        info: &TensorInfo,
        read: impl FnOnce(&mut dyn Read) -> io::Result<T>,
    ) -> Result<T, LoadError> {
        let at = self.start + info.data_offsets.0 as u64;
        let moved = self.input.seek(SeekFrom::Start(at));
        moved.and_then(|_| read(&mut self.input)).map_err(|e| unreadable(&e))
    }

    /// The scales of 8-bit weights, one per row.
    fn scales(&mut self, name: &str, weights: &TensorInfo) -> Result<Vec<f32>, LoadError> {
        let scale_name = format!("{name}{SCALE}");
        let info = self.info(&scale_name).ok_or_else(|| {
            malformed(format!("8-bit weights without scales {scale_name:?}")).at_tensor(name)
        })?;
        let rows = weights.shape.first().copied().unwrap_or_default();
        let element = match info.dtype {
            Dtype::F32 => ElementType::F32,
            Dtype::F16 => ElementType::F16,
            other => {
                let message = format!("scales of type {other:?} (expected F32 or F16)");
                return Err(malformed(message).at_tensor(scale_name));
            }
        };
        if info.shape != [rows] {
            let message = format!("shape {:?} (expected [{rows}], the rows of {name:?})", info.shape);
            let error = LoadError::new(LoadErrorKind::Shape, Format::Safetensors, message);
            return Err(error.at_tensor(scale_name));
        }
        let scales = self.read(&info, |input| floats(input, element, rows))?;
        if let Some(at) = scales.iter().position(|scale| !(scale.is_finite() && *scale > 0.0)) {
            let message = format!("scale of row {at} is not positive and finite");
            let error = LoadError::new(LoadErrorKind::NotFinite, Format::Safetensors, message);
            return Err(error.at_tensor(scale_name));
        }
        Ok(scales)
    }
}

/// Weights of no more elements are not rounded to 8 bits: they cost little and lose most.
const LARGEST_HALF: usize = 1024;

/// Writes a state dict. At [`WeightPrecision::Full`] tensors are written in half precision where that is exact. Numbers that half
/// precision cannot hold stay in 32 bits, and integers, such as index tables, are never rounded.
///
/// # Errors
/// If the tensors cannot be serialised, which does not happen for tensors that were read.
pub(crate) fn write(
    tensors: &TensorMap,
    precision: WeightPrecision,
    metadata: HashMap<String, String>,
) -> Result<Vec<u8>, LoadError> {
    let mut bytes = Vec::new();
    write_to(tensors, precision, metadata, &mut bytes)?;
    Ok(bytes)
}

/// The same, piece by piece.
///
/// # Errors
/// As [`write`], or those of `out`.
pub(crate) fn write_to(
    tensors: &TensorMap,
    precision: WeightPrecision,
    metadata: HashMap<String, String>,
    out: &mut dyn Write,
) -> Result<(), LoadError> {
    let mut encoded = encoded(tensors, precision);
    // As the safetensors library does: the widest first, so that all are aligned.
    encoded.sort_by(|(name, one), (other_name, other)| {
        other.dtype().cmp(&one.dtype()).then_with(|| name.cmp(other_name))
    });
    let mut end = 0;
    let info = |(name, tensor): &(String, Encoded<'_>)| {
        let begin = end;
        end += tensor.bytes();
        let (dtype, shape) = (tensor.dtype(), tensor.shape().to_vec());
        (name.clone(), TensorInfo { dtype, shape, data_offsets: (begin, end) })
    };
    let header =
        Metadata::new(Some(metadata), encoded.iter().map(info).collect()).map_err(|e| explain(&e))?;
    let mut header = serde_json::to_vec(&header).map_err(|e| malformed(format!("header: {e}")))?;
    header.resize(header.len().next_multiple_of(8), b' ');
    let mut write = || {
        out.write_all(&(header.len() as u64).to_le_bytes())?;
        out.write_all(&header)?;
        encoded.iter().try_for_each(|(_, tensor)| tensor.write(out))
    };
    write().map_err(|e| unreadable(&e))
}

/// How tensors are written.
fn encoded(tensors: &TensorMap, precision: WeightPrecision) -> Vec<(String, Encoded<'_>)> {
    let mut encoded = Vec::new();
    for (name, tensor) in tensors.iter() {
        let (data, shape) = (tensor.data(), tensor.shape());
        let halves = || data.iter().map(|&v| (v, f16::from_f32(v)));
        let exact = || halves().all(|(full, half)| half.to_f32() == full);
        let whole = || data.iter().all(|number| number.fract() == 0.0);
        if precision == WeightPrecision::Int8 && shape.len() >= 2 && data.len() > LARGEST_HALF && !whole() {
            let (weights, scales) = rounded_rows(data, data.len() / rows(shape).max(1));
            let scales = scales.iter().flat_map(|scale| scale.to_le_bytes()).collect();
            encoded.push((format!("{name}{SCALE}"), Encoded::Bytes(Dtype::F32, vec![rows(shape)], scales)));
            encoded.push((name.to_owned(), Encoded::Bytes(Dtype::I8, shape.to_vec(), weights)));
        } else if exact() || precision != WeightPrecision::Full && halves().all(|(_, half)| half.is_finite())
        {
            encoded.push((name.to_owned(), Encoded::Halves(tensor)));
        } else {
            encoded.push((name.to_owned(), Encoded::Floats(tensor)));
        }
    }
    encoded
}

fn rows(shape: &[usize]) -> usize {
    shape.first().copied().unwrap_or(0)
}

/// A tensor whose bytes are made when they are written.
enum Encoded<'a> {
    Floats(&'a Tensor),
    Halves(&'a Tensor),
    Bytes(Dtype, Vec<usize>, Vec<u8>),
}

impl Encoded<'_> {
    fn dtype(&self) -> Dtype {
        match self {
            Encoded::Floats(_) => Dtype::F32,
            Encoded::Halves(_) => Dtype::F16,
            Encoded::Bytes(dtype, ..) => *dtype,
        }
    }

    fn shape(&self) -> &[usize] {
        match self {
            Encoded::Floats(tensor) | Encoded::Halves(tensor) => tensor.shape(),
            Encoded::Bytes(_, shape, _) => shape,
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Encoded::Floats(tensor) => 4 * tensor.data().len(),
            Encoded::Halves(tensor) => 2 * tensor.data().len(),
            Encoded::Bytes(.., bytes) => bytes.len(),
        }
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Encoded::Floats(tensor) => write_pieces(tensor, out, f32::to_le_bytes),
            Encoded::Halves(tensor) => write_pieces(tensor, out, |v| f16::from_f32(v).to_le_bytes()),
            Encoded::Bytes(.., bytes) => out.write_all(bytes),
        }
    }
}

fn write_pieces<const N: usize>(
    tensor: &Tensor,
    out: &mut dyn Write,
    encode: impl Fn(f32) -> [u8; N],
) -> io::Result<()> {
    const AT_ONCE: usize = 16 << 10;
    for piece in tensor.data().chunks(AT_ONCE) {
        let bytes: Vec<u8> = piece.iter().flat_map(|&v| encode(v)).collect();
        out.write_all(&bytes)?;
    }
    Ok(())
}

/// Rows of `width` numbers in 8 bits, and what one of each row is worth.
fn rounded_rows(numbers: &[f32], width: usize) -> (Vec<u8>, Vec<f32>) {
    let mut weights = Vec::with_capacity(numbers.len());
    let mut scales = Vec::new();
    for row in numbers.chunks(width.max(1)) {
        let largest = row.iter().fold(0.0_f32, |largest, number| largest.max(number.abs()));
        let scale = if largest > 0.0 { largest / 127.0 } else { 1.0 };
        let byte = |number: &f32| ((number / scale).round().clamp(-127.0, 127.0) as i8).cast_unsigned();
        weights.extend(row.iter().map(byte));
        scales.push(scale);
    }
    (weights, scales)
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

fn unreadable(cause: &io::Error) -> LoadError {
    LoadError::new(LoadErrorKind::Io, Format::Safetensors, cause.to_string())
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
    fn all_tensors_together_are_limited_before_any_is_read() {
        let header = r#"{"a":{"dtype":"F16","shape":[2],"data_offsets":[0,4]},
            "b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}"#;
        let file = file(header, &[0; 8]);
        read_from(&mut Cursor::new(&file), 3).unwrap();
        assert_eq!(read_from(&mut Cursor::new(&file), 2).unwrap_err().kind(), LoadErrorKind::TooLarge);
    }

    #[test]
    fn written_files_are_those_of_the_library() {
        let mut tensors = TensorMap::new();
        tensors.insert("b", &[2], vec![0.5, -3.0]).unwrap();
        tensors.insert("a", &[1, 2], vec![0.1, 70_000.0]).unwrap();
        tensors.insert("c", &[], vec![1.0]).unwrap();
        let metadata = HashMap::from([("key".to_owned(), "text".to_owned())]);
        let ours = write(&tensors, WeightPrecision::Full, metadata.clone()).unwrap();
        let theirs = SafeTensors::deserialize(&ours).unwrap();
        assert_eq!(serialize(theirs.iter().collect::<Vec<_>>(), Some(metadata)).unwrap(), ours);
        assert_eq!(theirs.tensor("a").unwrap().dtype(), Dtype::F32);
        assert_eq!(theirs.tensor("b").unwrap().dtype(), Dtype::F16);
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
