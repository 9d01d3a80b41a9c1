//! TensorFlow Lite files: dense networks with one or two inputs.
//!
//! The weights may be 32-bit or 16-bit floats or 8-bit integers with scales; values floats or 8-bit integers. The page
//! `docs/formats/tflite.md` lists the operators and limits.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod constants;
mod convert;
mod flatbuffer;
mod flatbuffer_write;
mod operator_names;
mod schema;
#[cfg(test)]
mod sketch;
#[cfg(test)]
mod tests;
mod write;

use std::collections::BTreeMap;

use tabia_onnx::proto::ModelProto;

pub(crate) use self::write::write;
use crate::{Format, LoadError, LoadErrorKind};
use schema::Schema;

/// Maximum file size.
const MAX_FILE: usize = 256 << 20;
/// Maximum size of a metadata entry.
const MAX_METADATA: usize = 1 << 16;

/// A TFLite file as a graph, with its metadata.
#[derive(Clone, Debug)]
pub(crate) struct TfliteNetwork {
    /// The first subgraph. Inputs and outputs are in the file's order, under the names of its signature where it
    /// has one (`context`), otherwise those of its tensors (`serving_default_context:0`). The batch is free.
    pub(crate) graph: ModelProto,
    /// `description`; each metadata buffer that is readable text, by name; `tflite.signature`, the signature the
    /// names come from; `tflite.input.N` and `tflite.output.N`, the tensors' own names.
    pub(crate) metadata: BTreeMap<String, String>,
}

/// Reads a TFLite file.
///
/// # Errors
/// If the file is malformed or too large, has unsupported operators or types, or non-finite weights.
pub(crate) fn read(bytes: &[u8]) -> Result<TfliteNetwork, LoadError> {
    if bytes.len() > MAX_FILE {
        let message = format!("{} bytes (expected at most {MAX_FILE})", bytes.len());
        return Err(LoadError::new(LoadErrorKind::TooLarge, Format::Tflite, message));
    }
    let schema = Schema::open(bytes)?;
    let graph = convert::convert(&schema)?;
    Ok(TfliteNetwork { graph, metadata: metadata(&schema)? })
}

fn metadata(schema: &Schema<'_>) -> Result<BTreeMap<String, String>, LoadError> {
    let mut entries = BTreeMap::new();
    for (name, data) in schema.metadata()? {
        if let Some(text) = readable(data) {
            entries.insert(name.to_owned(), text.to_owned());
        }
    }
    let description = schema.description()?;
    if !description.is_empty() {
        entries.insert("description".to_owned(), description.to_owned());
    }
    let signature = schema.signature()?.key;
    if !signature.is_empty() {
        entries.insert("tflite.signature".to_owned(), signature.to_owned());
    }
    for (what, indices) in [("input", schema.inputs()?), ("output", schema.outputs()?)] {
        for (position, index) in indices.into_iter().enumerate() {
            entries.insert(format!("tflite.{what}.{position}"), schema.tensor(index)?.name.to_owned());
        }
    }
    Ok(entries)
}

/// The text of a metadata buffer without zero padding; `None` for large or binary ones.
fn readable(data: &[u8]) -> Option<&str> {
    if data.len() > MAX_METADATA {
        return None;
    }
    let text = std::str::from_utf8(data).ok()?.trim_end_matches('\0');
    let printable = |c: char| !c.is_control() || matches!(c, '\n' | '\r' | '\t');
    (!text.is_empty() && text.chars().all(printable)).then_some(text)
}
