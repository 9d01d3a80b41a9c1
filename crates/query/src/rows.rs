use std::io::Write;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, StringBuilder};
use datafusion::arrow::csv;
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::arrow::json::LineDelimitedWriter;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::arrow::util::pretty::pretty_format_batches_with_schema;
use datafusion::error::Result;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::parquet::arrow::ArrowWriter;
use futures::StreamExt;

/// Output format of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowFormat {
    /// A text table of at most [`TABLE_ROWS`] rows.
    Table,
    /// CSV with a header; lists and structs as text.
    Csv,
    /// JSON Lines.
    Json,
    /// Parquet.
    Parquet,
}

/// Maximum number of rows of a text table.
pub const TABLE_ROWS: usize = 1000;

/// Writes rows as they arrive.
///
/// # Errors
/// If the query fails or the rows cannot be written.
pub async fn write_rows(
    mut rows: SendableRecordBatchStream,
    format: RowFormat,
    out: &mut (dyn Write + Send),
) -> Result<()> {
    let schema = rows.schema();
    match format {
        RowFormat::Table => {
            let (mut shown, mut left) = (Vec::new(), TABLE_ROWS);
            let mut is_cut = false;
            while let Some(batch) = rows.next().await {
                let batch = batch?;
                is_cut = batch.num_rows() > left;
                shown.push(batch.slice(0, batch.num_rows().min(left)));
                left -= batch.num_rows().min(left);
                if is_cut {
                    break;
                }
            }
            writeln!(out, "{}", pretty_format_batches_with_schema(schema, &shown)?)?;
            if is_cut {
                writeln!(out, "and more rows: add a limit, or write all of them as csv, json or parquet")?;
            }
        }
        RowFormat::Csv => {
            let mut writer = csv::WriterBuilder::new().with_header(true).build(&mut *out);
            let mut has_head = false;
            while let Some(batch) = rows.next().await {
                writer.write(&flat(&batch?)?)?;
                has_head = true;
            }
            if !has_head {
                writer.write(&flat(&RecordBatch::new_empty(schema))?)?;
            }
        }
        RowFormat::Json => {
            let mut writer = LineDelimitedWriter::new(&mut *out);
            while let Some(batch) = rows.next().await {
                writer.write(&batch?)?;
            }
            writer.finish()?;
        }
        RowFormat::Parquet => {
            let mut writer = ArrowWriter::try_new(&mut *out, schema, None)?;
            while let Some(batch) = rows.next().await {
                writer.write(&batch?)?;
            }
            writer.close()?;
        }
    }
    out.flush()?;
    Ok(())
}

/// The rows with nested values as text.
fn flat(batch: &RecordBatch) -> Result<RecordBatch> {
    let options = FormatOptions::default();
    let mut fields = Vec::new();
    let mut columns: Vec<ArrayRef> = Vec::new();
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        if !field.data_type().is_nested() {
            fields.push(Arc::clone(field));
            columns.push(Arc::clone(column));
            continue;
        }
        let formatter = ArrayFormatter::try_new(column.as_ref(), &options)?;
        let mut texts = StringBuilder::new();
        for row in 0..column.len() {
            texts.append_option(column.is_valid(row).then(|| formatter.value(row).to_string()));
        }
        fields.push(Arc::new(Field::new(field.name(), DataType::Utf8, true)));
        columns.push(Arc::new(texts.finish()));
    }
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?)
}
