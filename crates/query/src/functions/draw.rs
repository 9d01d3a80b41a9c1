use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, Float64Array};
use datafusion::arrow::datatypes::{DataType, UInt64Type};
use datafusion::error::Result;

use super::chess_function::ChessFunction;

/// `draw(key)`: a uniform number in [0, 1) that depends only on the key: `draw(key) < 0.1` selects the same tenth of the
/// records every time.
pub(super) fn draw() -> ChessFunction {
    fn compute(columns: &[ArrayRef]) -> Result<ArrayRef> {
        let keys = columns[0].as_primitive::<UInt64Type>();
        let draws =
            keys.iter().map(|key| key.map(|key| (scattered(key) >> 11) as f64 / (1_u64 << 53) as f64));
        Ok(Arc::new(draws.collect::<Float64Array>()))
    }
    ChessFunction::new("draw", [vec![DataType::UInt64]], DataType::Float64, compute)
}

/// The finaliser of MurmurHash3, so that draws are independent of the shard of a key and of its side of a split.
fn scattered(mut key: u64) -> u64 {
    key ^= key >> 33;
    key = key.wrapping_mul(0xff51_afd7_ed55_8ccd);
    key ^= key >> 33;
    key = key.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    key ^ (key >> 33)
}
