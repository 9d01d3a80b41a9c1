//! Known architectures: a state dict of named tensors in, an ONNX graph out.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod onnx;

use std::collections::HashMap;

use tabia_nets::detect::{self, DetectError, Detected, Hints, NamedTensors};
use tabia_nets::{LayerNames, Mlp, NetConfig};

pub use self::onnx::{LowerError, to_onnx};
use crate::card::{LinearLayer, StateDict};
use crate::onnx::proto::ModelProto;
use crate::tensors::{Tensor, TensorMap};
use crate::{LoadError, LoadErrorKind};

/// A state dict whose network is known by its names and shapes.
#[derive(Debug)]
pub(crate) struct Recognised {
    /// The network. Where the weights are apart, it has places for them.
    pub(crate) graph: ModelProto,
    /// The weights of a network that runs without its graph.
    pub(crate) apart: Option<WeightsApart>,
    /// The encoding of its input, where the shapes leave no doubt.
    pub(crate) encoding: Option<&'static str>,
    /// The move vocabulary of its policy, where it has one and the shapes leave no doubt.
    pub(crate) vocabulary: Option<&'static str>,
    /// The kind of network and its sizes, for people.
    pub(crate) architecture: String,
}

/// The weights of a network that has a runtime of its own, and what its graph is built from when it is wanted.
#[derive(Clone, Debug)]
pub(crate) struct WeightsApart {
    pub(crate) tensors: TensorMap,
    detected: Detected,
}

impl WeightsApart {
    /// The graph with its weights.
    ///
    /// # Errors
    /// If one of them is not finite.
    pub(crate) fn into_graph(mut self) -> Result<ModelProto, LoadError> {
        lower(&self.detected, &mut self.tensors)
    }
}

impl NamedTensors for TensorMap {
    fn names(&self) -> Vec<&str> {
        TensorMap::names(self).collect()
    }

    fn shape(&self, name: &str) -> Option<&[usize]> {
        TensorMap::shape(self, name)
    }

    fn values(&self, name: &str) -> Option<Vec<f32>> {
        self.iter().find(|(found, _)| *found == name).map(|(_, tensor)| tensor.data().to_vec())
    }
}

/// What a failed detection says of the file.
pub(crate) fn error(tensors: &TensorMap, error: DetectError) -> LoadError {
    let (kind, tensor, message) = match error {
        DetectError::Missing { tensor } => return tensors.missing(&tensor),
        DetectError::Shape { tensor, message } => (LoadErrorKind::Shape, Some(tensor), message),
        DetectError::Index { tensor, message } => (LoadErrorKind::Malformed, Some(tensor), message),
        DetectError::Unknown { tensor, message } => (LoadErrorKind::UnknownNetwork, tensor, message),
    };
    let error = tensors.error(kind, message);
    match tensor {
        Some(tensor) => error.at_tensor(tensor),
        None => error,
    }
}

/// Takes the network's tensors out of `tensors`, each checked for its shape, and writes them down as a graph.
fn lower(detected: &Detected, tensors: &mut TensorMap) -> Result<ModelProto, LoadError> {
    let Detected { net, table, inputs, .. } = detected;
    let mut taken: HashMap<&str, Tensor> = HashMap::with_capacity(table.entries().len());
    for entry in table.entries() {
        taken.insert(&entry.name, tensors.take(&entry.name, &entry.shape)?);
    }
    for buffer in table.buffers() {
        tensors.take(buffer.name, &buffer.shape)?;
    }
    to_onnx(net, table, inputs, |entry| taken.get(&*entry.name).map_or(&[][..], Tensor::data))
        .map_err(|e| tensors.error(LoadErrorKind::UnknownNetwork, e.to_string()))
}

/// The MLP whose layers a card lists.
fn detect_listed(tensors: &TensorMap, card: &StateDict) -> Result<Detected, DetectError> {
    let layer = |layer: &LinearLayer| match layer {
        LinearLayer::Module(name) => LayerNames::of_module(&tensors.unwrapped(name, ".weight"), tensors),
        LinearLayer::Tensors { weight, bias } => {
            let known = |name: &String| tensors.unwrapped(name, "");
            LayerNames { weight: known(weight), bias: bias.as_ref().map(known) }
        }
    };
    Mlp::detect(tensors, card.layers.iter().map(layer).collect())
}

/// Builds the network that `tensors` are the weights of. `card` is what a card says of them.
///
/// # Errors
/// If no architecture has such names, or the one that has lacks a tensor, finds another shape, a number that is
/// not finite, or a tensor it has no use for; if the card says what means nothing to the architecture.
pub(crate) fn recognise(mut tensors: TensorMap, card: &StateDict) -> Result<Recognised, LoadError> {
    tensors.strip_wrappers();
    let found = if card.layers.is_empty() {
        if !detect::DETECTORS.iter().any(|known| (known.fits)(&tensors)) {
            let known: Vec<&str> = detect::DETECTORS.iter().map(|known| known.name).collect();
            let message = format!(
                "no known network has these tensors: {}; known are {}. A sidecar FILE.card.json may name the layers of an \
                 MLP: {{\"state_dict\": {{\"layers\": [\"fc1\", \"fc2\"]}}}}",
                tensors.first_names(),
                known.join(", ")
            );
            return Err(tensors.error(LoadErrorKind::UnknownNetwork, message));
        }
        detect::detect(&tensors, &Hints { norm_epsilon: card.norm_epsilon })
    } else if card.norm_epsilon.is_some() {
        let message = "the card gives a norm_epsilon, which an MLP does not have";
        return Err(tensors.error(LoadErrorKind::UnknownNetwork, message));
    } else {
        detect_listed(&tensors, card).map(|found| (found, "the MLP that the card lists"))
    };
    let (detected, name) = found.map_err(|e| error(&tensors, e))?;
    // The human network has its own runtime: its graph gets its weights when it is run or converted.
    let has_runtime = matches!(detected.net, NetConfig::Human(_));
    let mut outline = has_runtime.then(|| tensors.outline());
    let used = outline.as_mut().unwrap_or(&mut tensors);
    let graph = lower(&detected, used)?;
    used.finish(name)?;
    Ok(Recognised {
        graph,
        encoding: detected.encoding,
        vocabulary: detected.vocabulary,
        architecture: detected.describe(),
        apart: has_runtime.then_some(WeightsApart { tensors, detected }),
    })
}

#[cfg(test)]
mod tests;
