//! What goes into a run of a network, what comes out, and why it may fail.

/// The numbers of an input.
#[derive(Clone, Copy, Debug)]
pub enum InputData<'a> {
    /// Token ids, indices or booleans.
    Ids(&'a [i32]),
    /// Features.
    Values(&'a [f32]),
}

impl<'a> InputData<'a> {
    #[cfg(feature = "rten")]
    pub(crate) fn len(&self) -> usize {
        match self {
            InputData::Ids(data) => data.len(),
            InputData::Values(data) => data.len(),
        }
    }

    #[cfg(feature = "rten")]
    pub(crate) fn split_at(self, middle: usize) -> (InputData<'a>, InputData<'a>) {
        match self {
            InputData::Ids(data) => {
                let (first, second) = data.split_at(middle);
                (InputData::Ids(first), InputData::Ids(second))
            }
            InputData::Values(data) => {
                let (first, second) = data.split_at(middle);
                (InputData::Values(first), InputData::Values(second))
            }
        }
    }
}

/// An input of a run, row-major.
#[derive(Clone, Copy, Debug)]
pub struct InputTensor<'a> {
    /// The shape, with the number of positions as its first dimension.
    pub shape: &'a [usize],
    /// The numbers.
    pub data: InputData<'a>,
}

/// An output of a run, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputTensor {
    /// The name in the graph.
    pub name: String,
    /// The shape, with the number of positions as its first dimension.
    pub shape: Vec<usize>,
    /// The values; integers are converted to floats.
    pub values: Vec<f32>,
}

/// Why a graph did not run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The wrong number of inputs.
    #[error("{given} inputs (expected {expected})")]
    InputCount {
        /// Inputs of the graph.
        expected: usize,
        /// Inputs given.
        given: usize,
    },
    /// An input of the wrong shape.
    #[error("input {input:?} has shape {given:?} (expected {expected})")]
    Shape {
        /// The input's name.
        input: String,
        /// The declared shape, free dimensions as `?`.
        expected: String,
        /// The given shape.
        given: Vec<usize>,
    },
    /// An input with the wrong number of values for its shape.
    #[error("input {input:?} of shape {shape:?} has {len} values")]
    Length {
        /// The input's name.
        input: String,
        /// The given shape.
        shape: Vec<usize>,
        /// The numbers given.
        len: usize,
    },
    /// An input of the wrong type.
    #[error("input {input:?} has the wrong type (expected {expected})")]
    Kind {
        /// The input's name.
        input: String,
        /// What it takes.
        expected: &'static str,
    },
    /// The runtime failed.
    #[error("runtime error: {0}")]
    Runtime(String),
    /// The outputs are computed elsewhere meanwhile.
    #[error("the network is being evaluated on another device: ask again with its outputs")]
    Deferred,
    /// An output that is NaN or infinite.
    #[error("output {output:?} is not finite")]
    NotFinite {
        /// The output's name.
        output: String,
    },
}
