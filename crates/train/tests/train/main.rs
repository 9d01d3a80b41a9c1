//! Training from shards to a model file, with tiny networks.
#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

mod checkpoints;
mod children;
mod configs;
mod exports;
mod gpu;
mod gradients;
mod learning;
mod onnxruntime;
mod runs;
mod sets;
mod teachers;
