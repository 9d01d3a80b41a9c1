//! Typed UCI messages.
//!
//! Parsing never panics and skips unknown tokens, as the protocol demands. Messages round-trip through their text.

mod command;
mod go;
mod info;
mod option;
mod position;
mod reply;
mod tokens;

pub use command::{Command, Registration};
pub use go::Go;
pub use info::{Bound, CurrentLine, Info, MoverScore, MoverWdl, ScoreInfo};
pub use option::{OptionError, OptionKind, OptionSpec, OptionValue};
pub(crate) use position::fen_of;
pub use position::{GameHistory, Position, PositionError, StartPosition};
pub use reply::{CheckStatus, Reply};

/// Error parsing a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// Empty line.
    #[error("empty line")]
    Empty,
    /// Unknown message.
    #[error("unknown message '{0}'")]
    Unknown(String),
    /// A required part is missing or invalid.
    #[error("{message}: {reason}")]
    Malformed {
        /// First token of the message.
        message: &'static str,
        /// Reason.
        reason: String,
    },
}

impl ParseError {
    fn malformed(message: &'static str, reason: impl Into<String>) -> ParseError {
        ParseError::Malformed { message, reason: reason.into() }
    }
}

#[cfg(test)]
mod round_trip;
