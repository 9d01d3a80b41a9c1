//! Games and runs between scripted players.

mod games;
mod runs;
mod scripted;
