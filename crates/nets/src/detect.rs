//! Which architecture the tensors of a file belong to.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use tabia_encoding::ElementKind;

use crate::{NetConfig, ParameterTable, human, humchess, maia2, maia3, mlp, nnue, policy_cnn};

/// The tensors of a file by name.
pub trait NamedTensors {
    /// All names.
    fn names(&self) -> Vec<&str>;

    /// The shape of a tensor, if there is one of this name.
    fn shape(&self, name: &str) -> Option<&[usize]>;

    /// The elements of a tensor, if there is one of this name. Asked for small index tables only.
    fn values(&self, name: &str) -> Option<Vec<f32>>;
}

/// Why the tensors of a file are not those of a known network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DetectError {
    /// A tensor of the architecture is not there.
    #[error("{tensor}: missing")]
    Missing {
        /// Its name.
        tensor: String,
    },
    /// A tensor has a shape that the architecture cannot have.
    #[error("{tensor}: {message}")]
    Shape {
        /// Its name.
        tensor: String,
        /// What was found and expected.
        message: String,
    },
    /// An index table has an entry out of range.
    #[error("{tensor}: {message}")]
    Index {
        /// Its name.
        tensor: String,
        /// What was found and expected.
        message: String,
    },
    /// No known network has such tensors.
    #[error("{message}")]
    Unknown {
        /// The tensor that shows it, if it is a single one.
        tensor: Option<String>,
        /// What was found and expected.
        message: String,
    },
}

impl DetectError {
    pub(crate) fn shape(tensor: &str, message: String) -> Self {
        DetectError::Shape { tensor: tensor.to_owned(), message }
    }

    pub(crate) fn unknown(tensor: Option<&str>, message: String) -> Self {
        DetectError::Unknown { tensor: tensor.map(str::to_owned), message }
    }
}

/// One input of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// Its name.
    pub name: &'static str,
    /// The shape of one position, without the batch.
    pub shape: Vec<usize>,
    /// Ids or numbers.
    pub kind: ElementKind,
}

/// A network detected from the tensors of a file.
#[derive(Clone, Debug)]
pub struct Detected {
    /// The network and its sizes.
    pub net: NetConfig,
    /// The parameters and index tables that the file has to have: those of `net`, less the optional ones it lacks.
    pub table: ParameterTable,
    /// The inputs of its graph.
    pub inputs: Vec<Input>,
    /// The encoding of its inputs, where the shapes leave no doubt.
    pub encoding: Option<&'static str>,
    /// The move vocabulary of its policy, where it has one and the shapes leave no doubt.
    pub vocabulary: Option<&'static str>,
}

impl Detected {
    /// A network whose inputs and vocabulary follow from its configuration.
    pub(crate) fn new(net: NetConfig, table: ParameterTable) -> Self {
        let known = tabia_encoding::encoding(net.encoding()).map(tabia_encoding::Encoding::id);
        Detected {
            inputs: net.inputs(),
            encoding: known.map(|id| id.0),
            vocabulary: net.vocabulary(),
            net,
            table,
        }
    }

    /// The architecture and its sizes, for model cards.
    pub fn describe(&self) -> String {
        self.net.describe(&self.table)
    }
}

/// What a model card says of a state dict, where tensors alone leave it open.
#[derive(Clone, Debug, Default)]
pub struct Hints {
    /// What RMS norms add to the mean square.
    pub norm_epsilon: Option<f32>,
}

/// How the files of one architecture are recognised.
pub struct Detector {
    /// The architecture, for messages.
    pub name: &'static str,
    /// Whether the names are those of this architecture.
    pub fits: fn(&dyn NamedTensors) -> bool,
    /// The network, or what is wrong with the tensors.
    pub detect: fn(&dyn NamedTensors, &Hints) -> Result<Detected, DetectError>,
}

/// The architectures that are recognised by the names of their tensors; the first that fits is taken.
pub const DETECTORS: &[Detector] = &[
    human::DETECTOR,
    humchess::DETECTOR,
    nnue::DETECTOR,
    policy_cnn::DETECTOR,
    maia3::DETECTOR,
    maia2::DETECTOR,
    mlp::NUMBERED,
    mlp::SEQUENTIAL,
];

/// The network that `tensors` are the parameters of, and the name of its architecture.
///
/// # Errors
/// If no architecture has such names, or a size cannot be read off the tensors.
pub fn detect(tensors: &dyn NamedTensors, hints: &Hints) -> Result<(Detected, &'static str), DetectError> {
    let Some(known) = DETECTORS.iter().find(|known| (known.fits)(tensors)) else {
        let known: Vec<&str> = DETECTORS.iter().map(|known| known.name).collect();
        let message = format!("no known architecture has these tensors (known: {})", known.join(", "));
        return Err(DetectError::unknown(None, message));
    };
    if hints.norm_epsilon.is_some() && known.name != humchess::DETECTOR.name {
        let message = format!("the card gives a norm_epsilon, which {} does not have", known.name);
        return Err(DetectError::unknown(None, message));
    }
    Ok(((known.detect)(tensors, hints)?, known.name))
}

pub(crate) fn contains(tensors: &dyn NamedTensors, name: &str) -> bool {
    tensors.shape(name).is_some()
}

/// The `N` sizes of a tensor, none of them zero.
///
/// # Errors
/// If the tensor is missing, empty or of another rank.
pub(crate) fn dims<const N: usize>(
    tensors: &dyn NamedTensors,
    name: &str,
) -> Result<[usize; N], DetectError> {
    let Some(shape) = tensors.shape(name) else {
        return Err(DetectError::Missing { tensor: name.to_owned() });
    };
    match <[usize; N]>::try_from(shape) {
        Ok(dims) if dims.iter().all(|&d| d > 0) => Ok(dims),
        _ => {
            Err(DetectError::shape(name, format!("has shape {shape:?}, but {N} sizes are needed, none zero")))
        }
    }
}

/// A table is a file without values: what can be detected from it can be detected from an exported file.
impl NamedTensors for ParameterTable {
    fn names(&self) -> Vec<&str> {
        let buffers = self.buffers().iter().map(|buffer| buffer.name);
        self.entries().iter().map(|entry| entry.name.as_str()).chain(buffers).collect()
    }

    fn shape(&self, name: &str) -> Option<&[usize]> {
        match self.get(name) {
            Some(entry) => Some(&entry.shape),
            None => self.buffers().iter().find(|buffer| buffer.name == name).map(|buffer| &buffer.shape[..]),
        }
    }

    fn values(&self, name: &str) -> Option<Vec<f32>> {
        Some(self.buffer(name)?.iter().map(|&index| index as f32).collect())
    }
}
