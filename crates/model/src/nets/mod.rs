//! Known architectures: a state dict of named tensors in, an ONNX graph out.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod canonical;

use tabia_nets::detect::{self, DetectError, Detected, Hints};
use tabia_nets::{LayerNames, Mlp, vocabulary};
use tabia_onnx::lower::take_graph;
use tabia_onnx::proto::ModelProto;
use tabia_onnx::tensors::TensorMap;
use tabia_onnx::{ErrorKind, TensorError};
use tabia_runtime::transformer::TransformerSession;

use crate::card::{LinearLayer, StateDict};
use crate::vocabulary::HeadMoves;

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
    pub(crate) detected: Detected,
}

impl WeightsApart {
    /// The graph with its weights.
    ///
    /// # Errors
    /// If one of them is not finite.
    pub(crate) fn into_graph(mut self) -> Result<ModelProto, TensorError> {
        take_graph(&self.detected, &mut self.tensors)
    }
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

/// The network of `tensors`, and the name of its architecture.
fn detect_in(tensors: &TensorMap, card: &StateDict) -> Result<(Detected, &'static str), TensorError> {
    let found = if card.layers.is_empty() {
        if !detect::DETECTORS.iter().any(|known| (known.fits)(tensors)) {
            let known: Vec<&str> = detect::DETECTORS.iter().map(|known| known.name).collect();
            let message = format!(
                "no known network has these tensors: {}; known are {}. A sidecar FILE.card.json may name the layers of an \
                 MLP: {{\"state_dict\": {{\"layers\": [\"fc1\", \"fc2\"]}}}}",
                tensors.first_names(),
                known.join(", ")
            );
            return Err(TensorError::new(ErrorKind::UnknownNetwork, message));
        }
        detect::detect(tensors, &Hints { norm_epsilon: card.norm_epsilon })
    } else if card.norm_epsilon.is_some() {
        let message = "the card gives a norm_epsilon, which an MLP does not have";
        return Err(TensorError::new(ErrorKind::UnknownNetwork, message));
    } else {
        detect_listed(tensors, card).map(|found| (found, "the MLP that the card lists"))
    };
    found.map_err(|e| tensors.detect_error(e))
}

/// Adds the moves of a `vocab.npy` to a state dict whose head has as many logits and no vocabulary; returns the network of the two.
///
/// # Errors
/// If the tensors are of no known network, or the moves are needed and damaged.
pub(crate) fn add_vocabulary(
    tensors: &mut TensorMap,
    card: &StateDict,
    moves: &[u8],
) -> Result<(Detected, &'static str), TensorError> {
    let found = detect_in(tensors, card)?;
    let Some(logits) = head_width(&found.0).filter(|_| !tensors.contains(vocabulary::TENSOR)) else {
        return Ok(found);
    };
    let moves = match HeadMoves::read(moves) {
        Ok(moves) if moves.are_of(logits) => moves,
        // It may belong to another network of the folder.
        Err(error) if found.0.vocabulary.is_none() => return Err(error),
        _ => return Ok(found),
    };
    moves.add_to(tensors)?;
    detect_in(tensors, card)
}

/// How many logits the policy head of a network has; none if it evaluates.
fn head_width(detected: &Detected) -> Option<usize> {
    let outputs = detected.net.outputs();
    outputs.policy.or(outputs.value).map(|output| output.width).filter(|width| *width > 1)
}

/// Builds the network that `tensors` are the weights of. `card` is what a card says of them, `moves` what a `vocab.npy` beside the
/// file says of its head.
///
/// # Errors
/// If no architecture has such names, or the one that has lacks a tensor, finds another shape, a number that is
/// not finite, or a tensor it has no use for; if the card says what means nothing to the architecture.
pub(crate) fn recognise(
    mut tensors: TensorMap,
    card: &StateDict,
    moves: Option<&[u8]>,
) -> Result<Recognised, TensorError> {
    tensors.strip_wrappers();
    canonical::canonicalise(&mut tensors)?;
    let (detected, name) = match moves {
        Some(moves) => add_vocabulary(&mut tensors, card, moves)?,
        None => detect_in(&tensors, card)?,
    };
    // A network with its own runtime: its graph gets its weights when it is run or converted.
    let has_runtime = TransformerSession::runs(&detected.net);
    let mut outline = has_runtime.then(|| tensors.outline());
    let used = outline.as_mut().unwrap_or(&mut tensors);
    let graph = take_graph(&detected, used)?;
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
