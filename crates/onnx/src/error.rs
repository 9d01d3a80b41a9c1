use std::fmt;

use crate::protobuf::WireError;

/// The category of a [`GraphError`] or a [`TensorError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The bytes violate the format: truncated, offsets out of range, invalid numbers.
    Malformed,
    /// The file needs more memory or work than the limits allow.
    TooLarge,
    /// A valid file with an unsupported operator or layer.
    Unsupported,
    /// A tensor is missing or has the wrong shape.
    Shape,
    /// A weight is NaN or infinite.
    NotFinite,
    /// The tensors are not those of a known network.
    UnknownNetwork,
    /// A valid graph in a build that cannot run it.
    NoRuntime,
}

/// Where in a file an error is. Displayed as it follows the file: `, tensor "w"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The file as a whole.
    File,
    /// A byte offset.
    Byte(u64),
    /// A tensor, by name.
    Tensor(String),
    /// An operator of the graph, by name or position.
    Operator(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::File => Ok(()),
            Place::Byte(offset) => write!(f, ", byte {offset}"),
            Place::Tensor(name) => write!(f, ", tensor {name:?}"),
            Place::Operator(name) => write!(f, ", operator {name:?}"),
        }
    }
}

/// Why an ONNX graph was refused, and where the error is.
#[derive(Clone, Debug, thiserror::Error)]
#[error("ONNX file{place}: {message}")]
pub struct GraphError {
    kind: ErrorKind,
    place: Place,
    message: String,
}

impl GraphError {
    /// An error of `kind`, at the whole file until a place is given.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        GraphError { kind, place: Place::File, message: message.into() }
    }

    /// The same error at a byte offset.
    pub fn at_byte(self, offset: usize) -> Self {
        GraphError { place: Place::Byte(offset as u64), ..self }
    }

    /// The same error at a tensor.
    pub fn at_tensor(self, name: impl Into<String>) -> Self {
        GraphError { place: Place::Tensor(name.into()), ..self }
    }

    /// The same error at an operator.
    pub fn at_operator(self, name: impl Into<String>) -> Self {
        GraphError { place: Place::Operator(name.into()), ..self }
    }

    /// The category.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The place.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Category, place and message.
    pub fn into_parts(self) -> (ErrorKind, Place, String) {
        (self.kind, self.place, self.message)
    }
}

impl From<WireError> for GraphError {
    fn from(WireError { offset, message }: WireError) -> Self {
        GraphError::new(ErrorKind::Malformed, message).at_byte(offset)
    }
}

/// Why the tensors of a state dict were refused, and which of them shows it. The format of their file is not known here.
#[derive(Clone, Debug, thiserror::Error)]
#[error("state dict{place}: {message}")]
pub struct TensorError {
    kind: ErrorKind,
    place: Place,
    message: String,
}

impl TensorError {
    /// An error of `kind`, of all tensors together until one is named.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        TensorError { kind, place: Place::File, message: message.into() }
    }

    /// The same error at a tensor.
    pub fn at_tensor(self, name: impl Into<String>) -> Self {
        TensorError { place: Place::Tensor(name.into()), ..self }
    }

    /// The category.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The place.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Category, place and message.
    pub fn into_parts(self) -> (ErrorKind, Place, String) {
        (self.kind, self.place, self.message)
    }
}
