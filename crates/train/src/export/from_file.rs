//! Weights of a model file, to be exported again.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;
use std::path::Path;

use tabia_model::{LoadError, Model, Unit};

use super::{ExportError, Precision, Provenance, compare};
use crate::graph_weights::is_npz;
use crate::initial_weights::{self, Read};
use crate::{InitialWeightsError, NetConfig};

/// Why the weights of a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FromFileError {
    /// It is not a model file, or its sidecar is not a card.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Its tensors are not the network's.
    #[error(transparent)]
    Weights(#[from] InitialWeightsError),
    /// The network could not be computed.
    #[error(transparent)]
    Compare(#[from] ExportError),
    /// The tensors fit, but it computes something else.
    #[error("the configuration describes another network: {0}")]
    OtherNetwork(String),
}

/// An arena of `net` from a model file or NumPy archive that `initial_weights` reads, and what its card, sidecar included,
/// says of it.
///
/// # Errors
/// If the file cannot be read, or does not compute what `net` does. That is not checked of an archive, which holds no graph,
/// nor if `net` has parameters with given initial values that the file lacks.
pub fn from_file(path: &Path, net: &NetConfig) -> Result<(Vec<f32>, Provenance), FromFileError> {
    let model = match Model::open(path) {
        Ok(model) => model,
        Err(_) if is_archive(path) => {
            return Ok((initial_weights::read(path, net)?.arena, Provenance::default()));
        }
        Err(error) => return Err(error.into()),
    };
    let takes = model.card().encoding.as_str();
    if takes != net.encoding() {
        let message = format!("it takes {}, the file {takes}", net.encoding());
        return Err(FromFileError::OtherNetwork(message));
    }
    let Read { arena, missing } = initial_weights::read(path, net)?;
    if !missing.is_empty() {
        let mut provenance = provenance(&model);
        provenance.held_out.clear();
        provenance.notes += &format!(" Added with their initial values: {}.", missing.join(", "));
        return Ok((arena, provenance));
    }
    let agreement = compare::compare(net, &arena, &model)?;
    // A file in 8 bits is computed in 8 bits where there is a runtime for that; its weights are read as floats.
    let in_eight_bits = Precision::Int8.to_string();
    let precision = match &model.card().rounding {
        Some(rounding) if rounding.weights == in_eight_bits => Precision::Int8,
        _ => Precision::F32,
    };
    if !agreement.within(precision) {
        return Err(FromFileError::OtherNetwork(agreement.to_string()));
    }
    Ok((arena, provenance(&model)))
}

/// A file that cannot be read is reported as a model file.
fn is_archive(path: &Path) -> bool {
    fs::read(path).is_ok_and(|bytes| is_npz(&bytes))
}

fn provenance(model: &Model) -> Provenance {
    let card = model.card();
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let exactness = card.rounding.as_ref().map_or(String::new(), |r| format!(" in {}", r.weights));
    let origin = format!("Written from the file with sha256 {}{exactness}.", model.sha256());
    let value_unit_cp = match card.value.as_ref().map(|head| head.unit) {
        Some(Unit::Centipawns(unit)) => Some(unit),
        Some(Unit::Expectation | Unit::Probability(_)) | None => None,
    };
    Provenance {
        name: text(&card.name),
        authors: text(&card.authors),
        data: text(&card.training_data),
        licence: text(&card.licence),
        training: card.training.clone(),
        held_out: card.held_out.clone(),
        value_unit_cp,
        notes: format!("{} {origin}", text(&card.notes)).trim_start().to_owned(),
    }
}
