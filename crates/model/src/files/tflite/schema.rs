//! The tables of a TFLite file, as far as dense networks use them, from `schema.fbs`, version 3.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::flatbuffer::{Table, Tables, fault};
use super::operator_names;
use crate::{Format, LoadError, LoadErrorKind};

/// Limits on the work a hostile file can cause, far above any chess network.
const MAX_TENSORS: usize = 1 << 16;
const MAX_OPERATORS: usize = 1024;
const MAX_OPERANDS: usize = 64;
const MAX_RANK: usize = 8;
const MAX_SCALES: usize = 1 << 20;
const MAX_ENTRIES: usize = 256;
const MAX_TEXT: usize = 1 << 16;
/// Names are truncated to this many characters.
const LABEL_CHARS: usize = 96;

/// The first subgraph of a file.
#[derive(Debug)]
pub(super) struct Schema<'a> {
    model: Table<'a>,
    subgraph: Table<'a>,
    tensors: Tables<'a>,
    buffers: Tables<'a>,
    codes: Tables<'a>,
}

/// A tensor: a constant if it has data, else a run-time value.
#[derive(Clone, Debug)]
pub(super) struct Tensor<'a> {
    pub(super) index: usize,
    pub(super) name: &'a str,
    /// As stored, unchecked.
    pub(super) shape: Vec<i32>,
    /// Like `shape` with -1 for a free dimension; empty if none is free.
    pub(super) signature: Vec<i32>,
    pub(super) element: ElementType,
    pub(super) data: Option<&'a [u8]>,
    quantization: Option<Table<'a>>,
}

/// Quantisation parameters: `scale * (q - zero_point)`.
#[derive(Clone, Debug)]
pub(super) struct Quantization {
    pub(super) scales: Vec<f32>,
    pub(super) zero_points: Vec<i64>,
    /// The quantised dimension.
    pub(super) dimension: i32,
}

/// The type of a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ElementType(i8);

impl ElementType {
    pub(super) const FLOAT32: ElementType = ElementType(0);
    pub(super) const FLOAT16: ElementType = ElementType(1);
    pub(super) const INT32: ElementType = ElementType(2);
    pub(super) const UINT8: ElementType = ElementType(3);
    pub(super) const INT64: ElementType = ElementType(4);
    pub(super) const INT8: ElementType = ElementType(9);

    /// Its name in the schema.
    pub(super) fn name(self) -> String {
        #[rustfmt::skip]
        const NAMES: [&str; 18] = [
            "FLOAT32", "FLOAT16", "INT32", "UINT8", "INT64", "STRING", "BOOL", "INT16", "COMPLEX64",
            "INT8", "FLOAT64", "COMPLEX128", "UINT64", "RESOURCE", "VARIANT", "UINT32", "UINT16", "INT4",
        ];
        let known = usize::try_from(self.0).ok().and_then(|i| NAMES.get(i));
        known.map_or_else(|| format!("element type {}", self.0), |&name| name.to_owned())
    }
}

/// An operator.
#[derive(Clone, Debug)]
pub(super) struct Operator<'a> {
    /// Name and index, for messages.
    pub(super) label: String,
    pub(super) code: i32,
    /// Tensor indices; -1 for an omitted operand.
    pub(super) inputs: Vec<i32>,
    pub(super) outputs: Vec<i32>,
    options_type: u8,
    options: Option<Table<'a>>,
}

/// The signature: names of a subgraph's inputs and outputs.
#[derive(Clone, Debug, Default)]
pub(super) struct Signature<'a> {
    pub(super) key: &'a str,
    /// Tensor index and name.
    pub(super) inputs: Vec<(usize, &'a str)>,
    pub(super) outputs: Vec<(usize, &'a str)>,
}

impl<'a> Schema<'a> {
    /// The first subgraph of a file of schema version 3.
    pub(super) fn open(bytes: &'a [u8]) -> Result<Self, LoadError> {
        let model = Table::root(bytes, b"TFL3")?;
        let version: u32 = model.number(0, 0)?;
        if version != 3 {
            let message = format!("schema version {version} (expected 3)");
            return Err(LoadError::new(LoadErrorKind::Unsupported, Format::Tflite, message));
        }
        let subgraph = model.tables(2, MAX_ENTRIES)?.get(0)?;
        let subgraph = subgraph.ok_or_else(|| fault(model.offset(), "no subgraph"))?;
        Ok(Schema {
            model,
            subgraph,
            tensors: subgraph.tables(0, MAX_TENSORS)?,
            buffers: model.tables(4, 2 * MAX_TENSORS)?,
            codes: model.tables(1, MAX_TENSORS)?,
        })
    }

    /// Tensor indices of the inputs, in the file's order.
    pub(super) fn inputs(&self) -> Result<Vec<i32>, LoadError> {
        self.subgraph.numbers(1, MAX_OPERANDS)
    }

    /// Tensor indices of the outputs, in the file's order.
    pub(super) fn outputs(&self) -> Result<Vec<i32>, LoadError> {
        self.subgraph.numbers(2, MAX_OPERANDS)
    }

    /// The operators in the order they run.
    pub(super) fn operators(
        &self,
    ) -> Result<impl Iterator<Item = Result<Operator<'a>, LoadError>> + use<'a>, LoadError> {
        let tables = self.subgraph.tables(3, MAX_OPERATORS)?;
        let codes = self.codes;
        Ok(tables.iter().enumerate().map(move |(position, table)| operator(codes, table?, position)))
    }

    /// A tensor by index.
    pub(super) fn tensor(&self, index: i32) -> Result<Tensor<'a>, LoadError> {
        let missing = || {
            let message = format!("tensor index {index} out of range ({} tensors)", self.tensors.len());
            fault(self.subgraph.offset(), message)
        };
        let index = usize::try_from(index).map_err(|_| missing())?;
        let table = self.tensors.get(index)?.ok_or_else(missing)?;
        let name = label(table.text(3, MAX_TEXT)?.unwrap_or_default());
        let at = |error: LoadError| error.at_tensor(name);
        if table.number::<u8>(5, 0)? != 0 {
            return Err(at(unsupported("variable tensor")));
        }
        if table.table(6)?.is_some() {
            return Err(at(unsupported("sparse tensor")));
        }
        if table.number::<u32>(10, 0)? != 0 {
            return Err(at(unsupported("external data")));
        }
        Ok(Tensor {
            index,
            name,
            shape: table.numbers(0, MAX_RANK)?,
            signature: table.numbers(7, MAX_RANK)?,
            element: ElementType(table.number(1, 0)?),
            data: self.buffer(table.number(2, 0)?).map_err(at)?,
            quantization: table.table(4)?,
        })
    }

    /// The bytes of a buffer; `None` if empty, as for run-time values.
    fn buffer(&self, index: u32) -> Result<Option<&'a [u8]>, LoadError> {
        let missing = || {
            let message = format!("buffer index {index} out of range ({} buffers)", self.buffers.len());
            fault(self.model.offset(), message)
        };
        let table = self.buffers.get(index as usize)?.ok_or_else(missing)?;
        if table.number::<u64>(1, 0)? > 1 {
            return Err(unsupported("data outside the flatbuffer"));
        }
        Ok(table.blob(0)?.filter(|data| !data.is_empty()))
    }

    /// The signature of the first subgraph; empty if there is none.
    pub(super) fn signature(&self) -> Result<Signature<'a>, LoadError> {
        for table in self.model.tables(7, MAX_ENTRIES)?.iter() {
            let table = table?;
            if table.number::<u32>(4, 0)? == 0 {
                return Ok(Signature {
                    key: label(table.text(2, MAX_TEXT)?.unwrap_or_default()),
                    inputs: tensor_names(table.tables(0, MAX_OPERANDS)?)?,
                    outputs: tensor_names(table.tables(1, MAX_OPERANDS)?)?,
                });
            }
        }
        Ok(Signature::default())
    }

    /// The description of the model.
    pub(super) fn description(&self) -> Result<&'a str, LoadError> {
        Ok(self.model.text(3, MAX_TEXT)?.unwrap_or_default())
    }

    /// Metadata buffers.
    pub(super) fn metadata(&self) -> Result<Vec<(&'a str, &'a [u8])>, LoadError> {
        let mut entries = Vec::new();
        for table in self.model.tables(6, MAX_ENTRIES)?.iter() {
            let table = table?;
            let name = label(table.text(0, MAX_TEXT)?.unwrap_or_default());
            if let Some(data) = self.buffer(table.number(1, 0)?)? {
                entries.push((name, data));
            }
        }
        Ok(entries)
    }
}

impl Tensor<'_> {
    /// The quantisation parameters, if present.
    pub(super) fn quantization(&self) -> Result<Option<Quantization>, LoadError> {
        let Some(table) = self.quantization else { return Ok(None) };
        if table.number::<u8>(4, 0)? != 0 {
            return Err(unsupported("custom quantisation").at_tensor(self.name));
        }
        let scales = table.numbers(2, MAX_SCALES)?;
        let zero_points = table.numbers(3, MAX_SCALES)?;
        Ok(Some(Quantization { scales, zero_points, dimension: table.number(6, 0)? }))
    }
}

impl<'a> Operator<'a> {
    /// The operator's options, checked to be of type `kind`; `None` means defaults.
    pub(super) fn options(&self, kind: u8) -> Result<Option<Table<'a>>, LoadError> {
        match self.options_type {
            0 => Ok(None),
            stored if stored == kind => Ok(self.options),
            stored => {
                let message = format!("options of type {stored} (expected {kind})");
                Err(LoadError::new(LoadErrorKind::Malformed, Format::Tflite, message)
                    .at_operator(&self.label))
            }
        }
    }
}

fn operator<'a>(codes: Tables<'a>, table: Table<'a>, position: usize) -> Result<Operator<'a>, LoadError> {
    let index: u32 = table.number(0, 0)?;
    let code_table = codes.get(index as usize)?.ok_or_else(|| {
        let message = format!("operator code {index} out of range ({} codes)", codes.len());
        fault(table.offset(), message)
    })?;
    // Codes above 127 are only in the newer, wider field; older files only have the narrow one.
    let code = i32::from(code_table.number::<i8>(0, 0)?).max(code_table.number(3, 0)?);
    let name = match code_table.text(1, MAX_TEXT)? {
        Some(custom) if code == operator_names::CUSTOM => format!("custom operator {}", label(custom)),
        _ => operator_names::name(code),
    };
    Ok(Operator {
        label: format!("{name} (step {position})"),
        code,
        inputs: table.numbers(1, MAX_OPERANDS)?,
        outputs: table.numbers(2, MAX_OPERANDS)?,
        options_type: table.number(3, 0)?,
        options: table.table(4)?,
    })
}

fn tensor_names<'a>(maps: Tables<'a>) -> Result<Vec<(usize, &'a str)>, LoadError> {
    let mut names = Vec::new();
    for map in maps.iter() {
        let map = map?;
        names.push((map.number::<u32>(1, 0)? as usize, label(map.text(0, MAX_TEXT)?.unwrap_or_default())));
    }
    Ok(names)
}

/// A truncated name.
fn label(name: &str) -> &str {
    name.char_indices().nth(LABEL_CHARS).and_then(|(end, _)| name.get(..end)).unwrap_or(name)
}

/// A valid file with an unsupported feature.
pub(super) fn unsupported(message: impl Into<String>) -> LoadError {
    LoadError::new(LoadErrorKind::Unsupported, Format::Tflite, message)
}
