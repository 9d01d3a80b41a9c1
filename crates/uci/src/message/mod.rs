//! What is said: lines of text as typed messages, and back.
//!
//! Parsing never panics and passes over what it does not know, as the protocol demands; writing is exact. What was
//! parsed, written and parsed again is the same message.

mod command;
mod go;
mod info;
mod option;
mod position;
mod reply;
mod words;

pub use command::{Command, Registration};
pub use go::Go;
pub use info::{Bound, CurrentLine, Info, MoverScore, MoverWdl, ScoreInfo};
pub use option::{OptionFault, OptionKind, OptionSpec, OptionValue};
pub(crate) use position::fen_of;
pub use position::{GameSoFar, Position, PositionFault, Start};
pub use reply::{Check, Reply};

/// Why a line is no message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// Nothing is on the line.
    #[error("an empty line")]
    Blank,
    /// No word of the line is known.
    #[error("unknown: {0}")]
    Unknown(String),
    /// The message is known, but something it cannot do without is missing or wrong.
    #[error("{message}: {what}")]
    Malformed {
        /// The word the message begins with.
        message: &'static str,
        /// What is wrong.
        what: String,
    },
}

impl Unreadable {
    fn malformed(message: &'static str, what: impl Into<String>) -> Unreadable {
        Unreadable::Malformed { message, what: what.into() }
    }
}

#[cfg(test)]
mod round_trip;
