use std::fmt;

use tabia_onnx::{ErrorKind, GraphError, Place, TensorError};

/// The file formats [`Model::open`](crate::Model::open) reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Open Neural Network Exchange.
    Onnx,
    /// Hugging Face safetensors.
    Safetensors,
    /// TensorFlow Lite flatbuffers.
    Tflite,
    /// Leela Chess Zero weights, usually gzipped.
    Lc0,
    /// PyTorch checkpoints: a zip of a pickle and its storages.
    Torch,
    /// bullet's quantised weights, without a header.
    Bullet,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Onnx => "ONNX",
            Format::Safetensors => "safetensors",
            Format::Tflite => "TFLite",
            Format::Lc0 => "lc0",
            Format::Torch => "PyTorch",
            Format::Bullet => "bullet",
        })
    }
}

/// The category of a [`LoadError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LoadErrorKind {
    /// The file could not be read from disk.
    Io,
    /// No reader recognises the first bytes.
    UnknownFormat,
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
    /// The encoding or the heads of the network are unknown.
    UnknownNetwork,
    /// A valid network in a build that cannot run it.
    NoRuntime,
}

impl From<ErrorKind> for LoadErrorKind {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Malformed => LoadErrorKind::Malformed,
            ErrorKind::TooLarge => LoadErrorKind::TooLarge,
            ErrorKind::Shape => LoadErrorKind::Shape,
            ErrorKind::NotFinite => LoadErrorKind::NotFinite,
            ErrorKind::UnknownNetwork => LoadErrorKind::UnknownNetwork,
            ErrorKind::NoRuntime => LoadErrorKind::NoRuntime,
            ErrorKind::Unsupported => LoadErrorKind::Unsupported,
        }
    }
}

/// Why a model file could not be opened, and where the error is.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}{message}", Located(*format, place))]
pub struct LoadError {
    kind: LoadErrorKind,
    format: Option<Format>,
    place: Place,
    message: String,
}

/// The prefix of a message; empty before the format is known.
struct Located<'a>(Option<Format>, &'a Place);

impl fmt::Display for Located<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(format) = self.0 else { return Ok(()) };
        write!(f, "{format} file{}: ", self.1)
    }
}

impl LoadError {
    /// An error of `kind` in a file of `format`, at the whole file until a place is given.
    pub fn new(kind: LoadErrorKind, format: Format, message: impl Into<String>) -> Self {
        LoadError { kind, format: Some(format), place: Place::File, message: message.into() }
    }

    /// An error before the format is known.
    pub fn unformatted(kind: LoadErrorKind, message: impl Into<String>) -> Self {
        LoadError { kind, format: None, place: Place::File, message: message.into() }
    }

    /// An error in the tensors of a file of `format`.
    pub(crate) fn of_tensors(format: Format, error: TensorError) -> Self {
        let (kind, place, message) = error.into_parts();
        LoadError { kind: kind.into(), format: Some(format), place, message }
    }

    /// The same error at a byte offset.
    pub fn at_byte(self, offset: usize) -> Self {
        LoadError { place: Place::Byte(offset as u64), ..self }
    }

    /// The same error at a tensor.
    pub fn at_tensor(self, name: impl Into<String>) -> Self {
        LoadError { place: Place::Tensor(name.into()), ..self }
    }

    /// The same error at an operator.
    pub fn at_operator(self, name: impl Into<String>) -> Self {
        LoadError { place: Place::Operator(name.into()), ..self }
    }

    /// The category.
    pub fn kind(&self) -> LoadErrorKind {
        self.kind
    }

    /// The place.
    pub fn place(&self) -> &Place {
        &self.place
    }
}

/// Checks and runtimes take a file of any format as an ONNX graph.
impl From<GraphError> for LoadError {
    fn from(error: GraphError) -> Self {
        let (kind, place, message) = error.into_parts();
        LoadError { kind: kind.into(), format: Some(Format::Onnx), place, message }
    }
}
