//! The Universal Chess Interface, both ends.
//!
//! - [`message`]: what is said, as types: a [`Command`](message::Command) to an engine, a [`Reply`](message::Reply)
//!   from it.
//! - [`serve()`]: makes anything that chooses moves, an [`Engine`], an engine for any client.
//! - [`client`]: drives any engine process: deadlines, restarts, no process left behind.
//!
//! Nothing here searches or knows what a network is: players and protocol meet in the app.
//!
//! ```
//! use tabia_uci::message::{Command, Reply};
//!
//! let command: Command = "position startpos moves e2e4".parse()?;
//! let Command::Position(position) = command else { panic!("it is one") };
//! assert_eq!(position.resolve()?.moves().len(), 1);
//!
//! let reply: Reply = "bestmove e7e5 ponder g1f3".parse()?;
//! assert_eq!(reply.to_string(), "bestmove e7e5 ponder g1f3");
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub mod client;
mod lines;
pub mod message;
mod serve;

pub use lines::Lines;
pub use serve::{Answer, Control, Engine, Task, serve};
