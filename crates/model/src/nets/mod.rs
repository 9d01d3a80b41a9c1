//! Known architectures: a state dict of named tensors in, an ONNX graph out.

mod attention;
mod humchess;
mod layers;
mod mlp;
mod perspective;
mod policy_cnn;
pub(crate) mod tabia_human;

use crate::card::StateDict;
use crate::onnx::proto::ModelProto;
use crate::tensors::TensorMap;
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

/// The weights of a network that has a runtime of its own, and how its graph is built when somebody wants one.
#[derive(Clone, Debug)]
pub(crate) struct WeightsApart {
    pub(crate) tensors: TensorMap,
    build: Build,
}

/// Builds a network from its tensors and what a card says of them.
type Build = fn(&mut TensorMap, &StateDict) -> Result<Recognised, LoadError>;

impl WeightsApart {
    /// The graph with its weights.
    ///
    /// # Errors
    /// If one of them is not finite.
    pub(crate) fn into_graph(mut self) -> Result<ModelProto, LoadError> {
        Ok((self.build)(&mut self.tensors, &StateDict::default())?.graph)
    }
}

/// When the graph of an architecture is filled with weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Filled {
    AtOnce,
    /// When somebody wants to run or convert it: it has a runtime of its own.
    Later,
}

/// One architecture: what it is called, how its state dicts are told from others, how its graph is built.
struct Architecture {
    name: &'static str,
    fits: fn(&TensorMap) -> bool,
    build: Build,
    filled: Filled,
}

const KNOWN: &[Architecture] = &[
    Architecture {
        name: tabia_human::NAME,
        fits: tabia_human::fits,
        build: tabia_human::build,
        filled: Filled::Later,
    },
    Architecture {
        name: humchess::NAME,
        fits: humchess::fits,
        build: humchess::build,
        filled: Filled::AtOnce,
    },
    Architecture {
        name: perspective::NAME,
        fits: perspective::fits,
        build: perspective::build,
        filled: Filled::AtOnce,
    },
    Architecture {
        name: policy_cnn::NAME,
        fits: policy_cnn::fits,
        build: policy_cnn::build,
        filled: Filled::AtOnce,
    },
    Architecture {
        name: mlp::NUMBERED,
        fits: mlp::fits_numbered,
        build: mlp::build_numbered,
        filled: Filled::AtOnce,
    },
    Architecture {
        name: mlp::SEQUENTIAL,
        fits: mlp::fits_sequential,
        build: mlp::build_sequential,
        filled: Filled::AtOnce,
    },
];

/// Builds the network that `tensors` are the weights of. `card` is what a card says of them.
///
/// # Errors
/// If no architecture has such names, or the one that has lacks a tensor, finds another shape, a number that is
/// not finite, or a tensor it has no use for; if the card says what means nothing to the architecture.
pub(crate) fn recognise(mut tensors: TensorMap, card: &StateDict) -> Result<Recognised, LoadError> {
    tensors.strip_wrappers();
    if !card.layers.is_empty() {
        let recognised = mlp::build_listed(&mut tensors, card)?;
        tensors.finish(mlp::LISTED)?;
        return Ok(recognised);
    }
    let Some(architecture) = KNOWN.iter().find(|known| (known.fits)(&tensors)) else {
        let known: Vec<&str> = KNOWN.iter().map(|known| known.name).collect();
        let message = format!(
            "no known network has these tensors: {}; known are {}. A sidecar FILE.card.json may name the layers of an \
             MLP: {{\"state_dict\": {{\"layers\": [\"fc1\", \"fc2\"]}}}}",
            tensors.first_names(),
            known.join(", ")
        );
        return Err(tensors.error(LoadErrorKind::UnknownNetwork, message));
    };
    if card.norm_epsilon.is_some() && architecture.name != humchess::NAME {
        let message = format!("the card gives a norm_epsilon, which means nothing to {}", architecture.name);
        return Err(tensors.error(LoadErrorKind::UnknownNetwork, message));
    }
    match architecture.filled {
        Filled::AtOnce => {
            let recognised = (architecture.build)(&mut tensors, card)?;
            tensors.finish(architecture.name)?;
            Ok(recognised)
        }
        Filled::Later => {
            let mut outline = tensors.outline();
            let recognised = (architecture.build)(&mut outline, card)?;
            outline.finish(architecture.name)?;
            let apart = Some(WeightsApart { tensors, build: architecture.build });
            Ok(Recognised { apart, ..recognised })
        }
    }
}

#[cfg(test)]
mod tests;
