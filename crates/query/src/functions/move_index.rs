use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, UInt16Array};
use datafusion::arrow::datatypes::DataType;
use datafusion::error::{DataFusionError, Result};
use shakmaty::Position;
use tabia_encoding::{MoveVocabulary, parse_uci, vocabularies, vocabulary};

use super::chess_function::{ChessFunction, positions, values};

const DEFAULT_VOCABULARY: &str = "canonical-1968";

/// `move_index(fen, uci [, vocabulary])`: the index of a legal move in a policy head, by default of `canonical-1968`.
///
/// A separate promotion head is not part of the index. NULL for an illegal move; an unknown vocabulary fails the query.
pub(super) fn move_index() -> ChessFunction {
    let (two, three) = (vec![DataType::Utf8; 2], vec![DataType::Utf8; 3]);
    ChessFunction::new("move_index", [two, three], DataType::UInt16, compute)
}

fn compute(columns: &[ArrayRef]) -> Result<ArrayRef> {
    let names: Box<dyn Iterator<Item = Option<&str>>> = match columns.get(2) {
        Some(column) => Box::new(values(column)),
        None => Box::new(std::iter::repeat(Some(DEFAULT_VOCABULARY))),
    };
    let mut known = named(DEFAULT_VOCABULARY)?;
    let rows = positions(&columns[0]).zip(values(&columns[1])).zip(names);
    rows.map(|((position, uci), name)| {
        let (Some(position), Some(uci), Some(name)) = (position, uci, name) else { return Ok(None) };
        if known.id().0 != name {
            known = named(name)?;
        }
        let legal = parse_uci(&position, uci).ok();
        Ok(legal.map(|legal| known.slot(position.turn(), legal).index.0))
    })
    .collect::<Result<UInt16Array>>()
    .map(|indices| Arc::new(indices) as ArrayRef)
}

fn named(name: &str) -> Result<&'static dyn MoveVocabulary> {
    vocabulary(name).ok_or_else(|| {
        let known: Vec<&str> = vocabularies().map(|vocabulary| vocabulary.id().0).collect();
        DataFusionError::Execution(format!(
            "move_index: no move vocabulary is called {name:?}; there are {}",
            known.join(", ")
        ))
    })
}
