#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use tabia_encoding::NpyHeader;

use super::{Array, NpyError, read};
use crate::{EvaluationRecord, Session};

/// The most rows of analysis read for one position.
const MOST_ROWS: u64 = 1 << 16;

/// A set of Learning a Chess Policy on disk, whose positions are read by their number.
pub struct NpyFolder {
    path: PathBuf,
    planes: OpenArray,
    meta: OpenArray,
    data: OpenArray,
    offsets: OpenArray,
    vocabulary: Vec<[u8; 3]>,
}

impl NpyFolder {
    /// Opens the set whose planes are in `planes`, a file `NAME_planes.npy`; the other four lie beside it.
    ///
    /// # Errors
    /// If a file is missing, is not an array of the format, or the lengths do not match.
    pub fn open(planes: &Path) -> Result<NpyFolder, NpyError> {
        let name = planes.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let Some(prefix) = name.strip_suffix("_planes.npy") else {
            return Err(NpyError::NotPlanes(planes.to_string_lossy().into_owned()));
        };
        let folder = planes.parent().unwrap_or(Path::new(""));
        let open = |array: Array| OpenArray::open(array, &array.path(folder, prefix));
        let set = NpyFolder {
            path: planes.to_owned(),
            planes: open(Array::Planes)?,
            meta: open(Array::Meta)?,
            data: open(Array::Data)?,
            offsets: open(Array::Offsets)?,
            vocabulary: open(Array::Vocabulary)?.vocabulary()?,
        };
        let (positions, metas, starts) = (set.planes.length, set.meta.length, set.offsets.length);
        if metas != positions || starts != positions.saturating_add(1) {
            return Err(NpyError::Mismatch(format!(
                "{}: {positions} positions do not match {metas} rows of meta and {starts} offsets",
                planes.display()
            )));
        }
        Ok(set)
    }

    /// The file of its planes.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many positions it has.
    pub fn positions(&self) -> u64 {
        self.planes.length
    }

    /// A position with its analysis. Invalid rows of analysis are left out.
    ///
    /// # Errors
    /// If there is no such position, it is invalid, or a file cannot be read.
    pub fn record(&self, index: u64) -> Result<EvaluationRecord, NpyError> {
        let wrong =
            |what: String| NpyError::Mismatch(format!("{}: position {index}: {what}", self.path.display()));
        if index >= self.positions() {
            return Err(wrong(format!("out of range (expected below {})", self.positions())));
        }
        let planes: [u8; read::PLANES] = self.planes.item(index)?;
        let meta: [u8; read::META] = self.meta.item(index)?;
        let position =
            read::position(&planes, meta.map(u8::cast_signed)).map_err(|what| wrong(what.to_owned()))?;
        let [begin, end] = [index, index + 1].map(|at| self.offsets.item(at).map(u32::from_le_bytes));
        let (begin, end) = (u64::from(begin?), u64::from(end?));
        if end < begin || end > self.data.length || end - begin > MOST_ROWS {
            return Err(wrong(format!("analysis from row {begin} to {end} of {}", self.data.length)));
        }
        let mut sessions: Vec<Session> = Vec::new();
        for row in begin..end {
            if let Ok((depth, knodes, line)) = read::line(&self.vocabulary, &position, self.data.item(row)?) {
                read::add_line(&mut sessions, depth, knodes, line);
            }
        }
        Ok(read::record(position, sessions))
    }
}

/// A file of which items are read by number.
struct OpenArray {
    path: PathBuf,
    file: Mutex<File>,
    /// Where the first item starts.
    start: u64,
    length: u64,
}

impl OpenArray {
    fn open(array: Array, path: &Path) -> Result<OpenArray, NpyError> {
        let name = || path.to_string_lossy().into_owned();
        let fails = |error| NpyError::Io { file: name(), error };
        let mut file = File::open(path).map_err(fails)?;
        let header = NpyHeader::read(&mut file).map_err(fails)?;
        let length = array.length(&header).map_err(|what| NpyError::Header { file: name(), what })?;
        let start = file.stream_position().map_err(fails)?;
        Ok(OpenArray { path: path.to_owned(), file: Mutex::new(file), start, length })
    }

    fn fails(&self, error: io::Error) -> NpyError {
        NpyError::Io { file: self.path.to_string_lossy().into_owned(), error }
    }

    fn item<const N: usize>(&self, index: u64) -> Result<[u8; N], NpyError> {
        let mut bytes = [0; N];
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let place = self.start.saturating_add(index.saturating_mul(N as u64));
        file.seek(SeekFrom::Start(place))
            .and_then(|_| file.read_exact(&mut bytes))
            .map_err(|e| self.fails(e))?;
        Ok(bytes)
    }

    fn vocabulary(&self) -> Result<Vec<[u8; 3]>, NpyError> {
        if self.length > read::WIDEST_VOCABULARY {
            let (file, moves) = (self.path.display(), self.length);
            return Err(NpyError::Mismatch(format!("{file}: a vocabulary of {moves} moves")));
        }
        (0..self.length).map(|index| self.item(index)).collect()
    }
}
