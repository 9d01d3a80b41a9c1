//! PyTorch checkpoints: a zip of a pickle and its storages. See `docs/formats/pytorch.md`.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod pickle;

use std::collections::BTreeMap;
use std::io::{Cursor, Read};

use zip::ZipArchive;
use zip::result::ZipError;

use crate::tensors::{ElementType, MAX_ELEMENTS, TensorMap};
use crate::{Format, LoadError, LoadErrorKind};
use pickle::{Id, Pickle, TensorView, Value};

/// The pickle only describes the tensors.
const MAX_PICKLE_BYTES: usize = 64 << 20;

/// The storages of the state dict together, unpacked.
const MAX_STORAGE_BYTES: usize = 4 * MAX_ELEMENTS;

/// Maximum zip entries; a checkpoint has one per storage.
const MAX_ENTRIES: usize = 65_536;

/// Keys of the state dict in training checkpoints.
const STATE_DICT_KEYS: [&str; 3] = ["model_state_dict", "state_dict", "model"];

/// Reads the tensors of a checkpoint's state dict. Everything else is ignored.
///
/// # Errors
/// If the file is malformed or too large, or has no state dict.
pub(crate) fn read(bytes: &[u8]) -> Result<TensorMap, LoadError> {
    let mut archive = Archive::open(bytes)?;
    let pickled = archive.read_pickle()?;
    let pickle = Pickle::parse(&pickled)?;
    let mut tensors = TensorMap::new(Format::Torch);
    for (name, id) in state_dict(&pickle)? {
        match pickle.value(id) {
            Value::Tensor(view) => match view.storage.element() {
                Some(element) => {
                    let data = archive.gather(name, view, element, &tensors)?;
                    tensors.insert(name, &view.shape, data)?;
                }
                None => {
                    tensors.insert_unreadable(name, format!("unsupported storage {}", view.storage.class));
                }
            },
            Value::Opaque(maker) => tensors.insert_unreadable(name, format!("unsupported type {maker}")),
            _ => {}
        }
    }
    Ok(tensors)
}

/// The dictionary of tensors: under one of [`STATE_DICT_KEYS`], else the whole pickle.
fn state_dict<'a>(pickle: &Pickle<'a>) -> Result<BTreeMap<&'a str, Id>, LoadError> {
    if let &Value::Opaque(class) = pickle.value(pickle.root()) {
        let message = format!("pickled {class} object (expected a state_dict())");
        return Err(error(LoadErrorKind::Unsupported, message));
    }
    let root = pickle.dict(pickle.root()).unwrap_or_default();
    let under_a_key = STATE_DICT_KEYS.iter().filter_map(|key| pickle.dict(*root.get(key)?));
    let is_tensor = |id: &Id| matches!(pickle.value(*id), Value::Tensor(_));
    let mut candidates = under_a_key.chain([root.clone()]);
    candidates.find(|dict| dict.values().any(is_tensor)).ok_or_else(|| {
        let keys: Vec<&str> = root.keys().take(8).copied().collect();
        let looked = format!("looked at the top level and under {}", STATE_DICT_KEYS.join(", "));
        let message = format!("no state dict; {looked}; top-level keys: [{}]", keys.join(", "));
        error(LoadErrorKind::UnknownNetwork, message)
    })
}

fn error(kind: LoadErrorKind, message: impl Into<String>) -> LoadError {
    LoadError::new(kind, Format::Torch, message)
}

/// The zip of a checkpoint. All entries are in one folder, named after the saved file.
struct Archive<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
    folder: String,
    storages: BTreeMap<String, Vec<u8>>,
    storage_bytes: usize,
}

impl<'a> Archive<'a> {
    fn open(bytes: &'a [u8]) -> Result<Self, LoadError> {
        const PICKLE: &str = "data.pkl";
        if !bytes.starts_with(b"PK") {
            return Err(not_a_zip(bytes));
        }
        if bytes.windows(4).filter(|w| w == b"PK\x01\x02").count() > MAX_ENTRIES {
            return Err(error(LoadErrorKind::TooLarge, format!("more than {MAX_ENTRIES} zip entries")));
        }
        let zip = ZipArchive::new(Cursor::new(bytes)).map_err(|e| explain(&e, "the zip directory"))?;
        let names: Vec<String> = zip.file_names().flatten().map(String::from).collect();
        let folder = names
            .iter()
            .filter_map(|name| name.strip_suffix(PICKLE))
            .find(|folder| folder.is_empty() || folder.ends_with('/'))
            .ok_or_else(|| error(LoadErrorKind::Malformed, format!("no {PICKLE} in the zip")))?
            .to_owned();
        if names.iter().any(|name| name.strip_prefix(&folder) == Some("constants.pkl")) {
            let message = "TorchScript program (expected a state_dict())";
            return Err(error(LoadErrorKind::Unsupported, message));
        }
        let mut archive = Archive { zip, folder, storages: BTreeMap::new(), storage_bytes: 0 };
        if names.contains(&format!("{}byteorder", archive.folder))
            && archive.entry("byteorder", 16)?.trim_ascii() != b"little"
        {
            return Err(error(LoadErrorKind::Unsupported, "big-endian checkpoint"));
        }
        Ok(archive)
    }

    fn read_pickle(&mut self) -> Result<Vec<u8>, LoadError> {
        self.entry("data.pkl", MAX_PICKLE_BYTES)
    }

    /// An entry of the folder, decompressed.
    fn entry(&mut self, name: &str, limit: usize) -> Result<Vec<u8>, LoadError> {
        let path = format!("{}{name}", self.folder);
        let entry = self.zip.by_name(&path).map_err(|e| explain(&e, &path))?;
        let mut unpacked = Vec::new();
        // Declared sizes are not trusted, so the limit is on the output.
        let read = entry.take(limit as u64 + 1).read_to_end(&mut unpacked);
        read.map_err(|e| error(LoadErrorKind::Malformed, format!("zip entry {path}: {e}")))?;
        if unpacked.len() > limit {
            let message = format!("zip entry {path} decompresses to more than {limit} bytes");
            return Err(error(LoadErrorKind::TooLarge, message));
        }
        Ok(unpacked)
    }

    /// The elements of `view` in row-major order.
    fn gather(
        &mut self,
        name: &str,
        view: &TensorView<'_>,
        element: ElementType,
        tensors: &TensorMap,
    ) -> Result<Vec<f32>, LoadError> {
        let count = view.shape.iter().try_fold(1_usize, |product, &d| product.checked_mul(d));
        let count = count.unwrap_or(usize::MAX);
        tensors.reserve(name, count)?;
        let storage = self.storage(view.storage.key).map_err(|e| e.at_tensor(name))?;
        if count == 0 {
            return Ok(Vec::new());
        }
        let last =
            view.shape.iter().zip(&view.strides).try_fold(view.offset, |at, (&size, &stride)| {
                at.checked_add((size - 1).checked_mul(stride)?)
            });
        let available = storage.len() / element.size();
        if last.is_none_or(|last| last >= available) {
            let message = format!(
                "shape {:?} with strides {:?} and offset {} exceeds the storage of {available} elements",
                view.shape, view.strides, view.offset
            );
            return Err(error(LoadErrorKind::Malformed, message).at_tensor(name));
        }
        let from = storage.get(view.offset * element.size()..).unwrap_or_default();
        if view.strides == row_major(&view.shape) {
            return Ok(element.decode(from.get(..count * element.size()).unwrap_or_default()));
        }
        let mut bytes = Vec::with_capacity(count * element.size());
        for at in Walk::new(&view.shape, &view.strides) {
            let at = at * element.size();
            bytes.extend_from_slice(from.get(at..at + element.size()).unwrap_or_default());
        }
        Ok(element.decode(&bytes))
    }

    /// The bytes of a storage, cached since tensors may share them.
    fn storage(&mut self, key: &str) -> Result<&[u8], LoadError> {
        if !self.storages.contains_key(key) {
            let bytes = self.entry(&format!("data/{key}"), MAX_STORAGE_BYTES - self.storage_bytes)?;
            self.storage_bytes += bytes.len();
            self.storages.insert(key.to_owned(), bytes);
        }
        Ok(self.storages.get(key).map(Vec::as_slice).unwrap_or_default())
    }
}

fn row_major(shape: &[usize]) -> Vec<usize> {
    let mut strides: Vec<usize> = shape
        .iter()
        .rev()
        .scan(1, |stride, &size| {
            let this = *stride;
            *stride *= size;
            Some(this)
        })
        .collect();
    strides.reverse();
    strides
}

/// The offsets of a strided tensor's elements in row-major order.
struct Walk {
    /// Size, stride and current index of each dimension, last first.
    dims: Vec<(usize, usize, usize)>,
    next: Option<usize>,
}

impl Walk {
    fn new(shape: &[usize], strides: &[usize]) -> Self {
        let dims = shape.iter().zip(strides).rev().map(|(&size, &stride)| (size, stride, 0)).collect();
        Walk { dims, next: (!shape.contains(&0)).then_some(0) }
    }
}

impl Iterator for Walk {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let at = self.next?;
        let mut place = at;
        self.next = self.dims.iter_mut().find_map(|(size, stride, index)| {
            if *index + 1 < *size {
                *index += 1;
                Some(place + *stride)
            } else {
                place -= *index * *stride;
                *index = 0;
                None
            }
        });
        Some(at)
    }
}

fn not_a_zip(bytes: &[u8]) -> LoadError {
    // Before 1.6, torch.save wrote several pickles, the first of them this number.
    const LEGACY_MAGIC: &[u8] = b"\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
    if bytes.get(2..).is_some_and(|rest| rest.starts_with(LEGACY_MAGIC)) {
        let message = "format of torch before 1.6; load and save it again with a newer version";
        return error(LoadErrorKind::Unsupported, message);
    }
    error(LoadErrorKind::Malformed, "not a zip file").at_byte(0)
}

fn explain(cause: &ZipError, what: &str) -> LoadError {
    let kind = match cause {
        ZipError::UnsupportedArchive(_) | ZipError::CompressionMethodNotSupported(_) => {
            LoadErrorKind::Unsupported
        }
        _ => LoadErrorKind::Malformed,
    };
    error(kind, format!("{what}: {cause}"))
}

#[cfg(test)]
mod tests;
