//! Threads that wait to be asked for help, natively and in browsers.
//!
//! In a browser only JavaScript can start a thread: a worker that enters the module with its shared memory. So threads are not
//! started when there is work: [helpers](help) come and wait, and a [team](with_team) is as many of them as are free. Without any
//! helper, as in a module without shared memory, the caller does all of the work.

mod helper;
mod meeting;
mod team;

#[cfg(not(target_family = "wasm"))]
pub use helper::start_helpers;
pub use helper::{help, helpers};
pub use team::{Member, in_parallel, with_team};
