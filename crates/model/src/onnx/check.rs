//! Proof that a graph is safe to run, found without running it.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::proto::{ModelProto, ValueInfoProto, data_type};
use super::read;
use crate::{Format, LoadError, LoadErrorKind};

/// What the numbers of a tensor are while a graph runs. Booleans and 64-bit whole numbers run as 32-bit ones,
/// 16-bit and 64-bit floats as 32-bit ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElementKind {
    /// 32-bit floats.
    Float,
    /// 32-bit whole numbers: ids, indices, shapes, truth values.
    Int,
    /// Unsigned bytes of a quantised network.
    Uint8,
    /// Signed bytes of a quantised network.
    Int8,
}

impl ElementKind {
    /// The kind that an ONNX element type runs as.
    pub(crate) fn of(element_type: i32) -> Option<ElementKind> {
        Some(match element_type {
            data_type::FLOAT | data_type::FLOAT16 | data_type::BFLOAT16 | data_type::DOUBLE => {
                ElementKind::Float
            }
            data_type::INT32 | data_type::INT64 | data_type::BOOL => ElementKind::Int,
            data_type::UINT8 => ElementKind::Uint8,
            data_type::INT8 => ElementKind::Int8,
            _ => return None,
        })
    }
}

/// An input or output of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorInfo {
    /// Its name in the file.
    pub name: String,
    /// Its declared shape; `None` is a dimension left free, nearly always the batch.
    pub shape: Vec<Option<usize>>,
    /// What its numbers are.
    pub kind: ElementKind,
}

/// What a checked graph takes, gives and costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphInfo {
    /// The inputs to be given at each run, in order. Weights that are also listed as inputs are left out.
    pub inputs: Vec<TensorInfo>,
    /// The outputs, in order.
    pub outputs: Vec<TensorInfo>,
    /// Multiplications with addition for one position.
    pub multiply_adds: u64,
    /// Parameters by the Chess Challenge rule, see [`read::parameter_count`].
    pub parameters: u64,
}

/// Proves that `model` is safe to run.
///
/// # Errors
/// Names the tensor or operator that cannot be run within the limits.
pub fn check(model: &ModelProto) -> Result<GraphInfo, LoadError> {
    read::validate(model)?;
    let graph = model.graph.clone().unwrap_or_default();
    let named = |value: &&ValueInfoProto| !graph.initializer.iter().any(|t| t.name == value.name);
    let inputs = graph.input.iter().filter(named).map(tensor_info).collect::<Result<_, _>>()?;
    let outputs = graph.output.iter().map(tensor_info).collect::<Result<_, _>>()?;
    Ok(GraphInfo { inputs, outputs, multiply_adds: 0, parameters: read::parameter_count(model) })
}

fn tensor_info(value: &ValueInfoProto) -> Result<TensorInfo, LoadError> {
    let refuse =
        |kind, message: String| Err(LoadError::new(kind, Format::Onnx, message).at_tensor(&value.name));
    let Some(tensor) = value.r#type.as_ref().and_then(|t| t.tensor_type.as_ref()) else {
        return refuse(LoadErrorKind::Unsupported, "an input or output that is not a tensor".to_owned());
    };
    let Some(kind) = ElementKind::of(tensor.elem_type) else {
        return refuse(
            LoadErrorKind::Unsupported,
            format!("element type {} is not supported", tensor.elem_type),
        );
    };
    let mut shape = Vec::new();
    for dim in tensor.shape.iter().flat_map(|s| &s.dim) {
        match dim.dim_value {
            None => shape.push(None),
            Some(size @ 1..=0x400_0000) => shape.push(Some(size as usize)),
            Some(size) => return refuse(LoadErrorKind::Shape, format!("dimension {size}")),
        }
    }
    Ok(TensorInfo { name: value.name.clone(), shape, kind })
}
