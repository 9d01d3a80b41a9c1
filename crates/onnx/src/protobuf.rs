//! Walking protobuf messages field by field before they are decoded.
//!
//! Decoding says neither where a file is cut off nor how much memory it is about to allocate, so readers walk it first.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

/// Why a message cannot be walked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {offset}: {message}")]
pub struct WireError {
    /// The offset in the file.
    pub offset: usize,
    /// The fault.
    pub message: String,
}

/// A field of a message.
pub struct Field<'a> {
    /// Its number.
    pub number: u64,
    /// Its offset in the file.
    pub start: usize,
    /// Its value.
    pub value: Value<'a>,
}

/// The value of a field by its wire type.
pub enum Value<'a> {
    /// A varint or fixed-width number, with its decoded size in bytes.
    Number(u64),
    /// A length-delimited value: text, bytes, a packed list or a message.
    Bytes(Fields<'a>),
}

/// The fields of a message that have not been read yet.
pub struct Fields<'a> {
    /// Their bytes.
    pub bytes: &'a [u8],
    offset: usize,
}

impl<'a> Fields<'a> {
    /// The fields of a whole file.
    pub fn new(bytes: &'a [u8]) -> Self {
        Fields { bytes, offset: 0 }
    }

    fn field(&mut self) -> Result<Field<'a>, WireError> {
        let start = self.offset;
        let key = self.varint()?;
        let (number, wire_type) = (key >> 3, key & 7);
        if number == 0 {
            return Err(malformed(start, "field number 0"));
        }
        let value = match wire_type {
            0 => self.varint().map(|_| Value::Number(8))?,
            1 => self.take(8, start).map(|_| Value::Number(8))?,
            2 => {
                let len = self.varint()?;
                Value::Bytes(self.take(len, start)?)
            }
            5 => self.take(4, start).map(|_| Value::Number(4))?,
            other => return Err(malformed(start, format!("unknown wire type {other}"))),
        };
        Ok(Field { number, start, value })
    }

    fn take(&mut self, len: u64, start: usize) -> Result<Fields<'a>, WireError> {
        let split = usize::try_from(len).ok().and_then(|len| self.bytes.split_at_checked(len));
        let (bytes, rest) = split.ok_or_else(|| {
            malformed(start, format!("field of {len} bytes, but only {} are left", self.bytes.len()))
        })?;
        let taken = Fields { bytes, offset: self.offset };
        (self.bytes, self.offset) = (rest, self.offset + bytes.len());
        Ok(taken)
    }

    fn varint(&mut self) -> Result<u64, WireError> {
        let start = self.offset;
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let Some((&byte, rest)) = self.bytes.split_first() else {
                return Err(malformed(start, "cut off inside a varint"));
            };
            (self.bytes, self.offset) = (rest, self.offset + 1);
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(malformed(start, "varint longer than 64 bits"))
    }
}

fn malformed(offset: usize, message: impl Into<String>) -> WireError {
    WireError { offset, message: message.into() }
}

/// Ends after the first error.
impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>, WireError>;

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
