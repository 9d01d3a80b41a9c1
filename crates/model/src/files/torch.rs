//! PyTorch checkpoints: a zip of a pickle and its storages. See `docs/formats/pytorch.md`.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod pickle;

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Cursor, ErrorKind, Read, SeekFrom};

use tabia_onnx::TensorError;
use tabia_onnx::tensors::{ElementType, MAX_ELEMENTS, TensorMap};
use zip::ZipArchive;
use zip::result::ZipError;

use super::input::{Input, floats, pieces};
use crate::{Format, LoadError, LoadErrorKind, memory};
use pickle::{Id, Pickle, TensorView, Value};

/// The pickle only describes the tensors.
const MAX_PICKLE_BYTES: usize = 64 << 20;

/// Maximum zip entries; a checkpoint has one per storage.
const MAX_ENTRIES: usize = 65_536;

/// Keys of the state dict in training checkpoints.
const STATE_DICT_KEYS: [&str; 3] = ["model_state_dict", "state_dict", "model"];

/// Reads the tensors of a checkpoint's state dict. Everything else is ignored.
///
/// # Errors
/// If the file is malformed or too large, or has no state dict.
pub(crate) fn read(bytes: &[u8]) -> Result<TensorMap, LoadError> {
    read_from(&mut Cursor::new(bytes), MAX_ELEMENTS)
}

/// The same of a file with at most `most` elements. Storages are decoded while they are read, so the weights are in memory once.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_from(input: &mut dyn Input, most: usize) -> Result<TensorMap, LoadError> {
    let mut archive = Archive::open(input, most)?;
    let pickled = archive.read_pickle()?;
    let pickle = Pickle::parse(&pickled)?;
    let state_dict = state_dict(&pickle)?;
    let views = || {
        state_dict.values().filter_map(|id| match pickle.value(*id) {
            Value::Tensor(view) => Some(view),
            _ => None,
        })
    };
    for view in views() {
        *archive.uses.entry(view.storage.key.to_owned()).or_default() += 1;
    }
    // A single tensor that is too large is named below.
    let counts =
        views().map(|view| view.shape.iter().fold(1, |product: usize, &d| product.saturating_mul(d)));
    let (total, largest) = counts
        .fold((0_usize, 0), |(total, largest), count| (total.saturating_add(count), largest.max(count)));
    if largest <= most {
        memory::check(Format::Torch, total, most)?;
    }
    let mut tensors = TensorMap::within(most);
    for (name, id) in state_dict {
        match pickle.value(id) {
            Value::Tensor(view) => match view.storage.element() {
                Some(element) => {
                    let data = archive.gather(name, view, element, &tensors)?;
                    tensors.insert(name, &view.shape, data).map_err(refused)?;
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

fn refused(error: TensorError) -> LoadError {
    LoadError::of_tensors(Format::Torch, error)
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
    zip: ZipArchive<&'a mut dyn Input>,
    folder: String,
    /// How many tensors of the state dict have yet to read a storage.
    uses: HashMap<String, usize>,
    /// Storages that several tensors share, or that are not read in order.
    storages: BTreeMap<String, Vec<u8>>,
    /// Bytes of storages that may still be unpacked.
    bytes_left: usize,
}

impl<'a> Archive<'a> {
    fn open(input: &'a mut dyn Input, most: usize) -> Result<Self, LoadError> {
        const PICKLE: &str = "data.pkl";
        let mut start = [0; 14];
        let read = read_up_to(input, &mut start).map_err(|e| unreadable(&e))?;
        let start = start.get(..read).unwrap_or_default();
        if !start.starts_with(b"PK") {
            return Err(not_a_zip(start));
        }
        if directory_entries(input).map_err(|e| unreadable(&e))? > MAX_ENTRIES {
            return Err(error(LoadErrorKind::TooLarge, format!("more than {MAX_ENTRIES} zip entries")));
        }
        let zip = ZipArchive::new(input).map_err(|e| explain(&e, "the zip directory"))?;
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
        let bytes_left = most.saturating_mul(4);
        let mut archive =
            Archive { zip, folder, uses: HashMap::new(), storages: BTreeMap::new(), bytes_left };
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
            return Err(unpacks_too_far(&path, limit));
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
        tensors.reserve(name, count).map_err(refused)?;
        let last = view.shape.iter().zip(&view.strides).try_fold(view.offset, |at, (&size, &stride)| {
            at.checked_add(size.saturating_sub(1).checked_mul(stride)?)
        });
        let last = last.and_then(|last| last.checked_mul(element.size()));
        let left = self.uses.get_mut(view.storage.key).map_or(0, |uses| {
            *uses = uses.saturating_sub(1);
            *uses
        });
        let shared = left > 0 || self.storages.contains_key(view.storage.key);
        let in_order = view.strides == row_major(&view.shape);
        let data = match last {
            Some(_) if count > 0 && in_order && !shared => self.stream(view, element, count),
            _ => self.pick(view, element, count, last),
        };
        if left == 0 {
            self.storages.remove(view.storage.key);
        }
        data.map_err(|e| e.at_tensor(name))
    }

    /// Decodes the elements of a storage while it is read.
    fn stream(
        &mut self,
        view: &TensorView<'_>,
        element: ElementType,
        count: usize,
    ) -> Result<Vec<f32>, LoadError> {
        let path = format!("{}data/{}", self.folder, view.storage.key);
        let limit = self.bytes_left;
        let entry = self.zip.by_name(&path).map_err(|e| explain(&e, &path))?;
        let available = usize::try_from(entry.size()).unwrap_or(usize::MAX) / element.size();
        if view.offset.checked_add(count).is_none_or(|end| end > available) {
            return Err(exceeds(view, available));
        }
        // Declared sizes are not trusted, so the limit is on the output.
        let mut entry = entry.take(limit as u64 + 1);
        let mut read = || {
            pieces(&mut entry, view.offset * element.size(), |_| {})?;
            let data = floats(&mut entry, element, count)?;
            // The checksum is compared at the end.
            io::copy(&mut entry, &mut io::sink())?;
            Ok(data)
        };
        let data = read().map_err(|e: io::Error| match e.kind() {
            ErrorKind::UnexpectedEof => exceeds(view, available),
            _ => error(LoadErrorKind::Malformed, format!("zip entry {path}: {e}")),
        })?;
        let left = usize::try_from(entry.limit()).unwrap_or(usize::MAX).checked_sub(1);
        self.bytes_left = left.ok_or_else(|| unpacks_too_far(&path, limit))?;
        Ok(data)
    }

    /// Picks the elements out of a storage in memory; `last` is the first byte of the last one.
    fn pick(
        &mut self,
        view: &TensorView<'_>,
        element: ElementType,
        count: usize,
        last: Option<usize>,
    ) -> Result<Vec<f32>, LoadError> {
        let storage = self.storage(view.storage.key)?;
        if count == 0 {
            return Ok(Vec::new());
        }
        let available = storage.len() / element.size();
        if last.is_none_or(|last| last / element.size() >= available) {
            return Err(exceeds(view, available));
        }
        let from = storage.get(view.offset * element.size()..).unwrap_or_default();
        if view.strides == row_major(&view.shape) {
            return Ok(element.decode(from.get(..count * element.size()).unwrap_or_default()));
        }
        let mut data = Vec::with_capacity(count);
        for at in Walk::new(&view.shape, &view.strides) {
            let at = at * element.size();
            element.decode_into(from.get(at..at + element.size()).unwrap_or_default(), &mut data);
        }
        Ok(data)
    }

    /// The bytes of a storage, kept until the last tensor has read it.
    fn storage(&mut self, key: &str) -> Result<&[u8], LoadError> {
        if !self.storages.contains_key(key) {
            let bytes = self.entry(&format!("data/{key}"), self.bytes_left)?;
            self.bytes_left = self.bytes_left.saturating_sub(bytes.len());
            self.storages.insert(key.to_owned(), bytes);
        }
        Ok(self.storages.get(key).map(Vec::as_slice).unwrap_or_default())
    }
}

fn exceeds(view: &TensorView<'_>, available: usize) -> LoadError {
    let message = format!(
        "shape {:?} with strides {:?} and offset {} exceeds the storage of {available} elements",
        view.shape, view.strides, view.offset
    );
    error(LoadErrorKind::Malformed, message)
}

fn unpacks_too_far(path: &str, limit: usize) -> LoadError {
    let message = format!("zip entry {path} decompresses to more than {limit} bytes");
    error(LoadErrorKind::TooLarge, message)
}

fn unreadable(cause: &io::Error) -> LoadError {
    error(LoadErrorKind::Io, cause.to_string())
}

/// Fills `buffer` as far as the file goes, and returns to its beginning.
fn read_up_to(input: &mut dyn Input, buffer: &mut [u8]) -> io::Result<usize> {
    let limit = buffer.len() as u64;
    let mut start = Vec::new();
    input.take(limit).read_to_end(&mut start)?;
    input.rewind()?;
    for (place, byte) in buffer.iter_mut().zip(&start) {
        *place = *byte;
    }
    Ok(start.len())
}

/// How many entries of a zip directory the file may have: their first bytes are counted, wherever they are.
fn directory_entries(input: &mut dyn Input) -> io::Result<usize> {
    const ENTRY: &[u8; 4] = b"PK\x01\x02";
    let length = input.seek(SeekFrom::End(0))?;
    input.rewind()?;
    let (mut entries, mut end) = (0, [0; 3]);
    pieces(input, usize::try_from(length).unwrap_or(usize::MAX), |piece| {
        let seam: Vec<u8> = end.iter().chain(piece.iter().take(3)).copied().collect();
        entries += seam.windows(4).chain(piece.windows(4)).filter(|bytes| bytes == ENTRY).count();
        if let Some(last) = piece.last_chunk() {
            end = *last;
        }
    })?;
    input.rewind()?;
    Ok(entries)
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
