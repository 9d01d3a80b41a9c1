//! Training from shards to a model file, with tiny networks.

mod configs;
mod folder;
mod gradients;
mod learning;
mod runs;
mod sets;
