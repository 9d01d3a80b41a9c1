use tabia_encoding::SparseEncoding;

use super::{Linear, MlpGraph, block::blocks, first_layer::FirstLayer, layer::Layer};

/// The weights of an MLP over sparse features, shared between [`AccumulatorState`](super::AccumulatorState)s.
///
/// First-layer weights are fixed point with a scale per neuron, as fine as the range of `i32` allows for 256 features; no sum
/// is off by more than 1e-6 of its largest weights per feature. The other layers are `f32`.
pub struct AccumulatorNet {
    pub(super) encoding: &'static dyn SparseEncoding,
    pub(super) context: Option<ContextBranch>,
    pub(super) first: FirstLayer,
    pub(super) rest: Vec<Layer>,
}

/// The context branch of a two-input network.
pub(super) struct ContextBranch {
    pub(super) first: FirstLayer,
    /// The context's part of the second layer, with its bias.
    pub(super) share: Layer,
}

impl AccumulatorNet {
    /// Prepares `graph` for the features of `encoding`. `None` if the inputs of encoding and network differ, or a weight is not
    /// finite.
    pub fn new(graph: &MlpGraph, encoding: &'static dyn SparseEncoding) -> Option<Self> {
        let narrow = |linear: &Linear| u16::try_from(linear.inputs).is_ok();
        let mut layers = [&graph.first].into_iter().chain(&graph.context_first).chain(&graph.rest);
        let position_input = usize::from(graph.context_first.is_some());
        if !layers.all(narrow) || graph.first.inputs != encoding.width() || encoding.input() != position_input
        {
            return None;
        }
        let mut rest = graph.rest.iter();
        let context = match &graph.context_first {
            None => None,
            Some(first) if first.inputs == encoding.width() => {
                let (share, own) = split(rest.next()?, first.outputs());
                let branch = ContextBranch { first: FirstLayer::new(first)?, share: Layer::new(&share)? };
                Some((branch, Layer::new(&own)?))
            }
            Some(_) => return None,
        };
        let (context, second) = context.unzip();
        let rest = second.map(Some).into_iter().chain(rest.map(Layer::new)).collect::<Option<Vec<_>>>()?;
        Some(AccumulatorNet { encoding, context, first: FirstLayer::new(&graph.first)?, rest })
    }

    /// Outputs per position.
    pub fn outputs(&self) -> usize {
        self.rest.last().map_or(self.first.outputs, |layer| layer.outputs)
    }

    /// Whether the network has a context input.
    pub fn takes_context(&self) -> bool {
        self.context.is_some()
    }

    /// Blocks of the widest layer.
    pub(super) fn widest(&self) -> usize {
        let context = self.context.as_ref().map_or(0, |context| context.first.outputs);
        let outputs = self.rest.iter().map(|layer| layer.outputs);
        blocks(outputs.chain([context, self.first.outputs]).max().unwrap_or(0))
    }
}

/// Splits a layer on two concatenated inputs into two whose sums add up; the first has the bias.
fn split(linear: &Linear, first_inputs: usize) -> (Linear, Linear) {
    let outputs = linear.outputs();
    let (first, second) = linear.weights.split_at(first_inputs * outputs);
    let share = Linear {
        inputs: first_inputs,
        weights: first.to_vec(),
        bias: linear.bias.clone(),
        activation: super::Activation::Identity,
    };
    let own = Linear {
        inputs: linear.inputs - first_inputs,
        weights: second.to_vec(),
        bias: vec![0.0; outputs],
        activation: linear.activation,
    };
    (share, own)
}
