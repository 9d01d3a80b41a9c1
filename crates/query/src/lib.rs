//! Chess in SQL: grouping, filtering, joining and sampling sets larger than memory, in one process or on many machines.

mod functions;

pub use functions::{Functions, functions};
