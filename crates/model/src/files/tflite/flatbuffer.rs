//! A bounds-checked flatbuffer reader: tables, vectors and strings.
//!
//! Every offset is checked before it is followed, every vector against the file and a limit of the caller. Nothing recurses or
//! is collected in advance, so cyclic or shared offsets cost no more than the caller's own steps.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use crate::{Format, LoadError, LoadErrorKind};

/// A table, whose fields may be absent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table<'a> {
    bytes: &'a [u8],
    at: usize,
    vtable: &'a [u8],
}

/// A vector of tables.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tables<'a> {
    bytes: &'a [u8],
    /// Where the first offset is.
    at: usize,
    len: usize,
}

/// A scalar: little-endian, unaligned.
pub(super) trait Scalar: Copy {
    const SIZE: usize;
    /// Decodes `bytes`, if they are exactly [`SIZE`](Scalar::SIZE).
    fn from_bytes(bytes: &[u8]) -> Option<Self>;
}

macro_rules! scalars {
    ($($number:ty),*) => {$(
        impl Scalar for $number {
            const SIZE: usize = size_of::<$number>();
            fn from_bytes(bytes: &[u8]) -> Option<Self> {
                bytes.try_into().ok().map(<$number>::from_le_bytes)
            }
        }
    )*};
}
scalars!(i8, u8, u16, i32, u32, i64, u64, f32);

impl<'a> Table<'a> {
    /// The root table of a file that carries `identifier`.
    pub(super) fn root(bytes: &'a [u8], identifier: &[u8; 4]) -> Result<Self, LoadError> {
        if bytes.get(4..8) != Some(identifier.as_slice()) {
            let name = String::from_utf8_lossy(identifier);
            return Err(fault(4, format!("wrong file identifier (expected {name:?})")));
        }
        Table::at(bytes, follow(bytes, 0)?)
    }

    fn at(bytes: &'a [u8], at: usize) -> Result<Self, LoadError> {
        let back: i32 = scalar(bytes, at)?;
        let vtable_at = i64::try_from(at)
            .ok()
            .and_then(|at| usize::try_from(at - i64::from(back)).ok())
            .ok_or_else(|| fault(at, "vtable before the start of the file"))?;
        let size = usize::from(scalar::<u16>(bytes, vtable_at)?);
        if size < 4 || size % 2 != 0 {
            return Err(fault(vtable_at, format!("invalid vtable size {size}")));
        }
        let vtable = span(bytes, vtable_at, size)?;
        Ok(Table { bytes, at, vtable })
    }

    /// The offset of the table in the file.
    pub(super) fn offset(&self) -> usize {
        self.at
    }

    /// The offset of field `id`, if present.
    fn field(&self, id: usize) -> Option<usize> {
        let slot = self.vtable.get(4 + 2 * id..6 + 2 * id).and_then(u16::from_bytes)?;
        (slot != 0).then(|| self.at + usize::from(slot))
    }

    /// A scalar, or `default` if absent.
    pub(super) fn number<T: Scalar>(&self, id: usize, default: T) -> Result<T, LoadError> {
        self.field(id).map_or(Ok(default), |at| scalar(self.bytes, at))
    }

    /// A nested table.
    pub(super) fn table(&self, id: usize) -> Result<Option<Table<'a>>, LoadError> {
        let Some(at) = self.field(id) else { return Ok(None) };
        Table::at(self.bytes, follow(self.bytes, at)?).map(Some)
    }

    /// A vector of at most `limit` tables, empty when absent.
    pub(super) fn tables(&self, id: usize, limit: usize) -> Result<Tables<'a>, LoadError> {
        let (at, len) = self.vector(id, 4, limit)?.unwrap_or((0, 0));
        Ok(Tables { bytes: self.bytes, at, len })
    }

    /// A vector of at most `limit` numbers, empty when absent.
    pub(super) fn numbers<T: Scalar>(&self, id: usize, limit: usize) -> Result<Vec<T>, LoadError> {
        let Some((at, len)) = self.vector(id, T::SIZE, limit)? else { return Ok(Vec::new()) };
        let stored = span(self.bytes, at, len * T::SIZE)?;
        Ok(stored.chunks_exact(T::SIZE).filter_map(T::from_bytes).collect())
    }

    /// A byte vector of any length.
    pub(super) fn blob(&self, id: usize) -> Result<Option<&'a [u8]>, LoadError> {
        let Some((at, len)) = self.vector(id, 1, usize::MAX)? else { return Ok(None) };
        span(self.bytes, at, len).map(Some)
    }

    /// A string of at most `limit` bytes.
    pub(super) fn text(&self, id: usize, limit: usize) -> Result<Option<&'a str>, LoadError> {
        let Some((at, len)) = self.vector(id, 1, limit)? else { return Ok(None) };
        let stored = span(self.bytes, at, len)?;
        std::str::from_utf8(stored).map(Some).map_err(|_| fault(at, "string is not UTF-8"))
    }

    /// The first element and the length of a vector whose elements all lie inside the file.
    fn vector(&self, id: usize, element: usize, limit: usize) -> Result<Option<(usize, usize)>, LoadError> {
        let Some(field) = self.field(id) else { return Ok(None) };
        let at = follow(self.bytes, field)?;
        let len = scalar::<u32>(self.bytes, at)? as usize;
        if len > limit {
            let message = format!("vector of {len} elements (expected at most {limit})");
            return Err(LoadError::new(LoadErrorKind::TooLarge, Format::Tflite, message).at_byte(at));
        }
        let first = at + 4;
        len.checked_mul(element)
            .and_then(|size| self.bytes.get(first..first.checked_add(size)?))
            .ok_or_else(|| fault(at, format!("vector of {len} elements exceeds the file")))?;
        Ok(Some((first, len)))
    }
}

impl<'a> Tables<'a> {
    /// How many tables there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Table `index`, or `None` past the end.
    pub(super) fn get(&self, index: usize) -> Result<Option<Table<'a>>, LoadError> {
        if index >= self.len {
            return Ok(None);
        }
        Table::at(self.bytes, follow(self.bytes, self.at + 4 * index)?).map(Some)
    }

    /// The tables in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = Result<Table<'a>, LoadError>> + use<'a> {
        let tables = *self;
        (0..tables.len).filter_map(move |i| tables.get(i).transpose())
    }
}

/// A malformed file, at an offset.
pub(super) fn fault(at: usize, message: impl Into<String>) -> LoadError {
    LoadError::new(LoadErrorKind::Malformed, Format::Tflite, message).at_byte(at)
}

fn span(bytes: &[u8], at: usize, len: usize) -> Result<&[u8], LoadError> {
    at.checked_add(len)
        .and_then(|end| bytes.get(at..end))
        .ok_or_else(|| fault(at, format!("cut off: {len} bytes expected in a file of {}", bytes.len())))
}

fn scalar<T: Scalar>(bytes: &[u8], at: usize) -> Result<T, LoadError> {
    let stored = span(bytes, at, T::SIZE)?;
    T::from_bytes(stored).ok_or_else(|| fault(at, "wrong scalar size"))
}

/// The target of the offset stored at `at`. Offsets point forwards and are relative to themselves.
fn follow(bytes: &[u8], at: usize) -> Result<usize, LoadError> {
    let offset = scalar::<u32>(bytes, at)? as usize;
    at.checked_add(offset)
        .filter(|&target| offset >= 4 && target < bytes.len())
        .ok_or_else(|| fault(at, format!("invalid offset {offset}")))
}
