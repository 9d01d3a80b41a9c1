//! A bot against a server on this machine that speaks the documented API, and fails in all ways that servers and networks do.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod faults;
mod games;
mod seeds;
mod server;
mod table;
