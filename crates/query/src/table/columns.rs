//! Columns from rows.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, LargeBinaryBuilder, StringBuilder};
use datafusion::arrow::datatypes::{DataType, Field, SchemaRef};
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::error::Result;
use tabia_encoding::{ForWhite, Score};

pub(super) fn nullable(name: &str, of: DataType) -> Field {
    Field::new(name, of, true)
}

pub(super) fn list(of: DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(of, true)))
}

/// Whether a projection has columns that need a record's bytes.
pub(super) fn needs_key(schema: &SchemaRef) -> bool {
    schema.fields().iter().any(|field| matches!(field.name().as_str(), "key" | "record"))
}

/// A batch of the columns of a projection.
pub(super) fn record_batch(
    schema: &SchemaRef,
    rows: usize,
    column: impl Fn(&str) -> Result<ArrayRef>,
) -> Result<RecordBatch> {
    let columns = schema.fields().iter().map(|field| column(field.name())).collect::<Result<_>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}

pub(super) fn text_column<T: AsRef<str>>(values: impl Iterator<Item = Option<T>>) -> ArrayRef {
    let mut column = StringBuilder::new();
    for value in values {
        column.append_option(value);
    }
    Arc::new(column.finish())
}

pub(super) fn bytes_column<'a>(values: impl Iterator<Item = &'a [u8]>) -> ArrayRef {
    let mut column = LargeBinaryBuilder::new();
    for value in values {
        column.append_value(value);
    }
    Arc::new(column.finish())
}

/// The columns `cp` and `mate`, both from White's point of view; one of them is known.
pub(super) fn white_cp_and_mate(score: ForWhite<Score>) -> (Option<i32>, Option<i32>) {
    match score.0 {
        Score::Centipawns(cp) => (Some(cp), None),
        Score::Mate(moves) => (None, Some(moves.get())),
    }
}
