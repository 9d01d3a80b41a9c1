//! `tabia serve`, asked over HTTP as a page or a script would.

mod arena;
mod explorer;
mod page;
mod runs;
mod server;
