use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int32Array, UInt8Array, UInt64Array};
use datafusion::arrow::datatypes::{DataType, Field, SchemaRef};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::error::{DataFusionError, Result};
use shakmaty::CastlingMode;
use tabia_data::{EvaluationBytes, EvaluationRow};
use tabia_game::fen_of;

use tabia_tables::columns::{
    bytes_column, needs_key, nullable, record_batch, text_column, white_cp_and_mate,
};

/// The columns of a table of evaluations: one row per line, with its first move. `cp` and `mate` are from White's point of
/// view.
pub(super) fn fields() -> Vec<Field> {
    vec![
        nullable("file", DataType::Utf8),
        nullable("fen", DataType::Utf8),
        nullable("move", DataType::Utf8),
        nullable("depth", DataType::UInt8),
        nullable("knodes", DataType::UInt64),
        nullable("cp", DataType::Int32),
        nullable("mate", DataType::Int32),
        nullable("key", DataType::UInt64),
        nullable("record", DataType::LargeBinary),
    ]
}

/// Lines of evaluations that become rows.
pub(super) struct EvaluationBatch {
    rows: Vec<Row>,
    keyed: bool,
}

struct Row {
    row: EvaluationRow,
    key: u64,
    bytes: Vec<u8>,
}

impl EvaluationBatch {
    pub(super) fn new(schema: &SchemaRef) -> EvaluationBatch {
        EvaluationBatch { rows: Vec::new(), keyed: needs_key(schema) }
    }

    pub(super) fn push(&mut self, row: EvaluationRow) {
        let (mut key, mut bytes) = (0, Vec::new());
        if self.keyed {
            // Cannot fail: rows are legal moves of positions of standard chess.
            let Ok(record) = row.to_bytes() else { return };
            let Ok(parts) = EvaluationBytes::parse(&record) else { return };
            (key, bytes) = (parts.key().0, record);
        }
        self.rows.push(Row { row, key, bytes });
    }

    pub(super) fn rows(&self) -> u64 {
        self.rows.len() as u64
    }

    pub(super) fn finish(self, schema: &SchemaRef, source: &str) -> Result<RecordBatch> {
        record_batch(schema, self.rows.len(), |name| self.column(name, source))
    }

    fn column(&self, name: &str, source: &str) -> Result<ArrayRef> {
        let rows = self.rows.iter();
        Ok(match name {
            "file" => text_column(rows.map(|_| Some(source))),
            "fen" => text_column(rows.map(|row| Some(fen_of(&row.row.position)))),
            "move" => {
                let uci = |row: &Row| row.row.line.first.to_uci(CastlingMode::Standard).to_string();
                text_column(rows.map(|row| Some(uci(row))))
            }
            "depth" => Arc::new(rows.map(|row| row.row.depth).collect::<UInt8Array>()),
            "knodes" => Arc::new(rows.map(|row| row.row.knodes).collect::<UInt64Array>()),
            "cp" => Arc::new(rows.map(|row| white_cp_and_mate(row.row.line.score).0).collect::<Int32Array>()),
            "mate" => {
                Arc::new(rows.map(|row| white_cp_and_mate(row.row.line.score).1).collect::<Int32Array>())
            }
            "key" => Arc::new(rows.map(|row| row.key).collect::<UInt64Array>()),
            "record" => bytes_column(rows.map(|row| row.bytes.as_slice())),
            _ => return Err(DataFusionError::Internal(format!("evaluations have no column {name}"))),
        })
    }
}
