//! The networks that come inside the program.

use tabia_model::{LoadError, Model};

/// The file of the engine's evaluation; `None` as long as no network comes along and the hand-written one does the work.
///
/// With a network: `Some(include_bytes!("../../../models/value.safetensors"))`.
const VALUE: Option<&[u8]> = None;

/// The engine's evaluation, if there is one.
pub(crate) fn value() -> Option<Result<Model, LoadError>> {
    VALUE.map(Model::from_bytes)
}

/// The human player: predicts what a person of a given rating would play.
pub(crate) fn human() -> Result<Model, LoadError> {
    Model::from_bytes(include_bytes!("../../../models/human.safetensors"))
}
