//! Columns from rows.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, LargeBinaryBuilder, StringBuilder};
use datafusion::arrow::datatypes::{DataType, Field};
use tabia_encoding::{ForWhite, RatingPool, Score};

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

pub(super) fn pool_name(pool: RatingPool) -> &'static str {
    match pool {
        RatingPool::Unknown => "unknown",
        RatingPool::OverTheBoard => "over-the-board",
        RatingPool::Online => "online",
        RatingPool::Puzzle => "puzzle",
    }
}

/// The columns `cp` and `mate`, both from White's point of view; one of them is known.
pub(super) fn white_cp_and_mate(score: ForWhite<Score>) -> (Option<i32>, Option<i32>) {
    match score.0 {
        Score::Centipawns(cp) => (Some(cp), None),
        Score::Mate(moves) => (None, Some(moves.get())),
    }
}
