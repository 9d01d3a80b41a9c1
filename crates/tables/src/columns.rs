//! Columns from rows.

use std::sync::Arc;

use arrow_array::builder::{LargeBinaryBuilder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, DataType, Field, SchemaRef};
use tabia_encoding::{ForWhite, Score};

/// A column that may hold NULL.
pub fn nullable(name: &str, of: DataType) -> Field {
    Field::new(name, of, true)
}

/// Lists whose items may be NULL.
pub fn list(of: DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(of, true)))
}

/// Whether a projection has columns that need a record's bytes.
pub fn needs_key(schema: &SchemaRef) -> bool {
    schema.fields().iter().any(|field| matches!(field.name().as_str(), "key" | "record"))
}

/// A batch of the columns of a projection.
///
/// # Errors
/// If `column` fails, or a column does not fit the schema.
pub fn record_batch<E: From<ArrowError>>(
    schema: &SchemaRef,
    rows: usize,
    column: impl Fn(&str) -> Result<ArrayRef, E>,
) -> Result<RecordBatch, E> {
    let columns = schema.fields().iter().map(|field| column(field.name())).collect::<Result<_, E>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}

/// A column of text.
pub fn text_column<T: AsRef<str>>(values: impl Iterator<Item = Option<T>>) -> ArrayRef {
    let mut column = StringBuilder::new();
    for value in values {
        column.append_option(value);
    }
    Arc::new(column.finish())
}

/// A column of bytes.
pub fn bytes_column<'a>(values: impl Iterator<Item = &'a [u8]>) -> ArrayRef {
    let mut column = LargeBinaryBuilder::new();
    for value in values {
        column.append_value(value);
    }
    Arc::new(column.finish())
}

/// The columns `cp` and `mate`, both from White's point of view; one of them is known.
pub fn white_cp_and_mate(score: ForWhite<Score>) -> (Option<i32>, Option<i32>) {
    match score.0 {
        Score::Centipawns(cp) => (Some(cp), None),
        Score::Mate(moves) => (None, Some(moves.get())),
    }
}
