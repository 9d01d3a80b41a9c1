//! Named tensors of a state dict.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::sync::OnceLock;

use half::{bf16, f16};

use tabia_nets::detect::{DetectError, NamedTensors};

use crate::{ErrorKind, TensorError};

/// Maximum total elements of a file in memory: 384 MiB as `f32`. In a browser 128 MiB, so that it stays well under 1 GiB.
pub const MAX_ELEMENTS: usize = if cfg!(target_pointer_width = "64") { 96 << 20 } else { 32 << 20 };

/// Prefixes added by `torch.compile`, `DataParallel` and wrapper modules.
const WRAPPER_PREFIXES: [&str; 3] = ["_orig_mod.", "module.", "model."];

/// Maximum names listed in an error.
const NAMES_SHOWN: usize = 6;

/// The element type of a stored tensor, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementType {
    /// Double precision.
    F64,
    /// Single precision.
    F32,
    /// IEEE half precision.
    F16,
    /// The upper half of a single-precision number.
    Bf16,
    /// Signed, 64 bits.
    I64,
    /// Signed, 32 bits.
    I32,
    /// Signed, 16 bits.
    I16,
    /// Signed, 8 bits.
    I8,
    /// Unsigned, 8 bits.
    U8,
    /// One byte, true unless zero.
    Bool,
}

impl ElementType {
    /// Bytes of one element.
    pub fn size(self) -> usize {
        match self {
            ElementType::F64 | ElementType::I64 => 8,
            ElementType::F32 | ElementType::I32 => 4,
            ElementType::F16 | ElementType::Bf16 | ElementType::I16 => 2,
            ElementType::I8 | ElementType::U8 | ElementType::Bool => 1,
        }
    }

    /// The elements as `f32`. Trailing bytes are ignored.
    pub fn decode(self, bytes: &[u8]) -> Vec<f32> {
        let mut floats = Vec::with_capacity(bytes.len() / self.size());
        self.decode_into(bytes, &mut floats);
        floats
    }

    /// The same, added to `floats`.
    pub fn decode_into(self, bytes: &[u8], floats: &mut Vec<f32>) {
        match self {
            ElementType::F64 => decode_with(bytes, floats, |b| f64::from_le_bytes(b) as f32),
            ElementType::F32 => decode_with(bytes, floats, f32::from_le_bytes),
            ElementType::F16 => decode_with(bytes, floats, |b| f16::from_le_bytes(b).to_f32()),
            ElementType::Bf16 => decode_with(bytes, floats, |b| bf16::from_le_bytes(b).to_f32()),
            ElementType::I64 => decode_with(bytes, floats, |b| i64::from_le_bytes(b) as f32),
            ElementType::I32 => decode_with(bytes, floats, |b| i32::from_le_bytes(b) as f32),
            ElementType::I16 => decode_with(bytes, floats, |b| f32::from(i16::from_le_bytes(b))),
            ElementType::I8 => decode_with(bytes, floats, |b| f32::from(i8::from_le_bytes(b))),
            ElementType::U8 => decode_with(bytes, floats, |[b]| f32::from(b)),
            ElementType::Bool => decode_with(bytes, floats, |[b]| f32::from(u8::from(b != 0))),
        }
    }
}

fn decode_with<const N: usize>(bytes: &[u8], floats: &mut Vec<f32>, number: impl Fn([u8; N]) -> f32) {
    let (elements, _) = bytes.as_chunks::<N>();
    floats.extend(elements.iter().map(|element| number(*element)));
}

/// A weight tensor, row-major. It has as many elements as its shape unless it is a placeholder.
#[derive(Clone, Debug)]
pub struct Tensor {
    shape: Vec<usize>,
    elements: Elements,
}

#[derive(Clone, Debug)]
enum Elements {
    Floats(Vec<f32>),
    Quantised(Quantised),
    /// A tensor of this shape without its data.
    Placeholder,
}

/// 8-bit weights with a scale for each row.
#[derive(Clone, Debug)]
struct Quantised {
    weights: Vec<i8>,
    scales: Vec<f32>,
    /// The dequantised weights, computed on demand.
    floats: OnceLock<Vec<f32>>,
}

impl Quantised {
    fn floats(&self) -> Vec<f32> {
        let row = self.weights.len().checked_div(self.scales.len()).unwrap_or(0).max(1);
        let mut floats = Vec::with_capacity(self.weights.len());
        for (row, scale) in self.weights.chunks_exact(row).zip(&self.scales) {
            floats.extend(row.iter().map(|&weight| f32::from(weight) * scale));
        }
        floats
    }
}

impl PartialEq for Tensor {
    fn eq(&self, other: &Tensor) -> bool {
        self.shape == other.shape && self.data() == other.data()
    }
}

impl Tensor {
    /// The shape.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Its elements.
    pub fn data(&self) -> &[f32] {
        match &self.elements {
            Elements::Floats(floats) => floats,
            Elements::Quantised(quantised) => quantised.floats.get_or_init(|| quantised.floats()),
            Elements::Placeholder => &[],
        }
    }

    /// Its elements, without a copy if they are floats already.
    pub fn into_data(self) -> Vec<f32> {
        match self.elements {
            Elements::Floats(floats) => floats,
            Elements::Quantised(quantised) => quantised.floats(),
            Elements::Placeholder => Vec::new(),
        }
    }

    /// The 8-bit elements and row scales of a quantised tensor.
    pub fn quantised(&self) -> Option<(&[i8], &[f32])> {
        match &self.elements {
            Elements::Quantised(Quantised { weights, scales, .. }) => Some((weights, scales)),
            Elements::Floats(_) | Elements::Placeholder => None,
        }
    }

    /// Its rows in another order: row `i` is the given one's row `order(i)`.
    #[must_use]
    pub fn reordered(self, order: impl Fn(usize) -> usize) -> Tensor {
        fn rows<T: Copy>(data: &[T], rows: usize, order: impl Fn(usize) -> usize) -> Vec<T> {
            let width = data.len().checked_div(rows).unwrap_or(0);
            (0..rows).flat_map(|i| data.iter().skip(order(i) * width).take(width)).copied().collect()
        }
        let count = self.shape.first().copied().unwrap_or(0);
        let elements = match self.elements {
            Elements::Floats(floats) => Elements::Floats(rows(&floats, count, order)),
            Elements::Quantised(Quantised { weights, scales, .. }) => Elements::Quantised(Quantised {
                weights: rows(&weights, count, &order),
                scales: rows(&scales, count, &order),
                floats: OnceLock::new(),
            }),
            Elements::Placeholder => Elements::Placeholder,
        };
        Tensor { shape: self.shape, elements }
    }

    /// The first element that is NaN or infinite.
    fn not_finite(&self) -> Option<usize> {
        match &self.elements {
            Elements::Floats(floats) => floats.iter().position(|v| !v.is_finite()),
            Elements::Quantised(Quantised { weights, scales, .. }) => {
                let row = scales.iter().position(|scale| !(scale * f32::from(i8::MIN)).is_finite())?;
                Some(row * (weights.len() / scales.len()))
            }
            Elements::Placeholder => None,
        }
    }
}

/// The tensors of a file by name; building a network takes them out one at a time.
#[derive(Clone, Debug)]
pub struct TensorMap {
    tensors: BTreeMap<String, Tensor>,
    unreadable: BTreeMap<String, String>,
    elements: usize,
    /// The most elements.
    limit: usize,
}

impl Default for TensorMap {
    fn default() -> Self {
        TensorMap::within(MAX_ELEMENTS)
    }
}

impl TensorMap {
    /// An empty map for at most [`MAX_ELEMENTS`].
    pub fn new() -> Self {
        TensorMap::default()
    }

    /// An empty map for at most `limit` elements.
    pub fn within(limit: usize) -> Self {
        TensorMap { tensors: BTreeMap::new(), unreadable: BTreeMap::new(), elements: 0, limit }
    }

    /// Adds a tensor.
    ///
    /// # Errors
    /// If `shape` and `data` disagree, or all tensors together pass the limit.
    pub fn insert(&mut self, name: &str, shape: &[usize], data: Vec<f32>) -> Result<(), TensorError> {
        self.insert_elements(name, shape, data.len(), Elements::Floats(data))
    }

    /// Adds a tensor in 8 bits, with a scale for each entry of its first dimension.
    ///
    /// # Errors
    /// As [`TensorMap::insert`].
    pub fn insert_quantised(
        &mut self,
        name: &str,
        shape: &[usize],
        weights: Vec<i8>,
        scales: Vec<f32>,
    ) -> Result<(), TensorError> {
        let quantised = Quantised { weights, scales, floats: OnceLock::new() };
        self.insert_elements(name, shape, quantised.weights.len(), Elements::Quantised(quantised))
    }

    fn insert_elements(
        &mut self,
        name: &str,
        shape: &[usize],
        len: usize,
        elements: Elements,
    ) -> Result<(), TensorError> {
        self.reserve(name, len)?;
        let needed = shape.iter().try_fold(1_usize, |product, &d| product.checked_mul(d));
        if needed != Some(len) {
            let message = format!("{len} elements (expected shape {shape:?})");
            return Err(TensorError::new(ErrorKind::Malformed, message).at_tensor(name));
        }
        self.elements += len;
        self.tensors.insert(name.to_owned(), Tensor { shape: shape.to_vec(), elements });
        Ok(())
    }

    /// Placeholders for the same tensors.
    pub fn outline(&self) -> TensorMap {
        let place = |tensor: &Tensor| Tensor { shape: tensor.shape.clone(), elements: Elements::Placeholder };
        TensorMap {
            tensors: self.tensors.iter().map(|(name, tensor)| (name.clone(), place(tensor))).collect(),
            unreadable: self.unreadable.clone(),
            elements: 0,
            limit: self.limit,
        }
    }

    /// Checks the limit on elements before memory is allocated for a tensor.
    ///
    /// # Errors
    /// If all tensors together would pass it.
    pub fn reserve(&self, name: &str, elements: usize) -> Result<(), TensorError> {
        if elements > self.limit.saturating_sub(self.elements) {
            let message = format!("more than {} elements in all tensors", self.limit);
            return Err(TensorError::new(ErrorKind::TooLarge, message).at_tensor(name));
        }
        Ok(())
    }

    /// Records an unreadable entry, to be reported if a network needs it.
    pub fn insert_unreadable(&mut self, name: &str, why: impl Into<String>) {
        self.unreadable.insert(name.to_owned(), why.into());
    }

    /// Strips wrapper prefixes that all names share.
    pub fn strip_wrappers(&mut self) {
        while let Some(prefix) = WRAPPER_PREFIXES.into_iter().find(|p| self.all_start_with(p)) {
            strip(&mut self.tensors, prefix);
            strip(&mut self.unreadable, prefix);
        }
    }

    fn all_start_with(&self, prefix: &str) -> bool {
        !self.tensors.is_empty() && self.tensors.keys().all(|name| name.starts_with(prefix))
    }

    /// Whether there is a tensor of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    /// `name` without the prefixes that [`strip_wrappers`](Self::strip_wrappers) removed, if `name` followed by `suffix` then
    /// exists; else `name` itself.
    pub fn unwrapped(&self, name: &str, suffix: &str) -> String {
        let mut rest = name;
        while !self.contains(&format!("{rest}{suffix}")) {
            match WRAPPER_PREFIXES.iter().find_map(|prefix| rest.strip_prefix(prefix)) {
                Some(shorter) => rest = shorter,
                None => return name.to_owned(),
            }
        }
        rest.to_owned()
    }

    /// The shape of a tensor, if there is one of this name.
    pub fn shape(&self, name: &str) -> Option<&[usize]> {
        self.tensors.get(name).map(|tensor| tensor.shape.as_slice())
    }

    /// All tensors in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        self.tensors.iter().map(|(name, tensor)| (name.as_str(), tensor))
    }

    /// All tensors by name.
    pub fn into_tensors(self) -> BTreeMap<String, Tensor> {
        self.tensors
    }

    /// All names in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// The `N` dimensions of a tensor, none of them zero.
    ///
    /// # Errors
    /// If the tensor is missing, empty or of another rank.
    pub fn dims<const N: usize>(&self, name: &str) -> Result<[usize; N], TensorError> {
        let shape = self.shape(name).ok_or_else(|| self.missing(name))?;
        match <[usize; N]>::try_from(shape) {
            Ok(dims) if dims.iter().all(|&d| d > 0) => Ok(dims),
            _ => {
                let message = format!("shape {shape:?} (expected {N} non-zero dimensions)");
                Err(TensorError::new(ErrorKind::Shape, message).at_tensor(name))
            }
        }
    }

    /// Takes a tensor out.
    ///
    /// # Errors
    /// If it is missing, has another shape, or holds NaN or an infinity.
    pub fn take(&mut self, name: &str, shape: &[usize]) -> Result<Tensor, TensorError> {
        let tensor = self.remove(name).ok_or_else(|| self.missing(name))?;
        if tensor.shape != shape {
            let message = format!("shape {:?} (expected {shape:?})", tensor.shape);
            return Err(TensorError::new(ErrorKind::Shape, message).at_tensor(name));
        }
        if let Some(at) = tensor.not_finite() {
            let message = format!("element {at} is not finite");
            return Err(TensorError::new(ErrorKind::NotFinite, message).at_tensor(name));
        }
        Ok(tensor)
    }

    /// Removes a tensor, whatever it holds.
    pub fn remove(&mut self, name: &str) -> Option<Tensor> {
        let tensor = self.tensors.remove(name)?;
        self.elements = self.elements.saturating_sub(tensor.shape.iter().product());
        Some(tensor)
    }

    /// Gives a tensor another name, unless that is taken.
    pub fn rename(&mut self, from: &str, to: &str) {
        if !self.tensors.contains_key(to)
            && let Some(tensor) = self.tensors.remove(from)
        {
            self.tensors.insert(to.to_owned(), tensor);
        }
    }

    /// Checks that a network has used every tensor.
    ///
    /// # Errors
    /// Names the unused ones: ignoring them would give wrong outputs.
    pub fn finish(&self, architecture: &str) -> Result<(), TensorError> {
        let Some(first) = self.tensors.keys().next() else { return Ok(()) };
        let message = format!("not part of {architecture}; unused: {}", self.first_names());
        Err(TensorError::new(ErrorKind::UnknownNetwork, message).at_tensor(first))
    }

    /// The first few names, for messages.
    pub fn first_names(&self) -> String {
        let shown: Vec<&str> = self.names().take(NAMES_SHOWN).collect();
        let more = self.tensors.len() - shown.len();
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}{rest}", shown.join(", "))
    }

    /// What a failed detection says of these tensors.
    pub fn detect_error(&self, error: DetectError) -> TensorError {
        let (kind, tensor, message) = match error {
            DetectError::Missing { tensor } => return self.missing(&tensor),
            DetectError::Shape { tensor, message } => (ErrorKind::Shape, Some(tensor), message),
            DetectError::Index { tensor, message } => (ErrorKind::Malformed, Some(tensor), message),
            DetectError::Unknown { tensor, message } => (ErrorKind::UnknownNetwork, tensor, message),
        };
        let error = TensorError::new(kind, message);
        match tensor {
            Some(tensor) => error.at_tensor(tensor),
            None => error,
        }
    }

    /// An error about a tensor that is not there, or could not be read.
    fn missing(&self, name: &str) -> TensorError {
        let error = match self.unreadable.get(name) {
            Some(why) => TensorError::new(ErrorKind::Unsupported, format!("unreadable: {why}")),
            None => TensorError::new(ErrorKind::Shape, "missing"),
        };
        error.at_tensor(name)
    }
}

impl NamedTensors for TensorMap {
    fn names(&self) -> Vec<&str> {
        TensorMap::names(self).collect()
    }

    fn shape(&self, name: &str) -> Option<&[usize]> {
        TensorMap::shape(self, name)
    }

    fn values(&self, name: &str) -> Option<Vec<f32>> {
        self.tensors.get(name).map(|tensor| tensor.data().to_vec())
    }
}

fn strip<V>(map: &mut BTreeMap<String, V>, prefix: &str) {
    *map = std::mem::take(map)
        .into_iter()
        .map(|(name, value)| (name.strip_prefix(prefix).unwrap_or(&name).to_owned(), value))
        .collect();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Place;

    fn map(entries: &[(&str, &[usize], &[f32])]) -> TensorMap {
        let mut map = TensorMap::new();
        for (name, shape, data) in entries {
            map.insert(name, shape, data.to_vec()).unwrap();
        }
        map
    }

    #[test]
    fn element_types_decode_to_the_same_numbers() {
        let minus_two: [(ElementType, &[u8]); 8] = [
            (ElementType::F64, &(-2.0_f64).to_le_bytes()),
            (ElementType::F32, &(-2.0_f32).to_le_bytes()),
            (ElementType::F16, &f16::from_f32(-2.0).to_le_bytes()),
            (ElementType::Bf16, &bf16::from_f32(-2.0).to_le_bytes()),
            (ElementType::I64, &(-2_i64).to_le_bytes()),
            (ElementType::I32, &(-2_i32).to_le_bytes()),
            (ElementType::I16, &(-2_i16).to_le_bytes()),
            (ElementType::I8, &[0xfe]),
        ];
        for (element, bytes) in minus_two {
            assert_eq!(bytes.len(), element.size());
            assert_eq!(element.decode(bytes), [-2.0], "{element:?}");
        }
        assert_eq!(ElementType::U8.decode(&[254]), [254.0]);
        assert_eq!(ElementType::Bool.decode(&[0, 7]), [0.0, 1.0]);
    }

    #[test]
    fn wrapper_prefixes_are_stripped_if_all_names_have_them() {
        let mut wrapped = map(&[("module._orig_mod.a", &[1], &[1.0]), ("module._orig_mod.b", &[1], &[2.0])]);
        wrapped.strip_wrappers();
        assert_eq!(wrapped.names().collect::<Vec<_>>(), ["a", "b"]);

        let mut mixed = map(&[("model.a", &[1], &[1.0]), ("b", &[1], &[2.0])]);
        mixed.strip_wrappers();
        assert_eq!(mixed.names().collect::<Vec<_>>(), ["b", "model.a"]);
    }

    #[test]
    fn errors_name_the_tensor() {
        let mut tensors = map(&[("w", &[2], &[1.0, f32::NAN]), ("v", &[2], &[1.0, 2.0])]);
        tensors.insert_unreadable("q", "built by torch._utils._rebuild_qtensor");
        let refused = |result: Result<Tensor, TensorError>, kind, name: &str| {
            let error = result.unwrap_err();
            assert_eq!((error.kind(), error.place()), (kind, &Place::Tensor(name.to_owned())), "{error}");
        };
        refused(tensors.take("absent", &[2]), ErrorKind::Shape, "absent");
        refused(tensors.take("q", &[2]), ErrorKind::Unsupported, "q");
        refused(tensors.take("w", &[2]), ErrorKind::NotFinite, "w");
        refused(tensors.clone().take("v", &[3]), ErrorKind::Shape, "v");
        let left = tensors.finish("a test network").unwrap_err();
        assert_eq!(left.place(), &Place::Tensor("v".to_owned()));
        tensors.take("v", &[2]).unwrap();
        tensors.finish("a test network").unwrap();
    }

    #[test]
    fn shape_and_data_must_agree() {
        let mut tensors = TensorMap::new();
        let error = tensors.insert("w", &[usize::MAX, 2], vec![0.0; 2]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Malformed);
        assert_eq!(tensors.reserve("w", MAX_ELEMENTS + 1).unwrap_err().kind(), ErrorKind::TooLarge);
    }
}
