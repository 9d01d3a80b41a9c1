//! Training runs as others see them: what a run's folder holds, how the run stands, and the page that plots runs side by side.
//!
//! | to find | look in |
//! |---|---|
//! | the runs under a folder | [`find`] |
//! | what a run is and how it ended | [`RunCard`] |
//! | whether it is going on | [`RunFolder::standing`] |
//! | its metrics, few enough to travel | [`RunFolder::first_metrics`], [`RunFolder::more_metrics`] |
//! | the page | [`page`] |
//!
//! The formats are in `docs/formats/run.md`. Nothing here knows how networks are trained: metrics are lines of JSON with numbers
//! that have names.
#![forbid(unsafe_code)]

mod card;
mod downsample;
mod find;
mod folder;
mod metrics;
pub mod page;

pub use card::{Ending, OpenRun, OpenRunError, RunCard, RunState};
pub use find::{FindError, FoundRun, find};
pub use folder::{Glance, RunFolder, Standing};
pub use metrics::{FileId, Metrics};
