//! Training runs on disk: their cards, status and metrics, and the page that plots them.
//!
//! | to find | look in |
//! |---|---|
//! | runs below a folder | [`find`] |
//! | configuration and outcome of a run | [`RunCard`] |
//! | whether it is running | [`RunFolder::status`] |
//! | its metrics, downsampled | [`RunFolder::metrics`], [`RunFolder::metrics_since`] |
//! | the page | [`page`] |
//!
//! The formats are in `docs/formats/run.md`. This crate does not depend on the trainer: metrics are JSON lines of named
//! numbers.
#![forbid(unsafe_code)]

mod card;
mod downsample;
mod find;
mod folder;
mod metrics;
pub mod page;

pub use card::{OpenRun, OpenRunError, RunCard, RunOutcome, RunState};
pub use find::{FindError, FoundRun, find};
pub use folder::{RunFolder, RunStatus, RunSummary};
pub use metrics::{FileId, Metrics};
