//! Games and runs between scripted players.
#![expect(clippy::unwrap_used, reason = "what helps a test may end it too")]

mod books;
mod challenge;
mod games;
mod runs;
mod scripted;
