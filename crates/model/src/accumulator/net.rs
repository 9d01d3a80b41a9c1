use tabia_encoding::SparseEncoding;

use super::{Linear, MlpGraph, block::blocks, first_layer::FirstLayer, layer::Layer};

/// A dense network ready to run: immutable weights, shared between any number of [`AccumulatorState`](super::AccumulatorState)s.
///
/// First-layer weights are whole numbers of a step chosen per neuron, as fine as the range of `i32` allows for 256
/// features; no sum is off by more than 1e-6 of its heaviest weights per feature. The other layers are `f32`.
pub struct AccumulatorNet {
    pub(super) encoding: &'static dyn SparseEncoding,
    pub(super) context: Option<ContextBranch>,
    pub(super) first: FirstLayer,
    pub(super) rest: Vec<Layer>,
}

/// What a two-input network does with its context.
pub(super) struct ContextBranch {
    pub(super) first: FirstLayer,
    /// The context's share of the second layer's sums, and that layer's bias.
    pub(super) share: Layer,
}

impl AccumulatorNet {
    /// Makes `graph` ready for the features of `encoding`. `None` if the encoding has another width or number
    /// of inputs than the network, or if a weight is not finite.
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

    /// How many numbers the network gives for a position.
    pub fn outputs(&self) -> usize {
        self.rest.last().map_or(self.first.outputs, |layer| layer.outputs)
    }

    /// Whether the outputs also depend on a second position, the context.
    pub fn takes_context(&self) -> bool {
        self.context.is_some()
    }

    /// Blocks of the widest layer, first layers included.
    pub(super) fn widest(&self) -> usize {
        let context = self.context.as_ref().map_or(0, |context| context.first.outputs);
        let outputs = self.rest.iter().map(|layer| layer.outputs);
        blocks(outputs.chain([context, self.first.outputs]).max().unwrap_or(0))
    }
}

/// A layer on two concatenated inputs as two layers whose sums add up; the first has the bias.
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
