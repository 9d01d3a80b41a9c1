//! A walk over the bytes of an ONNX message before it is decoded.
//!
//! Decoding alone would say neither where a file breaks off nor how much memory it is about to take: two bytes can
//! stand for an operator of more than a hundred. The walk visits every message we decode, checks that each field
//! ends within its parent, and adds up what decoding will allocate.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::proto::{
    AttributeProto, DimensionProto, GraphProto, NodeProto, OperatorSetIdProto, StringStringEntryProto,
    TensorProto, ValueInfoProto,
};
use crate::{Format, LoadError, LoadErrorKind};

/// The most memory a decoded model may take.
pub(super) const MAX_DECODED_BYTES: u64 = 384 << 20;

/// How deep messages may nest: model, graph, input, type, tensor type, shape, dimension; one to spare.
const MAX_DEPTH: usize = 8;

#[derive(Clone, Copy)]
enum Message {
    Model,
    Opset,
    Entry,
    Graph,
    Node,
    Attribute,
    Tensor,
    Value,
    Type,
    TensorType,
    Shape,
    Dimension,
}

/// What decoding does with a field.
#[derive(Clone, Copy)]
enum Field {
    Message(Message),
    /// Text or bytes, copied as they are. Each takes a header when repeated.
    Bytes,
    /// A number or a packed list of varints, this many bytes each once decoded.
    Varints(u64),
    /// A number or a packed list of fixed-width ones, which keep their size.
    Fixed,
    Skipped,
}

fn field(message: Message, number: u64) -> Field {
    use Message as M;
    match (message, number) {
        (M::Model, 7) | (M::Attribute, 6 | 11) => Field::Message(M::Graph),
        (M::Model, 8) => Field::Message(M::Opset),
        (M::Model, 14) | (M::Tensor, 13) => Field::Message(M::Entry),
        (M::Graph, 1) => Field::Message(M::Node),
        (M::Graph, 5) | (M::Attribute, 5 | 10) => Field::Message(M::Tensor),
        (M::Graph, 11 | 12) => Field::Message(M::Value),
        (M::Node, 5) => Field::Message(M::Attribute),
        (M::Value, 2) => Field::Message(M::Type),
        (M::Type, 1) => Field::Message(M::TensorType),
        (M::TensorType, 2) => Field::Message(M::Shape),
        (M::Shape, 1) => Field::Message(M::Dimension),
        (M::Attribute, 8) | (M::Tensor, 1 | 7) => Field::Varints(8),
        (M::Tensor, 5) => Field::Varints(4),
        (M::Attribute, 7) | (M::Tensor, 4 | 10) => Field::Fixed,
        (M::Model, 2 | 3)
        | (M::Dimension | M::Graph, 2)
        | (M::Opset | M::Value, 1)
        | (M::Entry, 1 | 2)
        | (M::Node, 1 | 2 | 3 | 4 | 7)
        | (M::Attribute, 1 | 4 | 9)
        | (M::Tensor, 8 | 9) => Field::Bytes,
        _ => Field::Skipped,
    }
}

/// Memory of one decoded message itself, without what it points to.
fn decoded_size(message: Message) -> usize {
    match message {
        Message::Model | Message::Graph => size_of::<GraphProto>(),
        Message::Opset => size_of::<OperatorSetIdProto>(),
        Message::Entry => size_of::<StringStringEntryProto>(),
        Message::Node => size_of::<NodeProto>(),
        Message::Attribute => size_of::<AttributeProto>(),
        Message::Tensor => size_of::<TensorProto>(),
        Message::Value => size_of::<ValueInfoProto>(),
        // These live inside their parent.
        Message::Type | Message::TensorType | Message::Shape => 0,
        Message::Dimension => size_of::<DimensionProto>(),
    }
}

/// Walks the bytes of a model.
///
/// # Errors
/// Names the byte offset of a field that breaks off or cannot be, or says that decoding would take too much memory.
pub(super) fn scan(bytes: &[u8]) -> Result<(), LoadError> {
    Walk { bytes, at: 0, decoded: 0 }.message(Message::Model, bytes.len(), 0)
}

struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
    decoded: u64,
}

impl Walk<'_> {
    fn message(&mut self, message: Message, end: usize, depth: usize) -> Result<(), LoadError> {
        if depth > MAX_DEPTH {
            return Err(broken(self.at, format!("messages nest more than {MAX_DEPTH} deep")));
        }
        while self.at < end {
            let start = self.at;
            let key = self.varint(end)?;
            let (number, wire_type) = (key >> 3, key & 7);
            if number == 0 {
                return Err(broken(start, "field number 0"));
            }
            let field = field(message, number);
            match wire_type {
                0 => {
                    self.varint(end)?;
                    self.allocate(8)?;
                }
                1 => {
                    self.skip(8, end)?;
                    self.allocate(8)?;
                }
                5 => {
                    self.skip(4, end)?;
                    self.allocate(4)?;
                }
                2 => {
                    let len = self.varint(end)?;
                    let len = usize::try_from(len).unwrap_or(usize::MAX);
                    let stop = self.at.checked_add(len).filter(|&stop| stop <= end).ok_or_else(|| {
                        let left = end - self.at;
                        broken(start, format!("a field of {len} bytes, but only {left} follow"))
                    })?;
                    self.content(field, stop, depth)?;
                }
                other => return Err(broken(start, format!("wire type {other}"))),
            }
        }
        Ok(())
    }

    fn content(&mut self, field: Field, stop: usize, depth: usize) -> Result<(), LoadError> {
        let len = (stop - self.at) as u64;
        match field {
            Field::Message(inner) => {
                // A growing list may hold twice what is in it.
                self.allocate(2 * decoded_size(inner) as u64)?;
                self.message(inner, stop, depth + 1)?;
            }
            Field::Bytes => self.allocate(len + 2 * size_of::<String>() as u64)?,
            Field::Varints(size) => {
                let packed = self.bytes.get(self.at..stop).unwrap_or_default();
                let count = packed.iter().filter(|&&b| b < 0x80).count() as u64;
                self.allocate(2 * count * size)?;
            }
            Field::Fixed => self.allocate(2 * len)?,
            Field::Skipped => {}
        }
        self.at = stop;
        Ok(())
    }

    fn allocate(&mut self, bytes: u64) -> Result<(), LoadError> {
        self.decoded = self.decoded.saturating_add(bytes);
        if self.decoded > MAX_DECODED_BYTES {
            let message = format!("the file unpacks to more than {MAX_DECODED_BYTES} bytes");
            let error = LoadError::new(LoadErrorKind::TooLarge, Format::Onnx, message);
            return Err(error.at_byte(self.at));
        }
        Ok(())
    }

    fn skip(&mut self, len: usize, end: usize) -> Result<(), LoadError> {
        if end - self.at < len {
            return Err(broken(self.at, "the file breaks off inside a number"));
        }
        self.at += len;
        Ok(())
    }

    fn varint(&mut self, end: usize) -> Result<u64, LoadError> {
        let start = self.at;
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = match self.bytes.get(self.at) {
                Some(&byte) if self.at < end => byte,
                _ => return Err(broken(start, "the file breaks off inside a number")),
            };
            self.at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(broken(start, "a number longer than 64 bits"))
    }
}

fn broken(at: usize, message: impl Into<String>) -> LoadError {
    LoadError::new(LoadErrorKind::Malformed, Format::Onnx, message).at_byte(at)
}
