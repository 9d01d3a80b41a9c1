//! Training batches as plain columns: the inputs of an encoding, and what is known of each position.
//!
//! The order is that of a [`Stream`](tabia_data::Stream): shuffled by seed, the same for any number of threads, resumable.
//! Batches are made by threads ahead of their use, in buffers that are used again.
//!
//! | to find | look in |
//! |---|---|
//! | what is streamed, and as what | [`BatchOptions`] |
//! | batches in order | [`Batches`] |
//! | one batch | [`Lent`], [`Columns`] |
#![forbid(unsafe_code)]

mod batches;
mod columns;
mod lent;

pub use batches::{BatchOptions, Batches};
pub use columns::{Columns, MATE, NO_MOVE};
pub use lent::Lent;
