//! Reading ONNX files and tensor data.
//!
//! [`parse`] validates the message: tensor data matches the shapes, values are finite, nothing is stored outside the file, and
//! decoding stays within a memory budget.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use prost::Message;

use super::proto::{GraphProto, ModelProto, NodeProto, TensorProto, data_type};
use super::wire;
use crate::{ErrorKind, GraphError};

/// Maximum file size. Chess networks have a few kilobytes to hundreds of megabytes; a browser has less memory.
pub const MAX_FILE_BYTES: usize = if cfg!(target_pointer_width = "64") { 512 << 20 } else { 256 << 20 };

/// Maximum elements in all tensors of a model: 1 GiB as `f32`, 256 MiB in a browser. The largest of Leela's networks have 190
/// million.
pub const MAX_PARAMETERS: u64 = if cfg!(target_pointer_width = "64") { 256 << 20 } else { 64 << 20 };

/// Maximum elements in all tensors of a graph that was built in memory, from a file that has its own limit.
const MAX_BUILT: u64 = if cfg!(target_pointer_width = "64") { 1 << 32 } else { MAX_PARAMETERS };

/// Maximum rank of a tensor.
pub const MAX_RANK: usize = 8;

/// Reads a model from the bytes of an ONNX file.
///
/// # Errors
/// Names the byte offset of a malformed message, or the invalid tensor.
pub fn parse(bytes: &[u8]) -> Result<ModelProto, GraphError> {
    if bytes.len() > MAX_FILE_BYTES {
        return Err(too_large(format!("{} bytes (expected at most {MAX_FILE_BYTES})", bytes.len())));
    }
    wire::scan(bytes)?;
    let model = ModelProto::decode(bytes).map_err(|e| malformed(e.to_string()))?;
    validate_within(&model, MAX_PARAMETERS)?;
    Ok(model)
}

/// Validates every tensor of `model`, as [`parse`] does; for models built in memory.
pub(super) fn validate(model: &ModelProto) -> Result<(), GraphError> {
    validate_within(model, MAX_BUILT)
}

fn validate_within(model: &ModelProto, most: u64) -> Result<(), GraphError> {
    let graph = model.graph.as_ref().ok_or_else(|| malformed("no graph"))?;
    let mut total = 0u64;
    for (name, tensor) in tensors(graph) {
        let count = element_count(tensor).map_err(|e| e.at_tensor(name))?;
        total = total.saturating_add(count as u64);
        if total > most {
            let message = format!("{total} elements up to here (expected at most {most})");
            return Err(too_large(message).at_tensor(name));
        }
        validate_tensor(tensor, count).map_err(|e| e.at_tensor(name))?;
    }
    Ok(())
}

/// The initializers and the tensors in attributes, each with a name for messages.
fn tensors(graph: &GraphProto) -> impl Iterator<Item = (&str, &TensorProto)> {
    let initializers = graph.initializer.iter().map(|t| (t.name.as_str(), t));
    let inside = graph.node.iter().flat_map(|node| {
        let attributes = node.attribute.iter();
        attributes.flat_map(|a| a.t.iter().chain(&a.tensors)).map(|t| (value_name(node), t))
    });
    initializers.chain(inside)
}

fn value_name(node: &NodeProto) -> &str {
    node.output.first().map_or(node.name.as_str(), String::as_str)
}

/// How a tensor stores one element.
struct Layout {
    /// Bytes of an element in `raw_data`.
    width: usize,
    /// Elements in the typed field for this type.
    typed_len: fn(&TensorProto) -> usize,
}

fn layout(tensor: &TensorProto) -> Result<Layout, GraphError> {
    let floats: fn(&TensorProto) -> usize = |t| t.float_data.len();
    let ints: fn(&TensorProto) -> usize = |t| t.int32_data.len();
    let longs: fn(&TensorProto) -> usize = |t| t.int64_data.len();
    let doubles: fn(&TensorProto) -> usize = |t| t.double_data.len();
    let (width, typed_len) = match tensor.data_type {
        data_type::FLOAT => (4, floats),
        data_type::INT32 => (4, ints),
        data_type::UINT8 | data_type::INT8 | data_type::BOOL => (1, ints),
        data_type::FLOAT16 | data_type::BFLOAT16 => (2, ints),
        data_type::INT64 => (8, longs),
        data_type::DOUBLE => (8, doubles),
        other => {
            let message = format!(
                "unsupported element type {other} (expected FLOAT (1), UINT8 (2), INT8 (3), INT32 (6), \
                 INT64 (7), BOOL (9), FLOAT16 (10), DOUBLE (11) or BFLOAT16 (16))"
            );
            return Err(GraphError::new(ErrorKind::Unsupported, message));
        }
    };
    Ok(Layout { width, typed_len })
}

/// The number of elements of the shape of `tensor`.
pub(super) fn element_count(tensor: &TensorProto) -> Result<usize, GraphError> {
    if tensor.dims.len() > MAX_RANK {
        return Err(shape(format!("rank {} (expected at most {MAX_RANK})", tensor.dims.len())));
    }
    let mut count = 1u64;
    for &dim in &tensor.dims {
        let dim = u64::try_from(dim).map_err(|_| shape(format!("negative dimension {dim}")))?;
        // Also with a zero among the other dimensions.
        if dim > MAX_PARAMETERS {
            return Err(too_large(format!("dimension {dim} (expected at most {MAX_PARAMETERS})")));
        }
        count = count.saturating_mul(dim);
    }
    if count > MAX_BUILT {
        return Err(too_large(format!("shape {:?} has more than {MAX_BUILT} elements", tensor.dims)));
    }
    usize::try_from(count).map_err(|_| too_large("more elements than fit in memory"))
}

fn validate_tensor(tensor: &TensorProto, count: usize) -> Result<(), GraphError> {
    if tensor.data_location != 0 || !tensor.external_data.is_empty() {
        let location = tensor.external_data.iter().find(|entry| entry.key == "location");
        let file = location.map_or("", |entry| entry.value.as_str());
        let message = format!("data in an external file {file:?} (expected a single-file model)");
        return Err(GraphError::new(ErrorKind::Unsupported, message));
    }
    let layout = layout(tensor)?;
    let typed = (layout.typed_len)(tensor);
    if !tensor.raw_data.is_empty() {
        if tensor.raw_data.len() != count * layout.width {
            let (have, want) = (tensor.raw_data.len(), count * layout.width);
            return Err(shape(format!("{have} bytes of data (expected {want} for shape {:?})", tensor.dims)));
        }
        if typed != 0 {
            return Err(malformed(format!("both raw data and {typed} typed elements")));
        }
    } else if typed != count {
        return Err(shape(format!("{typed} elements (expected {count} for shape {:?})", tensor.dims)));
    }
    validate_finite(tensor, count)
}

/// Rejects NaN, and infinities in anything but a scalar: exporters use one to fill masks.
fn validate_finite(tensor: &TensorProto, count: usize) -> Result<(), GraphError> {
    let bad = match tensor.data_type {
        data_type::FLOAT | data_type::FLOAT16 | data_type::BFLOAT16 | data_type::DOUBLE => {
            let mut values = float_values(tensor);
            values.position(|v| v.is_nan() || (count > 1 && v.is_infinite()))
        }
        _ => None,
    };
    match bad {
        None => Ok(()),
        Some(at) => {
            let message = format!("element {at} is NaN or infinite");
            Err(GraphError::new(ErrorKind::NotFinite, message))
        }
    }
}

/// The elements of a FLOAT, FLOAT16, BFLOAT16 or DOUBLE tensor as `f32`.
///
/// # Errors
/// If the tensor has another type, or its data does not match its shape.
pub fn floats(tensor: &TensorProto) -> Result<Vec<f32>, GraphError> {
    let named = |e: GraphError| e.at_tensor(&tensor.name);
    let count = element_count(tensor).map_err(named)?;
    validate_tensor(tensor, count).map_err(named)?;
    let is_float = [data_type::FLOAT, data_type::FLOAT16, data_type::BFLOAT16, data_type::DOUBLE];
    if !is_float.contains(&tensor.data_type) {
        let message = format!("element type {} (expected floats)", tensor.data_type);
        return Err(named(GraphError::new(ErrorKind::Shape, message)));
    }
    Ok(float_values(tensor).collect())
}

/// The elements of an integer or boolean tensor.
///
/// # Errors
/// If the tensor has another type, or its data does not match its shape.
pub fn ints(tensor: &TensorProto) -> Result<Vec<i64>, GraphError> {
    let named = |e: GraphError| e.at_tensor(&tensor.name);
    let count = element_count(tensor).map_err(named)?;
    validate_tensor(tensor, count).map_err(named)?;
    let numbers: Vec<i64> = int_values(tensor).collect();
    if numbers.len() != count {
        let message = format!("element type {} (expected integers)", tensor.data_type);
        return Err(named(GraphError::new(ErrorKind::Shape, message)));
    }
    Ok(numbers)
}

/// The elements of a validated float tensor; empty for other types.
fn float_values(tensor: &TensorProto) -> Box<dyn Iterator<Item = f32> + '_> {
    let raw = &tensor.raw_data;
    let half = |bits: i32| half::f16::from_bits(bits as u16).to_f32();
    let brain = |bits: i32| half::bf16::from_bits(bits as u16).to_f32();
    match (tensor.data_type, raw.is_empty()) {
        (data_type::FLOAT, true) => Box::new(tensor.float_data.iter().copied()),
        (data_type::FLOAT, false) => Box::new(chunks(raw).map(f32::from_le_bytes)),
        (data_type::DOUBLE, true) => Box::new(tensor.double_data.iter().map(|&v| v as f32)),
        (data_type::DOUBLE, false) => Box::new(chunks(raw).map(|b| f64::from_le_bytes(b) as f32)),
        (data_type::FLOAT16, true) => Box::new(tensor.int32_data.iter().map(move |&v| half(v))),
        (data_type::FLOAT16, false) => Box::new(chunks(raw).map(|b| half::f16::from_le_bytes(b).to_f32())),
        (data_type::BFLOAT16, true) => Box::new(tensor.int32_data.iter().map(move |&v| brain(v))),
        (data_type::BFLOAT16, false) => Box::new(chunks(raw).map(|b| half::bf16::from_le_bytes(b).to_f32())),
        _ => Box::new(std::iter::empty()),
    }
}

/// The elements of a validated integer or boolean tensor; empty for other types.
pub(super) fn int_values(tensor: &TensorProto) -> Box<dyn Iterator<Item = i64> + '_> {
    let raw = &tensor.raw_data;
    match (tensor.data_type, raw.is_empty()) {
        (data_type::INT64, true) => Box::new(tensor.int64_data.iter().copied()),
        (data_type::INT64, false) => Box::new(chunks(raw).map(i64::from_le_bytes)),
        (data_type::INT32 | data_type::UINT8 | data_type::INT8 | data_type::BOOL, true) => {
            Box::new(tensor.int32_data.iter().map(|&v| i64::from(v)))
        }
        (data_type::INT32, false) => Box::new(chunks(raw).map(|b| i64::from(i32::from_le_bytes(b)))),
        (data_type::INT8, false) => Box::new(chunks(raw).map(|b| i64::from(i8::from_le_bytes(b)))),
        (data_type::UINT8 | data_type::BOOL, false) => Box::new(raw.iter().map(|&b| i64::from(b))),
        _ => Box::new(std::iter::empty()),
    }
}

/// The elements of any validated tensor.
pub(super) fn values(tensor: &TensorProto) -> Box<dyn Iterator<Item = f64> + '_> {
    let floats = float_values(tensor).map(f64::from);
    // Integers beyond 2^53 only occur as "to the end" limits, which are clamped.
    Box::new(floats.chain(int_values(tensor).map(|v| v as f64)))
}

fn chunks<const N: usize>(raw: &[u8]) -> impl Iterator<Item = [u8; N]> + '_ {
    raw.as_chunks::<N>().0.iter().copied()
}

/// The parameter count by the Chess Challenge's rule: the elements of all initializers and `Constant` tensors except scalars.
pub fn parameter_count(model: &ModelProto) -> u64 {
    let Some(graph) = &model.graph else { return 0 };
    let elements = |tensor: &TensorProto| -> u64 {
        if tensor.dims.is_empty() {
            return 0;
        }
        tensor.dims.iter().map(|&d| u64::try_from(d).unwrap_or(0)).fold(1, u64::saturating_mul)
    };
    let initializers = graph.initializer.iter().map(elements);
    let constants = graph.node.iter().filter(|node| node.op_type == "Constant");
    let constants = constants.flat_map(|node| &node.attribute).map(|attribute| match &attribute.t {
        Some(tensor) => elements(tensor),
        None => (attribute.ints.len() + attribute.floats.len()) as u64,
    });
    initializers.chain(constants).fold(0, u64::saturating_add)
}

fn malformed(message: impl Into<String>) -> GraphError {
    GraphError::new(ErrorKind::Malformed, message)
}

fn too_large(message: impl Into<String>) -> GraphError {
    GraphError::new(ErrorKind::TooLarge, message)
}

fn shape(message: impl Into<String>) -> GraphError {
    GraphError::new(ErrorKind::Shape, message)
}
