//! The networks that come inside the program.

use tabia_model::{LoadError, Model};

/// The human player: predicts what a person of a given rating would play.
pub(crate) fn human() -> Result<Model, LoadError> {
    Model::from_bytes(include_bytes!("../../../models/human.safetensors"))
}
