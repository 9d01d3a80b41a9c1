//! Recognising MLPs in ONNX graphs.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use tabia_onnx::proto::{AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, data_type};
use tabia_onnx::read::{floats, ints};

use super::Activation;

/// Maximum operators in a chain; a longer walk is a cycle.
const MAX_CHAIN: usize = 1000;

/// A fully connected layer with its activation.
#[derive(Clone, Debug, PartialEq)]
pub struct Linear {
    /// The number of inputs.
    pub inputs: usize,
    /// `[inputs, outputs]`, row-major.
    pub weights: Vec<f32>,
    /// One per output.
    pub bias: Vec<f32>,
    /// The activation.
    pub activation: Activation,
}

impl Linear {
    /// The number of outputs.
    pub fn outputs(&self) -> usize {
        self.bias.len()
    }
}

/// An MLP, optionally with two first layers side by side on the context and the position.
#[derive(Clone, Debug, PartialEq)]
pub struct MlpGraph {
    /// The first layer on the context, input 0 of two.
    pub context_first: Option<Linear>,
    /// The first layer on the position.
    pub first: Linear,
    /// The other layers. With a context, the first takes its outputs and then the position's.
    pub rest: Vec<Linear>,
}

impl MlpGraph {
    /// Recognises `model` as an MLP; `None` if it is anything else.
    ///
    /// Supports `Gemm` and `MatMul` + `Add` with constant weights, the activations of [`Activation`], `Concat` of two inputs
    /// after one layer each, and operators that only rename or reshape.
    pub fn recognise(model: &ModelProto) -> Option<Self> {
        let graph = model.graph.as_ref()?;
        let [output] = graph.output.as_slice() else { return None };
        let walk = GraphWalk { graph };
        let chain = walk.chain_to(&output.name)?;
        let mut layers = chain.layers.into_iter();
        match chain.source {
            Source::Input(_) => {
                Some(MlpGraph { context_first: None, first: layers.next()?, rest: layers.collect() })
            }
            Source::Concat(names) => {
                let [one, other] = names.map(|name| walk.single_layer_to(name));
                let ((one_input, one), (other_input, other)) = (one?, other?);
                let mut rest: Vec<Linear> = layers.collect();
                let second = rest.first_mut()?;
                if second.inputs != one.outputs() + other.outputs() {
                    return None;
                }
                let (context_first, first) = match (one_input, other_input) {
                    (0, 1) => (one, other),
                    (1, 0) => {
                        let position_rows = one.outputs() * second.outputs();
                        second.weights.rotate_left(position_rows);
                        (other, one)
                    }
                    _ => return None,
                };
                Some(MlpGraph { context_first: Some(context_first), first, rest })
            }
        }
    }
}

impl MlpGraph {
    /// The same network with its two inputs swapped. A network with one input is unchanged.
    pub fn swapped(mut self) -> Self {
        if let Some(context) = self.context_first.take() {
            if let Some(second) = self.rest.first_mut() {
                let context_rows = context.outputs() * second.outputs();
                second.weights.rotate_left(context_rows);
            }
            self.context_first = Some(std::mem::replace(&mut self.first, context));
        }
        self
    }
}

/// Where a chain of layers begins.
enum Source<'a> {
    /// A graph input, by index.
    Input(usize),
    /// Two values side by side.
    Concat([&'a str; 2]),
}

struct Chain<'a> {
    source: Source<'a>,
    /// First layer first; each takes as many inputs as the one before has outputs.
    layers: Vec<Linear>,
}

/// Follows values back to their sources.
pub(super) struct GraphWalk<'a> {
    pub(super) graph: &'a GraphProto,
}

impl<'a> GraphWalk<'a> {
    pub(super) fn producer(&self, value: &str) -> Option<&'a NodeProto> {
        self.graph.node.iter().find(|node| node.output.iter().any(|output| output == value))
    }

    /// The index of a graph input, not counting weights listed as inputs.
    pub(super) fn input_place(&self, value: &str) -> Option<usize> {
        let is_weight = |name: &str| self.graph.initializer.iter().any(|tensor| tensor.name == name);
        let mut inputs = self.graph.input.iter().filter(|input| !is_weight(&input.name));
        inputs.position(|input| input.name == value)
    }

    fn chain_to(&self, value: &'a str) -> Option<Chain<'a>> {
        let mut layers = Vec::new();
        let mut activation = Activation::Identity;
        let mut value = value;
        for _ in 0..MAX_CHAIN {
            if let Some(place) = self.input_place(value) {
                return Chain::new(Source::Input(place), layers, activation);
            }
            let node = self.producer(value)?;
            if !node.domain.is_empty() && node.domain != "ai.onnx" {
                return None;
            }
            if node.op_type == "Concat" {
                let [one, other] = node.input.as_slice() else { return None };
                return match int_attribute(node, "axis") {
                    Some(axis) if axis > 0 || axis == -1 => {
                        Chain::new(Source::Concat([one, other]), layers, activation)
                    }
                    _ => None,
                };
            }
            if keeps_data(node) {
                value = node.input.first()?;
            } else if let Some(found) = self.activation(node) {
                if activation != Activation::Identity {
                    return None;
                }
                activation = found;
                value = node.input.first()?;
            } else {
                let (input, mut linear) = self.linear(node)?;
                linear.activation = std::mem::replace(&mut activation, Activation::Identity);
                layers.push(linear);
                value = input;
            }
        }
        None
    }

    /// The single layer between `value` and a graph input, with the index of the input.
    fn single_layer_to(&self, value: &'a str) -> Option<(usize, Linear)> {
        let chain = self.chain_to(value)?;
        match (chain.source, chain.layers.len()) {
            (Source::Input(place), 1) => Some((place, chain.layers.into_iter().next()?)),
            _ => None,
        }
    }

    pub(super) fn activation(&self, node: &NodeProto) -> Option<Activation> {
        let bound = |place: usize, name: &str| match node.input.get(place) {
            Some(value) if !value.is_empty() => match self.constant(value)?.values.as_slice() {
                [bound] => Some(Some(*bound)),
                _ => None,
            },
            _ => Some(attribute(node, name).and_then(|a| a.f)),
        };
        match node.op_type.as_str() {
            "Relu" => Some(Activation::Relu),
            "Sigmoid" => Some(Activation::Sigmoid),
            "Tanh" => Some(Activation::Tanh),
            "LeakyRelu" => {
                let slope = attribute(node, "alpha").map_or(Some(0.01), |a| a.f)?;
                slope.is_finite().then_some(Activation::LeakyRelu { slope })
            }
            "Clip" => {
                let low = bound(1, "min")?.unwrap_or(f32::MIN) + 0.0;
                let high = bound(2, "max")?.unwrap_or(f32::MAX) + 0.0;
                (low <= high).then_some(Activation::Clamp { low, high })
            }
            _ => None,
        }
    }

    /// A fully connected layer that ends in `node`, and the name of its input.
    pub(super) fn linear(&self, node: &'a NodeProto) -> Option<(&'a str, Linear)> {
        match (node.op_type.as_str(), node.input.as_slice()) {
            ("Gemm", [x, weights, bias @ ..]) => {
                let flag = |name| int_attribute(node, name).unwrap_or(0) != 0;
                let factor = |name| attribute(node, name).map_or(Some(1.0), |a| a.f);
                if flag("transA") {
                    return None;
                }
                let mut weights = self.constant(weights)?;
                if flag("transB") {
                    weights = weights.transposed()?;
                }
                let mut linear = weights.into_linear()?;
                let (alpha, beta) = (factor("alpha")?, factor("beta")?);
                linear.weights.iter_mut().for_each(|w| *w *= alpha);
                match bias {
                    [] => {}
                    [bias] if bias.is_empty() => {}
                    [bias] => linear.add_bias(&self.constant(bias)?, beta)?,
                    _ => return None,
                }
                Some((x, linear))
            }
            ("MatMul", [x, weights]) => Some((x, self.constant(weights)?.into_linear()?)),
            ("Add", [a, b]) => {
                let (bias, sums) = match (self.constant(a), self.constant(b)) {
                    (None, Some(bias)) => (bias, a),
                    (Some(bias), None) => (bias, b),
                    _ => return None,
                };
                let product = self.producer(sums).filter(|node| node.op_type == "MatMul")?;
                let (x, mut linear) = self.linear(product)?;
                linear.add_bias(&bias, 1.0)?;
                Some((x, linear))
            }
            _ => None,
        }
    }

    /// The value of an initializer or `Constant`, possibly through operators that keep or transpose it.
    fn constant(&self, value: &str) -> Option<Constant> {
        let mut value = value;
        let mut transposed = false;
        for _ in 0..MAX_CHAIN {
            let found = if let Some(tensor) = self.graph.initializer.iter().find(|t| t.name == value) {
                Constant::read(tensor)
            } else {
                let node = self.producer(value)?;
                match node.op_type.as_str() {
                    "Constant" => Constant::read(attribute(node, "value")?.t.as_ref()?),
                    "Identity" | "Cast" if keeps_data(node) => {
                        value = node.input.first()?;
                        continue;
                    }
                    "Transpose" if attribute(node, "perm").is_none_or(|a| a.ints == [1, 0]) => {
                        value = node.input.first()?;
                        transposed = !transposed;
                        continue;
                    }
                    _ => None,
                }
            }?;
            return if transposed { found.transposed() } else { Some(found) };
        }
        None
    }
}

impl GraphWalk<'_> {
    /// The shape and elements of an initializer of integers, of any type.
    pub(super) fn whole_numbers(&self, value: &str) -> Option<(Vec<usize>, Vec<i64>)> {
        let tensor = self.graph.initializer.iter().find(|tensor| tensor.name == value)?;
        let dims = tensor.dims.iter().map(|&d| usize::try_from(d).ok()).collect::<Option<Vec<_>>>()?;
        let numbers = match floats(tensor) {
            Ok(numbers) => {
                let whole = numbers.iter().all(|number| number.fract() == 0.0);
                whole.then(|| numbers.into_iter().map(|number| number as i64).collect())?
            }
            Err(_) => ints(tensor).ok()?,
        };
        Some((dims, numbers))
    }
}

impl<'a> Chain<'a> {
    /// `layers` is last first. `None` if widths do not match or the chain begins with an activation.
    fn new(source: Source<'a>, mut layers: Vec<Linear>, pending: Activation) -> Option<Self> {
        layers.reverse();
        let fits = layers.iter().zip(layers.iter().skip(1)).all(|(a, b)| a.outputs() == b.inputs);
        (fits && pending == Activation::Identity && !layers.is_empty()).then_some(Chain { source, layers })
    }
}

/// Whether an operator passes on the elements of its first input in order.
fn keeps_data(node: &NodeProto) -> bool {
    match node.op_type.as_str() {
        "Identity" | "Dropout" | "Flatten" | "Reshape" | "Squeeze" | "Unsqueeze" => true,
        "Cast" => matches!(
            int_attribute(node, "to").map(i32::try_from),
            Some(Ok(data_type::FLOAT | data_type::DOUBLE))
        ),
        _ => false,
    }
}

fn attribute<'a>(node: &'a NodeProto, name: &str) -> Option<&'a AttributeProto> {
    node.attribute.iter().find(|attribute| attribute.name == name)
}

pub(super) fn int_attribute(node: &NodeProto, name: &str) -> Option<i64> {
    attribute(node, name).and_then(|attribute| attribute.i)
}

/// A constant tensor.
struct Constant {
    dims: Vec<usize>,
    values: Vec<f32>,
}

impl Constant {
    /// `None` if the tensor is not float or its shape is invalid.
    fn read(tensor: &TensorProto) -> Option<Self> {
        let dims = tensor.dims.iter().map(|&d| usize::try_from(d).ok()).collect::<Option<Vec<_>>>()?;
        Some(Constant { dims, values: floats(tensor).ok()? })
    }

    fn transposed(self) -> Option<Self> {
        let &[rows, columns] = self.dims.as_slice() else { return None };
        let column = |c: usize| self.values.iter().copied().skip(c).step_by(columns.max(1));
        let values = (0..columns).flat_map(column).collect();
        Some(Constant { dims: vec![columns, rows], values })
    }

    /// A layer without bias; the weights are inputs by outputs.
    fn into_linear(self) -> Option<Linear> {
        let &[inputs, outputs] = self.dims.as_slice() else { return None };
        (inputs > 0 && outputs > 0).then(|| Linear {
            inputs,
            weights: self.values,
            bias: vec![0.0; outputs],
            activation: Activation::Identity,
        })
    }
}

impl Linear {
    /// Adds a scalar bias or one per output.
    fn add_bias(&mut self, bias: &Constant, factor: f32) -> Option<()> {
        let mut values = bias.values.iter();
        let fits = match bias.values.as_slice() {
            [_] => bias.dims.len() <= 2,
            values => values.len() == self.outputs() && bias.dims.last() == Some(&values.len()),
        };
        let only = if bias.values.len() == 1 { values.next() } else { None };
        for own in fits.then_some(&mut self.bias)? {
            *own += factor * only.or_else(|| values.next())?;
        }
        Some(())
    }
}
