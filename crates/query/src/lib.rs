//! Chess in SQL: grouping, filtering, joining and sampling sets larger than memory, in one process or on many machines.

mod humchess;

pub use humchess::{
    HumChessError, HumChessFault, HumChessRowFault, HumChessTotals, HumChessWriter, has_humchess_rows,
    humchess_rows_to_records,
};
