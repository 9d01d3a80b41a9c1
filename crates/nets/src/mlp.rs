//! Dense networks over a flat board: linear layers with ReLU between them, the last one linear.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use tabia_encoding::{ElementKind, MoveSubset};

use crate::detect::{DetectError, Detected, Detector, Hints, Input, NamedTensors, contains, dims};
use crate::parameters::{Decay, Initial, ParameterTable};
use crate::vocabulary::{self, CANONICAL_MOVES};
use crate::{Architecture, Heads, Layers, NetConfig, Output, Outputs};

/// Layers named as Rusty Chess does.
pub(crate) const NUMBERED: Detector = Detector {
    name: "an MLP of seq.linear-{i} layers",
    fits: |tensors| !numbers(tensors, "seq.linear-").is_empty(),
    detect: |tensors, _| {
        let names = numbers(tensors, "seq.linear-").into_iter().map(|i| format!("seq.linear-{i}"));
        Mlp::detect(tensors, names.map(|name| LayerNames::of_module(&name, tensors)).collect())
    },
};

/// Layers named as an `nn.Sequential` of linear layers and activations does, as in Learning a Chess Policy.
pub(crate) const SEQUENTIAL: Detector = Detector {
    name: "an MLP of net.{0,2,4,...} layers",
    fits: |tensors| numbers(tensors, "net.").first() == Some(&0),
    detect: detect_sequential,
};

/// The encoding of inputs that only one encoding has.
const ENCODING_BY_INPUTS: [(usize, &str); 5] = [
    (768, "challenge-768"),
    (774, "rusty-774"),
    (837, "policy-837"),
    (902, "rusty-902"),
    (1540, "challenge-1540"),
];

/// A dense network that evaluates a flat board, with the layer names of Rusty Chess.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ValueMlpConfig {
    /// The inputs: `challenge-768`, `rusty-774`, `rusty-902` or `challenge-1540`.
    pub encoding: String,
    /// Widths of the hidden layers.
    pub hidden: Vec<usize>,
}

/// The dense policy of Learning a Chess Policy: 837 inputs, 1968 moves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyMlpConfig {
    /// Widths of the hidden layers.
    pub hidden: Vec<usize>,
    /// The moves of the head, if they are not all 1968.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vocabulary: Option<MoveSubset>,
}

/// The parameter names of a linear layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerNames {
    /// Of the weight, `[outputs, inputs]`.
    pub weight: String,
    /// Of the bias, if it has one.
    pub bias: Option<String>,
}

impl LayerNames {
    fn new(module: &str) -> Self {
        LayerNames { weight: format!("{module}.weight"), bias: Some(format!("{module}.bias")) }
    }

    /// `{module}.weight` and, if there is one, `{module}.bias`.
    pub fn of_module(module: &str, tensors: &dyn NamedTensors) -> Self {
        let LayerNames { weight, bias } = LayerNames::new(module);
        LayerNames { weight, bias: bias.filter(|bias| contains(tensors, bias)) }
    }
}

/// Any dense network, its layers named in any way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mlp {
    inputs: usize,
    /// The layers and their outputs.
    layers: Vec<(LayerNames, usize)>,
    /// The moves of its outputs, if it is a policy that does not have all.
    vocabulary: Option<MoveSubset>,
}

impl Mlp {
    fn new(inputs: usize, hidden: &[usize], outputs: usize, module: impl Fn(usize) -> String) -> Self {
        let widths = hidden.iter().copied().chain([outputs]);
        let layers = widths.enumerate().map(|(at, width)| (LayerNames::new(&module(at)), width));
        Mlp { inputs, layers: layers.collect(), vocabulary: None }
    }

    fn is_policy(&self) -> bool {
        self.vocabulary.is_some() || self.outputs_width() == CANONICAL_MOVES
    }

    fn outputs_width(&self) -> usize {
        self.layers.last().map_or(0, |&(_, outputs)| outputs)
    }

    /// The network of these layers.
    ///
    /// # Errors
    /// If there are none, a tensor is not there, used twice or of another rank.
    pub fn detect(tensors: &dyn NamedTensors, names: Vec<LayerNames>) -> Result<Detected, DetectError> {
        let mut seen = HashSet::new();
        let all = names.iter().flat_map(|names| [Some(&names.weight), names.bias.as_ref()]).flatten();
        if let Some(twice) = all.into_iter().find(|name| !seen.insert(*name)) {
            return Err(DetectError::Missing { tensor: twice.clone() });
        }
        let mut inputs = None;
        let mut layers = Vec::with_capacity(names.len());
        for names in names {
            let [outputs, width] = dims(tensors, &names.weight)?;
            inputs.get_or_insert(width);
            layers.push((names, outputs));
        }
        let Some(inputs) = inputs else {
            return Err(DetectError::unknown(None, "no layers".to_owned()));
        };
        let mut mlp = Mlp { inputs, layers, vocabulary: None };
        let known = vocabulary::detect(tensors, mlp.outputs_width())?;
        mlp.vocabulary = known.as_ref().map(|(subset, _)| *subset);
        let mut table = mlp.table();
        if let Some((_, indices)) = known {
            table.set_buffer(vocabulary::TENSOR, indices);
        }
        Ok(Detected::new(NetConfig::Mlp(mlp), table))
    }
}

fn detect_sequential(tensors: &dyn NamedTensors, _: &Hints) -> Result<Detected, DetectError> {
    let layers = numbers(tensors, "net.");
    // Between two linear layers is exactly one module without weights, the activation.
    if let Some(odd) = layers.iter().enumerate().find_map(|(at, &i)| (i != 2 * at as u64).then_some(i)) {
        let message = format!("linear layers are expected at every second place, found {layers:?}");
        return Err(DetectError::unknown(Some(&format!("net.{odd}.weight")), message));
    }
    Mlp::detect(tensors, layers.iter().map(|i| LayerNames::of_module(&format!("net.{i}"), tensors)).collect())
}

/// The layers `{prefix}{number}.weight`, in the order of their numbers.
fn numbers(tensors: &dyn NamedTensors, prefix: &str) -> Vec<u64> {
    let number = |name: &str| name.strip_prefix(prefix)?.strip_suffix(".weight")?.parse().ok();
    let mut numbers: Vec<u64> = tensors.names().into_iter().filter_map(number).collect();
    numbers.sort_unstable();
    numbers
}

impl Architecture for Mlp {
    fn graph_name(&self) -> &'static str {
        "mlp"
    }

    fn encoding(&self) -> &str {
        let known = ENCODING_BY_INPUTS.iter().find(|(inputs, _)| *inputs == self.inputs);
        known.map_or("", |(_, id)| id)
    }

    fn inputs(&self) -> Vec<Input> {
        vec![Input { name: "board", shape: vec![self.inputs], kind: ElementKind::Value }]
    }

    fn vocabulary(&self) -> Option<&'static str> {
        self.is_policy().then_some("canonical-1968")
    }

    fn check(&self) -> Result<(), String> {
        let zero = self.layers.iter().any(|&(_, outputs)| outputs == 0);
        if zero { Err("has a layer of width zero".to_owned()) } else { Ok(()) }
    }

    fn table(&self) -> ParameterTable {
        let mut table = ParameterTable::new();
        let mut width = self.inputs;
        for (at, (names, outputs)) in self.layers.iter().enumerate() {
            let last = at + 1 == self.layers.len();
            // About 32 of a board's inputs are set, so the first layer sums over those alone.
            let active = if at == 0 { width.min(32) } else { width };
            // The output starts near zero: nothing is known yet.
            let gain = if last { 0.1 } else { 2.0 };
            let initial = Initial::Normal((gain / active as f32).sqrt());
            // The body is what lies between the first layer, an embedding of the board, and the head.
            if at > 0 && !last {
                table.push_body(names.weight.as_str(), [*outputs, width], initial, 1);
            } else {
                table.push(names.weight.as_str(), &[*outputs, width], initial, Decay::Decayed);
            }
            if let Some(bias) = &names.bias {
                table.push(bias.as_str(), &[*outputs], Initial::Zeros, Decay::Exempt);
            }
            width = *outputs;
        }
        if let Some(subset) = &self.vocabulary {
            vocabulary::add(&mut table, subset);
        }
        table
    }

    fn forward<L: Layers>(&self, net: &mut L) -> Result<Heads<L::Value>, L::Error> {
        let mut x = net.input(0)?;
        for (at, (names, _)) in self.layers.iter().enumerate() {
            if at > 0 {
                x = net.relu(&x)?;
            }
            x = net.linear_of(&x, &names.weight, names.bias.as_deref())?;
        }
        Ok(match self.vocabulary() {
            Some(_) => Heads { policy: Some(vocabulary::widen(net, x)?), ..Heads::default() },
            None => Heads { value: Some(x), ..Heads::default() },
        })
    }

    fn outputs(&self) -> Outputs {
        match self.outputs_width() {
            _ if self.is_policy() => Outputs::policy(CANONICAL_MOVES),
            1 => Outputs::value(),
            width => Outputs { value: Some(Output { name: "output", width }), ..Outputs::default() },
        }
    }

    fn describe(&self, _: &ParameterTable) -> String {
        let widths = self.layers.iter().map(|(_, outputs)| format!("-{outputs}"));
        format!("MLP {}{}", self.inputs, widths.collect::<String>())
    }
}

impl ValueMlpConfig {
    fn mlp(&self) -> Mlp {
        let inputs =
            ENCODING_BY_INPUTS.iter().find(|(_, id)| *id == self.encoding).map_or(0, |(inputs, _)| *inputs);
        Mlp::new(inputs, &self.hidden, 1, |at| format!("seq.linear-{at}"))
    }
}

impl Architecture for ValueMlpConfig {
    fn graph_name(&self) -> &'static str {
        "value-mlp"
    }

    fn encoding(&self) -> &str {
        &self.encoding
    }

    fn check(&self) -> Result<(), String> {
        let mlp = self.mlp();
        if mlp.inputs == 0 || self.encoding == "policy-837" {
            return Err(format!("has the encoding {:?}, which is not a flat board", self.encoding));
        }
        mlp.check()
    }

    fn table(&self) -> ParameterTable {
        self.mlp().table()
    }

    fn forward<L: Layers>(&self, net: &mut L) -> Result<Heads<L::Value>, L::Error> {
        self.mlp().forward(net)
    }

    fn outputs(&self) -> Outputs {
        Outputs::value()
    }

    fn describe(&self, table: &ParameterTable) -> String {
        self.mlp().describe(table)
    }
}

impl PolicyMlpConfig {
    fn mlp(&self) -> Mlp {
        // Between two linear layers is an activation, which has a number too.
        let moves = self.vocabulary.map_or(CANONICAL_MOVES, |subset| subset.len());
        let mlp = Mlp::new(837, &self.hidden, moves, |at| format!("net.{}", 2 * at));
        Mlp { vocabulary: self.vocabulary, ..mlp }
    }
}

impl Architecture for PolicyMlpConfig {
    fn graph_name(&self) -> &'static str {
        "policy-mlp"
    }

    fn encoding(&self) -> &str {
        "policy-837"
    }

    fn vocabulary(&self) -> Option<&'static str> {
        Some("canonical-1968")
    }

    fn check(&self) -> Result<(), String> {
        self.mlp().check()
    }

    fn table(&self) -> ParameterTable {
        self.mlp().table()
    }

    fn forward<L: Layers>(&self, net: &mut L) -> Result<Heads<L::Value>, L::Error> {
        self.mlp().forward(net)
    }

    fn outputs(&self) -> Outputs {
        Outputs::policy(CANONICAL_MOVES)
    }

    fn describe(&self, table: &ParameterTable) -> String {
        self.mlp().describe(table)
    }
}
