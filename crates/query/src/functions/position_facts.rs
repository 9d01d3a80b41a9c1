use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int32Array, StringArray, UInt8Array, UInt64Array};
use datafusion::arrow::datatypes::DataType;
use datafusion::error::Result;
use shakmaty::{Board, Chess, Color, Position, Role};
use tabia_data::EvaluationRecord;
use tabia_encoding::piece_value;

use super::chess_function::{ChessFunction, positions};

/// `fen_key(fen)`: the key of the position in evaluation sets, independent of move counters.
pub(super) fn fen_key() -> ChessFunction {
    fn compute(columns: &[ArrayRef]) -> Result<ArrayRef> {
        let key = |position| EvaluationRecord { position, sessions: Vec::new() }.key().ok();
        let keys = positions(&columns[0]).map(|position| position.and_then(key).map(|key| key.0));
        Ok(Arc::new(keys.collect::<UInt64Array>()))
    }
    ChessFunction::new("fen_key", [vec![DataType::Utf8]], DataType::UInt64, compute)
}

/// `material(fen)`: White's material minus Black's in centipawns, with P 100, N 320, B 330, R 500, Q 900.
pub(super) fn material() -> ChessFunction {
    fn compute(columns: &[ArrayRef]) -> Result<ArrayRef> {
        let balances = positions(&columns[0]).map(|position| position.map(|p| balance(p.board())));
        Ok(Arc::new(balances.collect::<Int32Array>()))
    }
    ChessFunction::new("material", [vec![DataType::Utf8]], DataType::Int32, compute)
}

fn balance(board: &Board) -> i32 {
    let worth = |color: Color| -> i32 {
        let counts = board.material_side(color);
        counts.zip_role().into_iter().map(|(role, count)| i32::from(count) * piece_value(role)).sum()
    };
    worth(Color::White) - worth(Color::Black)
}

/// `phase(fen)`: game phase from 24 (all pieces) to 0 (pawn endgame), with N 1, B 1, R 2, Q 4 for both sides.
///
/// Capped at 24 if pawns have promoted.
pub(super) fn phase() -> ChessFunction {
    fn compute(columns: &[ArrayRef]) -> Result<ArrayRef> {
        let phases = positions(&columns[0]).map(|position| position.map(|p| pieces_left(&p)));
        Ok(Arc::new(phases.collect::<UInt8Array>()))
    }
    ChessFunction::new("phase", [vec![DataType::Utf8]], DataType::UInt8, compute)
}

fn pieces_left(position: &Chess) -> u8 {
    let board = position.board();
    let count = |role: Role| board.by_role(role).count();
    let left = count(Role::Knight) + count(Role::Bishop) + 2 * count(Role::Rook) + 4 * count(Role::Queen);
    left.min(24) as u8
}

/// `side(fen)`: the side to move, `w` or `b`.
pub(super) fn side() -> ChessFunction {
    fn compute(columns: &[ArrayRef]) -> Result<ArrayRef> {
        let sides = positions(&columns[0]).map(|position| position.map(|p| p.turn().fold_wb("w", "b")));
        Ok(Arc::new(sides.collect::<StringArray>()))
    }
    ChessFunction::new("side", [vec![DataType::Utf8]], DataType::Utf8, compute)
}
