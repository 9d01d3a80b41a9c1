//! Walking protobuf messages field by field before they are decoded.
//!
//! Decoding says neither where a file is cut off nor how much memory it is about to allocate, so readers walk it first.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use crate::{Format, LoadError, LoadErrorKind};

/// A field of a message.
pub(crate) struct Field<'a> {
    pub(crate) number: u64,
    /// Its offset in the file.
    pub(crate) start: usize,
    pub(crate) value: Value<'a>,
}

/// The value of a field by its wire type.
pub(crate) enum Value<'a> {
    /// A varint or fixed-width number, with its decoded size in bytes.
    Number(u64),
    /// A length-delimited value: text, bytes, a packed list or a message.
    Bytes(Fields<'a>),
}

/// The fields of a message that have not been read yet.
pub(crate) struct Fields<'a> {
    format: Format,
    pub(crate) bytes: &'a [u8],
    offset: usize,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(format: Format, bytes: &'a [u8]) -> Self {
        Fields { format, bytes, offset: 0 }
    }

    fn field(&mut self) -> Result<Field<'a>, LoadError> {
        let start = self.offset;
        let key = self.varint()?;
        let (number, wire_type) = (key >> 3, key & 7);
        if number == 0 {
            return Err(self.malformed(start, "field number 0"));
        }
        let value = match wire_type {
            0 => self.varint().map(|_| Value::Number(8))?,
            1 => self.take(8, start).map(|_| Value::Number(8))?,
            2 => {
                let len = self.varint()?;
                Value::Bytes(self.take(len, start)?)
            }
            5 => self.take(4, start).map(|_| Value::Number(4))?,
            other => return Err(self.malformed(start, format!("unknown wire type {other}"))),
        };
        Ok(Field { number, start, value })
    }

    fn take(&mut self, len: u64, start: usize) -> Result<Fields<'a>, LoadError> {
        let split = usize::try_from(len).ok().and_then(|len| self.bytes.split_at_checked(len));
        let (bytes, rest) = split.ok_or_else(|| {
            self.malformed(start, format!("field of {len} bytes, but only {} are left", self.bytes.len()))
        })?;
        let taken = Fields { format: self.format, bytes, offset: self.offset };
        (self.bytes, self.offset) = (rest, self.offset + bytes.len());
        Ok(taken)
    }

    fn varint(&mut self) -> Result<u64, LoadError> {
        let start = self.offset;
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let Some((&byte, rest)) = self.bytes.split_first() else {
                return Err(self.malformed(start, "cut off inside a varint"));
            };
            (self.bytes, self.offset) = (rest, self.offset + 1);
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.malformed(start, "varint longer than 64 bits"))
    }

    fn malformed(&self, at: usize, message: impl Into<String>) -> LoadError {
        LoadError::new(LoadErrorKind::Malformed, self.format, message).at_byte(at)
    }
}

/// Ends after the first error.
impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>, LoadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.bytes.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.bytes = &[];
        }
        Some(field)
    }
}
