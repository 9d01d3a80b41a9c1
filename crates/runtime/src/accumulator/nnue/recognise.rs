//! Recognising NNUEs in ONNX graphs.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use tabia_onnx::proto::{ModelProto, NodeProto};

use crate::accumulator::recognise::{GraphWalk, int_attribute};
use crate::accumulator::{Activation, Linear};

/// Maximum renamings in a chain; a longer walk is a cycle.
const MAX_CHAIN: usize = 100;

/// The power of the clipped activation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActivationPower {
    /// Clipped ReLU.
    One,
    /// Squared clipped ReLU.
    Two,
}

/// An NNUE in an ONNX graph.
#[derive(Clone, Debug, PartialEq)]
pub struct NnueGraph {
    /// The feature transformer of both perspectives; its sums are clipped to 0..1.
    pub first: Linear,
    /// The power of the clipped sums.
    pub power: ActivationPower,
    /// The output layer on both halves, the mover's first, with one output per bucket.
    pub output: Linear,
    /// The bucket for each number of pieces, from 0 on.
    pub buckets: Vec<usize>,
}

impl NnueGraph {
    /// Recognises `model` as an NNUE whose opponent perspective is the permutation `other_view` of the mover's; `None` if it is
    /// anything else.
    pub fn recognise(model: &ModelProto, other_view: &[u16]) -> Option<Self> {
        let walk = GraphWalk { graph: model.graph.as_ref()? };
        let [output] = walk.graph.output.as_slice() else { return None };
        let end = walk.source_node(&output.name)?;
        let (values, chosen) = match end.op_type.as_str() {
            "ReduceSum" if walk.over_rows(end) => {
                let product = walk.source_node(end.input.first()?)?;
                let [a, b] = product.input.as_slice() else { return None };
                let (a, b) = (walk.source_node(a)?, walk.source_node(b)?);
                match (product.op_type.as_str(), a.op_type.as_str(), b.op_type.as_str()) {
                    ("Mul", "Gemm", _) => (a, Some(b)),
                    ("Mul", _, "Gemm") => (b, Some(a)),
                    _ => return None,
                }
            }
            _ => (end, None),
        };
        let (both, output) = walk.linear(values)?;
        let concat = walk.source_node(both).filter(|node| node.op_type == "Concat")?;
        let [own, theirs] = concat.input.as_slice() else { return None };
        let (own, theirs) = (Half::of(&walk, own)?, Half::of(&walk, theirs)?);
        let alike = own.layer == theirs.layer && own.power == theirs.power;
        let swapped = walk.selects(theirs.view, own.view, other_view);
        let wide = output.inputs == 2 * own.layer.outputs() && own.layer.inputs == other_view.len();
        let along_rows = int_attribute(concat, "axis").is_some_and(|axis| axis == 1 || axis == -1);
        if walk.input_place(own.view) != Some(0) || !alike || !swapped || !wide || !along_rows {
            return None;
        }
        let buckets = match chosen {
            None => vec![0; 1],
            Some(chosen) => walk.buckets(chosen, own.view, output.outputs())?,
        };
        (chosen.is_some() || output.outputs() == 1).then_some(NnueGraph {
            first: own.layer,
            power: own.power,
            output,
            buckets,
        })
    }
}

/// One perspective through the feature transformer.
struct Half<'a> {
    view: &'a str,
    layer: Linear,
    power: ActivationPower,
}

impl<'a> Half<'a> {
    fn of(walk: &GraphWalk<'a>, value: &'a str) -> Option<Self> {
        let mut node = walk.source_node(value)?;
        let mut power = ActivationPower::One;
        if node.op_type == "Mul" {
            let [a, b] = node.input.as_slice() else { return None };
            if a != b {
                return None;
            }
            power = ActivationPower::Two;
            node = walk.source_node(a)?;
        }
        if walk.activation(node) != Some(Activation::Clamp { low: 0.0, high: 1.0 }) {
            return None;
        }
        let (view, layer) = walk.linear(walk.source_node(node.input.first()?)?)?;
        Some(Half { view, layer, power })
    }
}

impl<'a> GraphWalk<'a> {
    /// The node that produces a value, skipping renamings.
    fn source_node(&self, value: &str) -> Option<&'a NodeProto> {
        let mut node = self.producer(value)?;
        for _ in 0..MAX_CHAIN {
            if !matches!(node.op_type.as_str(), "Identity" | "Dropout") {
                let ours = node.domain.is_empty() || node.domain == "ai.onnx";
                return ours.then_some(node);
            }
            node = self.producer(node.input.first()?)?;
        }
        None
    }

    /// Whether a sum is over the elements of each row.
    fn over_rows(&self, node: &NodeProto) -> bool {
        let axes = node.input.get(1).and_then(|axes| self.whole_numbers(axes));
        axes.is_some_and(|(_, axes)| axes == [1] || axes == [-1])
    }

    /// Whether `value` gathers the elements `places` of `from`.
    fn selects(&self, value: &str, from: &str, places: &[u16]) -> bool {
        let Some(node) = self.source_node(value).filter(|node| node.op_type == "Gather") else {
            return false;
        };
        let [data, indices] = node.input.as_slice() else { return false };
        let along_rows = int_attribute(node, "axis").is_some_and(|axis| axis == 1 || axis == -1);
        let chosen = self.whole_numbers(indices).map(|(_, chosen)| chosen);
        let same = |chosen: Vec<i64>| chosen.into_iter().eq(places.iter().map(|&place| i64::from(place)));
        along_rows && data == from && chosen.is_some_and(same)
    }

    /// The bucket for each number of pieces: `node` looks up one-hot rows in a table.
    fn buckets(&self, mut node: &'a NodeProto, view: &str, outputs: usize) -> Option<Vec<usize>> {
        for _ in 0..MAX_CHAIN {
            if matches!(node.op_type.as_str(), "Reshape" | "Cast") {
                node = self.source_node(node.input.first()?)?;
            }
        }
        let [table, rows] = node.input.as_slice() else { return None };
        let of_rows = int_attribute(node, "axis").unwrap_or(0) == 0;
        let whole = self.source_node(rows).filter(|node| node.op_type == "Cast")?;
        let pieces = self.source_node(whole.input.first()?).filter(|node| node.op_type == "ReduceSum")?;
        if node.op_type != "Gather" || !of_rows || !self.over_rows(pieces) || pieces.input.first()? != view {
            return None;
        }
        let (dims, numbers) = self.whole_numbers(table)?;
        if dims.get(1) != Some(&outputs) || outputs == 0 {
            return None;
        }
        let bucket = |row: &[i64]| {
            let mut places = row.iter().enumerate().filter(|(_, number)| **number != 0);
            match (places.next(), places.next()) {
                (Some((place, 1)), None) => Some(place),
                _ => None,
            }
        };
        numbers.chunks_exact(outputs).map(bucket).collect()
    }
}
