//! Games as Arrow tables: the same columns in SQL and in data frames.
//!
//! | to find | look in |
//! |---|---|
//! | the columns of games | [`game_fields`], [`GameBatch`] |
//! | the games of files, parsed by threads | [`GameReader`] |
//! | columns from rows | [`columns`] |
#![forbid(unsafe_code)]

pub mod columns;
mod games;
mod reader;

pub use games::{GameBatch, game_fields};
pub use reader::{GameReader, GameTable, ReadError, ReadOptions};
