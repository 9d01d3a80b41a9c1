//! The Lichess evaluations as a Parquet table: fen, line, depth, knodes, cp, mate.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int32Type, Int64Type};
use datafusion::arrow::error::ArrowError;
use datafusion::parquet::arrow::ProjectionMask;
use datafusion::parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use datafusion::parquet::errors::{ParquetError, Result};
use tabia_data::{BytesRead, EvaluationRow, RowFault, evaluation_row};

use crate::humchess;

/// The required columns, in their order in a piece.
const COLUMNS: [(&str, DataType); 6] = [
    ("fen", DataType::Utf8),
    ("line", DataType::Utf8),
    ("depth", DataType::Int64),
    ("knodes", DataType::Int64),
    ("cp", DataType::Int32),
    ("mate", DataType::Int32),
];

/// Rows per piece.
const ROWS: usize = 8192;

/// Batches of the columns that are read.
pub(super) struct ParquetRows {
    reader: ParquetRecordBatchReader,
    progress: BytesRead,
    /// Approximate bytes per row on disk, and the remainder that was not counted yet.
    bytes_per_row: f64,
}

/// Opens a table of evaluations.
pub(super) fn open(path: &Path, progress: &BytesRead) -> Result<ParquetRows> {
    open_columns(path, progress, &COLUMNS.map(|(name, _)| name), &[])
}

/// Opens a table of HumChess's training rows.
pub(super) fn open_humchess(path: &Path, progress: &BytesRead) -> Result<ParquetRows> {
    open_columns(path, progress, &humchess::NEEDED, &["promo_id"])
}

/// Opens a table with these required and optional columns.
fn open_columns(path: &Path, progress: &BytesRead, needed: &[&str], welcome: &[&str]) -> Result<ParquetRows> {
    let file = File::open(path).map_err(|error| ParquetError::External(Box::new(error)))?;
    let bytes = file.metadata().map_or(0, |about| about.len());
    let builder = ParquetRecordBatchReaderBuilder::try_new(file)?;
    let names: Vec<&str> = builder.schema().fields().iter().map(|field| field.name().as_str()).collect();
    let missing: Vec<&str> = needed.iter().copied().filter(|name| !names.contains(name)).collect();
    if !missing.is_empty() {
        let what = format!("missing column {} (found {})", missing.join(", "), names.join(", "));
        return Err(ParquetError::General(what));
    }
    let mask = ProjectionMask::columns(builder.parquet_schema(), needed.iter().chain(welcome).copied());
    let rows = builder.metadata().file_metadata().num_rows().max(1);
    let reader = builder.with_projection(mask).with_batch_size(ROWS).build()?;
    Ok(ParquetRows { reader, progress: progress.clone(), bytes_per_row: bytes as f64 / rows as f64 })
}

impl Iterator for ParquetRows {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.reader.next()?;
        if let Ok(batch) = &batch {
            self.progress.add((batch.num_rows() as f64 * self.bytes_per_row) as usize);
        }
        Some(batch)
    }
}

/// Parses the rows of a piece, with their numbers in the piece.
pub(super) fn read(rows: &RecordBatch, mut each: impl FnMut(usize, Result<EvaluationRow, RowFault>)) {
    let column = |(name, of): &(&'static str, DataType)| -> Option<ArrayRef> {
        cast(rows.column_by_name(name)?, of).ok()
    };
    let columns: Option<Vec<ArrayRef>> = COLUMNS.iter().map(column).collect();
    let columns = columns.as_deref();
    let Some([fen, line, depth, knodes, cp, mate]) = columns else {
        (0..rows.num_rows()).for_each(|row| each(row, Err(RowFault::Missing("columns of numbers and text"))));
        return;
    };
    let text = |column: &Arc<dyn Array>, row: usize| -> Option<String> {
        column.is_valid(row).then(|| column.as_string::<i32>().value(row).to_owned())
    };
    let large = |column: &Arc<dyn Array>, row: usize| {
        column.is_valid(row).then(|| column.as_primitive::<Int64Type>().value(row))
    };
    let small = |column: &Arc<dyn Array>, row: usize| {
        column.is_valid(row).then(|| column.as_primitive::<Int32Type>().value(row))
    };
    for row in 0..rows.num_rows() {
        let parsed = || {
            let fen = text(fen, row).ok_or(RowFault::Missing("fen"))?;
            let line = text(line, row).ok_or(RowFault::NoLine)?;
            let depth = large(depth, row).ok_or(RowFault::Missing("depth"))?;
            let knodes = large(knodes, row).ok_or(RowFault::Missing("knodes"))?;
            evaluation_row(&fen, &line, depth, knodes, small(cp, row), small(mate, row))
        };
        each(row, parsed());
    }
}
