//! Chess in SQL: grouping, filtering, joining and sampling sets larger than memory, in one process or on many machines.
//!
//! | to find | look in |
//! |---|---|
//! | SQL with chess functions and tables, within bounds of memory | [`Session`] |
//! | the functions, for other contexts | [`functions`](functions()) |
//! | files as tables | [`TableSpec`], [`ChessTable`] |
//! | the plan that makes a set of records | [`build_plan`], [`write_batch`] |
#![forbid(unsafe_code)]

mod build;
pub mod functions;
mod session;
pub mod table;

pub use build::{BuildOptions, WriteError, Written, build_plan, write_batch};
pub use functions::{Functions, functions};
pub use session::{Resources, Session};
pub use table::{ChessTable, Pool, Reading, SourceReport, TableError, TableFile, TableKind, TableSpec};
