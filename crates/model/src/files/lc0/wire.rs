//! A first walk over the protobuf, before anything is decoded.
//!
//! An empty residual block takes two bytes on the wire and hundreds in memory, and gzip shrinks the two bytes a
//! thousandfold. Counting the blocks first keeps a small hostile file from asking for all the memory there is.

use super::refuse;
use crate::{LoadError, LoadErrorKind};

/// More blocks than any lc0 network has; the largest residual towers have about forty.
const MAX_BLOCKS: usize = 256;

const NET_WEIGHTS: u64 = 10;
const WEIGHTS_RESIDUAL: u64 = 2;

/// Checks that the outer two levels of the file are sound and that the residual tower has a believable height.
pub(super) fn check(net: &[u8]) -> Result<(), LoadError> {
    let mut blocks = 0;
    let mut fields = Fields { start: 0, bytes: net, at: 0 };
    while let Some(field) = fields.next()? {
        if field.number != NET_WEIGHTS {
            continue;
        }
        let mut weights = Fields { start: field.start, bytes: field.payload, at: 0 };
        while let Some(inner) = weights.next()? {
            blocks += usize::from(inner.number == WEIGHTS_RESIDUAL);
            if blocks > MAX_BLOCKS {
                return Err(refuse(
                    LoadErrorKind::TooLarge,
                    format!("more than {MAX_BLOCKS} residual blocks"),
                )
                .at_byte(inner.start));
            }
        }
    }
    Ok(())
}

struct Field<'a> {
    number: u64,
    /// The content of a length-delimited field; empty for numbers.
    payload: &'a [u8],
    /// Where the payload starts in the file.
    start: usize,
}

struct Fields<'a> {
    /// Where `bytes` starts in the file.
    start: usize,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    fn next(&mut self) -> Result<Option<Field<'a>>, LoadError> {
        if self.at == self.bytes.len() {
            return Ok(None);
        }
        let key_at = self.at;
        let key = self.varint()?;
        let (number, wire_type) = (key >> 3, key & 7);
        let length = match wire_type {
            0 => {
                self.varint()?;
                0
            }
            1 => 8,
            2 => self.varint()?,
            5 => 4,
            _ => return Err(self.malformed(format!("wire type {wire_type}")).at_byte(self.start + key_at)),
        };
        let start = self.start + self.at;
        let payload = usize::try_from(length)
            .ok()
            .and_then(|length| self.at.checked_add(length))
            .and_then(|end| self.bytes.get(self.at..end))
            .ok_or_else(|| self.malformed(format!("a field of {length} bytes runs past the end")))?;
        self.at += payload.len();
        Ok(Some(Field { number, payload, start }))
    }

    fn varint(&mut self) -> Result<u64, LoadError> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = *self.bytes.get(self.at).ok_or_else(|| self.malformed("cut off in a number"))?;
            self.at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.malformed("a number longer than ten bytes"))
    }

    fn malformed(&self, message: impl Into<String>) -> LoadError {
        refuse(LoadErrorKind::Malformed, message).at_byte(self.start + self.at)
    }
}
