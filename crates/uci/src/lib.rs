//! The Universal Chess Interface (UCI): messages, server and client.
//!
//! - [`message`]: typed messages: a [`Command`](message::Command) to an engine, a [`Reply`](message::Reply) from it.
//! - [`serve()`]: serves an [`Engine`] to a UCI client.
//! - [`client`]: drives an engine process, with timeouts and restarts.
//!
//! This crate neither searches nor depends on networks.
//!
//! ```
//! use tabia_uci::message::{Command, Reply};
//!
//! let command: Command = "position startpos moves e2e4".parse()?;
//! let Command::Position(position) = command else { unreachable!() };
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
pub use serve::{BestMove, Control, Engine, SearchRequest, serve};
