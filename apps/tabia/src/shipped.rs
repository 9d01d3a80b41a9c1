//! The networks that come inside the program.

use tabia_model::{LoadError, Model};

/// The engine's evaluation.
pub(crate) fn value() -> Result<Model, LoadError> {
    Model::from_bytes(tabia_networks::VALUE)
}

/// The human player: predicts what a person of a given rating would play.
pub(crate) fn human() -> Result<Model, LoadError> {
    Model::from_bytes(tabia_networks::HUMAN)
}
