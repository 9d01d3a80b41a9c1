use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, BinaryBuilder, StringArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::error::Result;
use shakmaty::packed::PackedSetup;
use shakmaty::{CastlingMode, Chess, EnPassantMode, FromSetup, Position};
use tabia_game::fen_of;

use super::chess_function::{ChessFunction, positions};

/// `pack_position(fen)`: shakmaty's packed form without move counters, at most 24 bytes. Equal positions have equal bytes.
pub(super) fn pack_position() -> ChessFunction {
    fn compute(columns: &[ArrayRef]) -> Result<ArrayRef> {
        let mut column = BinaryBuilder::new();
        for position in positions(&columns[0]) {
            column.append_option(position.and_then(|position| packed_bytes(&position)));
        }
        Ok(Arc::new(column.finish()))
    }
    ChessFunction::new("pack_position", [vec![DataType::Utf8]], DataType::Binary, compute)
}

/// `unpack_position(bytes)`: the FEN of a packed position, with move counters `0 1`.
pub(super) fn unpack_position() -> ChessFunction {
    fn compute(columns: &[ArrayRef]) -> Result<ArrayRef> {
        let packed = columns[0].as_binary::<i32>();
        let fens = packed.iter().map(|bytes| bytes.and_then(position).map(|position| fen_of(&position)));
        Ok(Arc::new(fens.collect::<StringArray>()))
    }
    ChessFunction::new("unpack_position", [vec![DataType::Binary]], DataType::Utf8, compute)
}

fn packed_bytes(position: &Chess) -> Option<Vec<u8>> {
    let setup = position.to_setup(EnPassantMode::Legal);
    PackedSetup::pack_standard_normalized(&setup).ok().map(|packed| packed.as_bytes().to_vec())
}

fn position(bytes: &[u8]) -> Option<Chess> {
    let setup = PackedSetup::try_from_bytes(bytes).ok()?.unpack_standard().ok()?;
    Chess::from_setup(setup, CastlingMode::Standard).ok()
}
