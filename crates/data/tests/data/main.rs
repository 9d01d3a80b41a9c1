//! The crate from outside: records, sets, streams and labels.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod labels;
mod random_games;
mod records;
mod sets;
mod streams;
