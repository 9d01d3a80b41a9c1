//! The program as its users meet it: commands typed, text and files read, servers and engines asked.
#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

mod arena;
mod chess960;
#[cfg(unix)]
mod closed_pipes;
mod compete;
mod eval;
mod fetch;
#[cfg(target_os = "linux")]
mod install_engine;
mod lichess;
#[path = "../../../../crates/lichess/tests/lichess/server.rs"]
#[expect(dead_code, reason = "shared with the tests of lichess")]
mod lichess_server;
mod me;
mod networks;
mod process;
mod program;
mod review;
mod serve;
mod tables;
mod two_inputs;
mod uci;
