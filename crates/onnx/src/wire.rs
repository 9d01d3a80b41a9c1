//! A walk over the bytes of an ONNX message before it is decoded, adding up what decoding will allocate: two bytes can stand
//! for an operator of more than a hundred.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::proto::{
    AttributeProto, DimensionProto, GraphProto, NodeProto, OperatorSetIdProto, StringStringEntryProto,
    TensorProto, ValueInfoProto,
};
use crate::protobuf::{Fields, Value};
use crate::{ErrorKind, GraphError};

/// The most memory a decoded model may take.
pub(super) const MAX_DECODED_BYTES: u64 = 384 << 20;

/// Maximum nesting: model, graph, input, type, tensor type, shape, dimension; one to spare.
const MAX_DEPTH: usize = 8;

#[derive(Clone, Copy, Debug)]
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
    /// Text or bytes, copied; each with a header when repeated.
    Bytes,
    /// Packed varints of this decoded size.
    Varints(u64),
    /// Packed fixed-width numbers.
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
/// Names the byte offset of a malformed field, or says that decoding would take too much memory.
pub(super) fn scan(bytes: &[u8]) -> Result<(), GraphError> {
    Walk { decoded: 0 }.message(Message::Model, Fields::new(bytes), 0)
}

struct Walk {
    decoded: u64,
}

impl Walk {
    fn message(&mut self, message: Message, fields: Fields<'_>, depth: usize) -> Result<(), GraphError> {
        for item in fields {
            let item = item?;
            let content = match item.value {
                Value::Number(size) => {
                    self.allocate(size, item.start)?;
                    continue;
                }
                Value::Bytes(content) => content,
            };
            let len = content.bytes.len() as u64;
            // A growing list may have twice the capacity it needs.
            let size = match field(message, item.number) {
                Field::Message(inner) if depth == MAX_DEPTH => {
                    let error = format!("{inner:?} message nested more than {MAX_DEPTH} deep");
                    return Err(GraphError::new(ErrorKind::Malformed, error).at_byte(item.start));
                }
                Field::Message(inner) => {
                    self.message(inner, content, depth + 1)?;
                    2 * decoded_size(inner) as u64
                }
                Field::Bytes => len + 2 * size_of::<String>() as u64,
                Field::Varints(size) => 2 * size * content.bytes.iter().filter(|&&b| b < 0x80).count() as u64,
                Field::Fixed => 2 * len,
                Field::Skipped => 0,
            };
            self.allocate(size, item.start)?;
        }
        Ok(())
    }

    fn allocate(&mut self, bytes: u64, at: usize) -> Result<(), GraphError> {
        self.decoded = self.decoded.saturating_add(bytes);
        if self.decoded > MAX_DECODED_BYTES {
            let message = format!("the file decodes to more than {MAX_DECODED_BYTES} bytes");
            return Err(GraphError::new(ErrorKind::TooLarge, message).at_byte(at));
        }
        Ok(())
    }
}
