//! Dense networks over a flat board: linear layers with ReLU between them, the last one linear.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::Recognised;
use super::layers::Layers;
use crate::card::{LinearLayer, StateDict};
use crate::tensors::TensorMap;
use crate::{LoadError, LoadErrorKind};

/// Layers named as Rusty Chess does.
pub(super) const NUMBERED: &str = "an MLP of seq.linear-{i} layers";
/// Layers named as an `nn.Sequential` of linear layers and activations does, as in Learning a Chess Policy.
pub(super) const SEQUENTIAL: &str = "an MLP of net.{0,2,4,...} layers";

/// Layers named by a card.
pub(super) const LISTED: &str = "the MLP that the card lists";

/// Inputs and outputs that only one encoding and one vocabulary have.
const ENCODING_BY_WIDTH: [(usize, &str); 5] = [
    (768, "challenge-768"),
    (774, "rusty-774"),
    (837, "policy-837"),
    (902, "rusty-902"),
    (1540, "challenge-1540"),
];
const CANONICAL_MOVES: usize = 1968;

pub(super) fn fits_numbered(tensors: &TensorMap) -> bool {
    !numbers(tensors, "seq.linear-").is_empty()
}

pub(super) fn build_numbered(tensors: &mut TensorMap, _: &StateDict) -> Result<Recognised, LoadError> {
    let layers = numbers(tensors, "seq.linear-");
    build(
        tensors,
        &layers.iter().map(|i| Layer::of_module(&format!("seq.linear-{i}"), tensors)).collect::<Vec<_>>(),
    )
}

pub(super) fn fits_sequential(tensors: &TensorMap) -> bool {
    numbers(tensors, "net.").first() == Some(&0)
}

pub(super) fn build_sequential(tensors: &mut TensorMap, _: &StateDict) -> Result<Recognised, LoadError> {
    let layers = numbers(tensors, "net.");
    // Between two linear layers is exactly one module without weights, the activation.
    if let Some(odd) = layers.iter().enumerate().find_map(|(at, &i)| (i != 2 * at as u64).then_some(i)) {
        let message = format!("linear layers are expected at every second place, found {layers:?}");
        return Err(tensors
            .error(LoadErrorKind::UnknownNetwork, message)
            .at_tensor(format!("net.{odd}.weight")));
    }
    build(tensors, &layers.iter().map(|i| Layer::of_module(&format!("net.{i}"), tensors)).collect::<Vec<_>>())
}

/// The MLP whose layers a card lists.
pub(super) fn build_listed(tensors: &mut TensorMap, card: &StateDict) -> Result<Recognised, LoadError> {
    if card.norm_epsilon.is_some() {
        let message = "the card gives a norm_epsilon, which means nothing to an MLP";
        return Err(tensors.error(LoadErrorKind::UnknownNetwork, message));
    }
    let layer = |layer: &LinearLayer| match layer {
        LinearLayer::Module(name) => Layer::of_module(name, tensors),
        LinearLayer::Tensors { weight, bias } => {
            let known = |name: &String| tensors.unwrapped(name, "");
            Layer { weight: known(weight), bias: bias.as_ref().map(known) }
        }
    };
    let layers: Vec<Layer> = card.layers.iter().map(layer).collect();
    build(tensors, &layers)
}

/// The names of a linear layer's tensors.
struct Layer {
    weight: String,
    bias: Option<String>,
}

impl Layer {
    fn of_module(name: &str, tensors: &TensorMap) -> Layer {
        let name = tensors.unwrapped(name, ".weight");
        let bias = format!("{name}.bias");
        Layer { weight: format!("{name}.weight"), bias: tensors.contains(&bias).then_some(bias) }
    }
}

/// The layers `{prefix}{number}.weight`, in the order of their numbers.
fn numbers(tensors: &TensorMap, prefix: &str) -> Vec<u64> {
    let number = |name: &str| name.strip_prefix(prefix)?.strip_suffix(".weight")?.parse().ok();
    let mut numbers: Vec<u64> = tensors.names().filter_map(number).collect();
    numbers.sort_unstable();
    numbers
}

fn build(tensors: &mut TensorMap, layers: &[Layer]) -> Result<Recognised, LoadError> {
    let mut sizes = Vec::with_capacity(layers.len());
    for layer in layers {
        sizes.push(tensors.dims::<2>(&layer.weight)?);
    }
    let (Some(&[_, inputs]), Some(&[outputs, _])) = (sizes.first(), sizes.last()) else {
        return Err(tensors.error(LoadErrorKind::UnknownNetwork, "no layers"));
    };

    let mut net = Layers::new("mlp", tensors);
    let mut x = net.input("board", &[inputs]);
    let mut width = inputs;
    for (at, (layer, &[outputs, _])) in layers.iter().zip(&sizes).enumerate() {
        if at > 0 {
            x = net.relu(&x);
        }
        x = net.linear_of(&x, &layer.weight, layer.bias.as_deref(), outputs, width)?;
        width = outputs;
    }
    let name = match outputs {
        1 => "value",
        CANONICAL_MOVES => "policy",
        _ => "output",
    };
    net.output(&x, name, outputs);

    let widths = sizes.iter().map(|[outputs, _]| format!("-{outputs}"));
    Ok(Recognised {
        graph: net.finish(),
        apart: None,
        encoding: ENCODING_BY_WIDTH.iter().find(|(width, _)| *width == inputs).map(|(_, id)| *id),
        vocabulary: (outputs == CANONICAL_MOVES).then_some("canonical-1968"),
        architecture: format!("MLP {inputs}{}", widths.collect::<String>()),
    })
}
