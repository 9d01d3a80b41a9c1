//! `tabia-lab` as a process: its output, its files and its exit status.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod annotate;
#[cfg(feature = "query")]
mod build;
#[cfg(all(unix, feature = "query"))]
mod cluster;
#[cfg(all(unix, feature = "query"))]
mod disk_faults;
#[cfg(feature = "query")]
mod export;
mod head;
mod label;
mod label_sets;
mod mates;
mod program;
mod sets;
mod stats;
mod train_runs;
mod verify;
mod vocab;
