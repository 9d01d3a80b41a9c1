//! `tabia serve`, asked over HTTP as a page or a script would.
#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

mod arena;
mod explorer;
mod page;
mod runs;
mod server;
