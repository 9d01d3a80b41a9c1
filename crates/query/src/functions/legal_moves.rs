use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, ListBuilder, StringBuilder};
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::error::Result;
use shakmaty::{CastlingMode, Position};

use super::chess_function::{ChessFunction, positions};

/// `legal_moves(fen)`: every legal move in UCI notation, castling as the king's two-square move, in alphabetical order.
pub(super) fn legal_moves() -> ChessFunction {
    let list = DataType::List(Arc::new(Field::new_list_field(DataType::Utf8, true)));
    ChessFunction::new("legal_moves", [vec![DataType::Utf8]], list, compute)
}

fn compute(columns: &[ArrayRef]) -> Result<ArrayRef> {
    let mut lists = ListBuilder::new(StringBuilder::new());
    for position in positions(&columns[0]) {
        let Some(position) = position else {
            lists.append_null();
            continue;
        };
        let mut moves: Vec<String> = position
            .legal_moves()
            .iter()
            .map(|legal| legal.to_uci(CastlingMode::Standard).to_string())
            .collect();
        moves.sort_unstable();
        lists.append_value(moves.iter().map(Some));
    }
    Ok(Arc::new(lists.finish()))
}
