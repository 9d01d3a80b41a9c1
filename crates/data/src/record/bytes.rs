//! Variable-length integers of records.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::RecordError;

/// Appends a LEB128 varint.
pub(super) fn write_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Zigzag encoding: 0, -1, 1, -2, 2, ... as 0, 1, 2, 3, 4, ...
pub(super) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// The inverse of [`zigzag`].
pub(super) fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// A reader of bytes. Reading past the end is an error that names the field.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    what: &'static str,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8], what: &'static str) -> Self {
        Reader { bytes, what }
    }

    pub(super) fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    #[inline]
    pub(super) fn byte(&mut self) -> Result<u8, RecordError> {
        let (&first, rest) = self.bytes.split_first().ok_or(RecordError::Short { what: self.what })?;
        self.bytes = rest;
        Ok(first)
    }

    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], RecordError> {
        let (taken, rest) =
            self.bytes.split_at_checked(count).ok_or(RecordError::Short { what: self.what })?;
        self.bytes = rest;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], RecordError> {
        let (taken, rest) = self.bytes.split_first_chunk().ok_or(RecordError::Short { what: self.what })?;
        self.bytes = rest;
        Ok(*taken)
    }

    #[inline]
    pub(super) fn varint(&mut self) -> Result<u64, RecordError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if (bits << shift) >> shift != bits {
                break;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(RecordError::Number { what: self.what })
    }

    /// A varint that fits a smaller type.
    #[inline]
    pub(super) fn number<T: TryFrom<u64>>(&mut self) -> Result<T, RecordError> {
        T::try_from(self.varint()?).map_err(|_| RecordError::Number { what: self.what })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_round_trip() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            let mut out = Vec::new();
            write_varint(&mut out, value);
            let mut reader = Reader::new(&out, "a test");
            assert_eq!(reader.varint(), Ok(value));
            assert!(reader.rest().is_empty());
        }
        for value in [0, -1, 1, 63, -64, i64::MAX, i64::MIN] {
            assert_eq!(unzigzag(zigzag(value)), value);
        }
    }

    #[test]
    fn overlong_and_truncated_varints_are_errors() {
        assert_eq!(Reader::new(&[0xff; 20], "x").varint(), Err(RecordError::Number { what: "x" }));
        assert_eq!(Reader::new(&[0xff; 3], "x").varint(), Err(RecordError::Short { what: "x" }));
        assert_eq!(Reader::new(&[0x80, 0x02], "x").number::<u8>(), Err(RecordError::Number { what: "x" }));
    }
}
