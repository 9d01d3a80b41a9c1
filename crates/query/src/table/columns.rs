//! Columns from rows.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, LargeBinaryBuilder, StringBuilder};
use datafusion::arrow::datatypes::{DataType, Field};
use tabia_encoding::Score;

pub(super) fn nullable(name: &str, of: DataType) -> Field {
    Field::new(name, of, true)
}

pub(super) fn list(of: DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(of, true)))
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

/// The centipawns and the mate of a score, one of them known.
pub(super) fn cp_and_mate(score: Score) -> (Option<i32>, Option<i32>) {
    match score {
        Score::Centipawns(cp) => (Some(cp), None),
        Score::Mate(moves) => (None, Some(moves.get())),
    }
}
