//! The only crate that learns: networks, losses, the loop, checkpoints, export.
