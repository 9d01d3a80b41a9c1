//! Who is stronger, and how sure are we.
#![forbid(unsafe_code)]

pub mod statistics;
