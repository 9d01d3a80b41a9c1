//! Chess in SQL: groups, filters, joins and samples sets larger than memory, in one process or on many machines.
//!
//! | to find | look in |
//! |---|---|
//! | SQL with chess functions and tables, in bounded memory | [`Session`] |
//! | the functions, for other contexts | [`functions`](functions()) |
//! | output of query results | [`write_rows`], [`RowFormat`] |
//! | files as tables | [`TableSpec`], [`ChessTable`] |
//! | the plan that makes a set of records | [`build_plan`], [`write_batch`] |
//! | HumChess's training rows in Parquet | [`HumChessWriter`], [`humchess_rows_to_records`] |
//! | the same plans on many machines | [`cluster`] |
#![forbid(unsafe_code)]

mod build;
pub mod cluster;
pub mod functions;
mod humchess;
mod locked_folder;
mod memory;
mod rows;
mod session;
pub mod table;

pub use build::{BuildOptions, WriteError, Written, build_plan, share_of, write_batch};
pub use functions::{Functions, functions};
pub use humchess::{
    HumChessError, HumChessFault, HumChessRowFault, HumChessTotals, HumChessWriter, has_humchess_rows,
    humchess_rows_to_records,
};
pub use rows::{RowFormat, TABLE_ROWS, write_rows};
pub use session::{Resources, Session};
pub use table::{ChessTable, Reading, SourceReport, TableError, TableFile, TableKind, TableSpec};
