//! Running a checked graph.

use std::sync::Arc;

use prost::Message;
use rten::{Model, ModelOptions, NodeId, RunOptions, ThreadPool, Value, ValueOrView, ValueView};

use crate::onnx::check::{self, ElementKind, GraphInfo};
use crate::onnx::proto::ModelProto;
use crate::{Format, LoadError, LoadErrorKind};

/// The numbers of an input.
#[derive(Clone, Copy, Debug)]
pub enum InputData<'a> {
    /// Token ids, indices or truth values.
    Ids(&'a [i32]),
    /// Features.
    Values(&'a [f32]),
}

/// One input of a run: its numbers, last dimension fastest.
#[derive(Clone, Copy, Debug)]
pub struct InputTensor<'a> {
    /// The shape, with the number of positions as its first dimension.
    pub shape: &'a [usize],
    /// The numbers.
    pub data: InputData<'a>,
}

/// One output of a run: its numbers, last dimension fastest.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputTensor {
    /// The name in the graph.
    pub name: String,
    /// The shape, with the number of positions as its first dimension.
    pub shape: Vec<usize>,
    /// The numbers; whole numbers come as floats too.
    pub values: Vec<f32>,
}

/// Why a graph did not run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// Another number of inputs than the graph has.
    #[error("the network takes {expected} inputs, {given} were given")]
    InputCount {
        /// Inputs of the graph.
        expected: usize,
        /// Inputs given.
        given: usize,
    },
    /// An input of another shape than the graph declares.
    #[error("input {input:?} has shape {given:?}, the network takes {expected}")]
    Shape {
        /// The input's name.
        input: String,
        /// The declared shape, free dimensions as `?`.
        expected: String,
        /// The given shape.
        given: Vec<usize>,
    },
    /// An input whose numbers do not fill its shape.
    #[error("input {input:?} of shape {shape:?} was given {len} numbers")]
    Length {
        /// The input's name.
        input: String,
        /// The given shape.
        shape: Vec<usize>,
        /// The numbers given.
        len: usize,
    },
    /// Features for an input of ids, or ids that do not fit a byte input.
    #[error("input {input:?} takes {expected}")]
    Kind {
        /// The input's name.
        input: String,
        /// What it takes.
        expected: &'static str,
    },
    /// The runtime failed.
    #[error("the network could not be run: {0}")]
    Runtime(String),
    /// An output that is NaN or infinite.
    #[error("output {output:?} is not finite")]
    NotFinite {
        /// The output's name.
        output: String,
    },
}

/// A network loaded into memory, run by one thread.
pub struct Session {
    model: Model,
    info: GraphInfo,
    inputs: Vec<NodeId>,
    outputs: Vec<NodeId>,
    options: RunOptions,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("info", &self.info).finish_non_exhaustive()
    }
}

impl Session {
    /// Checks `model` and loads it.
    ///
    /// # Errors
    /// Those of [`check::check`], and what the runtime itself refuses.
    pub fn new(model: ModelProto) -> Result<Session, LoadError> {
        let info = check::check(&model)?;
        let encoded = model.encode_to_vec();
        drop(model);
        let refused = |message: String| LoadError::new(LoadErrorKind::Unsupported, Format::Onnx, message);
        let model = ModelOptions::with_all_ops().load(encoded).map_err(|e| refused(e.to_string()))?;
        let ids = |tensors: &[check::TensorInfo]| -> Result<Vec<NodeId>, LoadError> {
            let id = |t: &check::TensorInfo| model.node_id(&t.name).map_err(|e| refused(e.to_string()));
            tensors.iter().map(id).collect()
        };
        let (inputs, outputs) = (ids(&info.inputs)?, ids(&info.outputs)?);
        let pool = Arc::new(ThreadPool::with_num_threads(1));
        let options = RunOptions::default().with_thread_pool(Some(pool));
        Ok(Session { model, info, inputs, outputs, options })
    }

    /// What the graph takes and gives.
    pub fn info(&self) -> &GraphInfo {
        &self.info
    }

    /// Runs the graph on `inputs`, in the order of [`GraphInfo::inputs`].
    ///
    /// # Errors
    /// Names the input that does not fit, or the output that is not finite.
    pub fn run(&self, inputs: &[InputTensor<'_>]) -> Result<Vec<OutputTensor>, RunError> {
        if inputs.len() != self.inputs.len() {
            return Err(RunError::InputCount { expected: self.inputs.len(), given: inputs.len() });
        }
        let mut values: Vec<(NodeId, ValueOrView<'_>)> = Vec::new();
        for ((input, info), &id) in inputs.iter().zip(&self.info.inputs).zip(&self.inputs) {
            let value: ValueOrView<'_> = match (input.data, info.kind) {
                (InputData::Values(data), ElementKind::Float) => ValueView::from_shape(input.shape, data)
                    .map_err(|e| RunError::Runtime(e.to_string()))?
                    .into(),
                (InputData::Ids(data), ElementKind::Float) => {
                    let data: Vec<f32> = data.iter().map(|&id| id as f32).collect();
                    Value::from_shape(input.shape, data).map_err(|e| RunError::Runtime(e.to_string()))?.into()
                }
                (InputData::Ids(data), ElementKind::Int) => ValueView::from_shape(input.shape, data)
                    .map_err(|e| RunError::Runtime(e.to_string()))?
                    .into(),
                _ => return Err(RunError::Kind { input: info.name.clone(), expected: "another kind" }),
            };
            values.push((id, value));
        }
        let outputs = self
            .model
            .run(values, &self.outputs, Some(self.options.clone()))
            .map_err(|e| RunError::Runtime(e.to_string()))?;
        let mut results = Vec::new();
        for (value, info) in outputs.into_iter().zip(&self.info.outputs) {
            results.push(output_tensor(&info.name, value)?);
        }
        Ok(results)
    }
}

fn output_tensor(name: &str, value: Value) -> Result<OutputTensor, RunError> {
    use rten_tensor::Layout;
    let (shape, values) = match value {
        Value::FloatTensor(t) => (t.shape().to_vec(), t.into_data()),
        Value::Int32Tensor(t) => (t.shape().to_vec(), t.into_data().into_iter().map(|v| v as f32).collect()),
        Value::Int8Tensor(t) => (t.shape().to_vec(), t.into_data().into_iter().map(f32::from).collect()),
        Value::UInt8Tensor(t) => (t.shape().to_vec(), t.into_data().into_iter().map(f32::from).collect()),
        _ => return Err(RunError::Runtime(format!("output {name:?} is not a tensor"))),
    };
    if values.iter().any(|v: &f32| !v.is_finite()) {
        return Err(RunError::NotFinite { output: name.to_owned() });
    }
    Ok(OutputTensor { name: name.to_owned(), shape, values })
}
