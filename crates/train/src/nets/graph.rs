//! Networks written down as ONNX graphs.

use std::collections::HashMap;

use candle_core::{Error, Result};
use tabia_encoding::{ElementKind, Encoding};
use tabia_model::onnx::build::{Attribute, GraphBuilder, Node};
use tabia_model::onnx::proto::{ModelProto, data_type};

use super::NetConfig;
use super::layers::Layers;
use crate::ParameterTable;

/// A graph under construction, with the weights of an arena as initializers.
struct Graph<'a> {
    builder: GraphBuilder,
    table: &'a ParameterTable,
    arena: &'a [f32],
    inputs: Vec<Node>,
    /// Parameters written so far, as they are.
    written: HashMap<String, Node>,
    constants: usize,
}

/// The network of `config` with the weights of `arena`.
///
/// # Errors
/// If the network names a parameter that its table lacks, which is a mistake of the network's.
pub(crate) fn graph(config: &NetConfig, encoding: &dyn Encoding, arena: &[f32]) -> Result<ModelProto> {
    let table = config.table();
    let mut builder = GraphBuilder::new(kind(config));
    let inputs = encoding.inputs().iter().map(|spec| match spec.kind {
        ElementKind::Id => builder.id_input(spec.name, spec.shape),
        ElementKind::Value => builder.input(spec.name, spec.shape),
    });
    let inputs = inputs.collect();
    let mut graph = Graph { builder, table: &table, arena, inputs, written: HashMap::new(), constants: 0 };
    let heads = config.forward(&mut graph)?;

    let human = matches!(config, NetConfig::Human(_));
    if let Some(policy) = heads.policy {
        let (name, width) = match config.vocabulary().and_then(tabia_encoding::vocabulary) {
            Some(vocabulary) if vocabulary.promotion_width() > 0 => ("move_logits", vocabulary.width()),
            Some(vocabulary) => ("policy", vocabulary.width()),
            None => return Err(Error::Msg("a policy without a vocabulary".to_owned())),
        };
        graph.builder.output(&policy, name, &[width]);
    }
    if let Some(promotion) = heads.promotion {
        if human {
            let flat = graph.reshape(&promotion, &[8 * 4])?;
            graph.builder.output(&flat, "promotion_logits", &[8 * 4]);
        } else {
            graph.builder.output(&promotion, "promo_logits", &[4]);
        }
    }
    if let Some(outcome) = heads.outcome {
        let chances = graph.softmax(&outcome)?;
        graph.builder.output(&chances, "wdl", &[3]);
    }
    if let Some(think) = heads.think {
        let chances = graph.softmax(&think)?;
        graph.builder.output(&chances, "think_time", &[tabia_encoding::TIME_BINS]);
    }
    if let Some(value) = heads.value {
        let value = match config {
            // Such networks give a probability.
            NetConfig::Pair(_) => graph.builder.op("Sigmoid", &[&value], &[]),
            _ => value,
        };
        graph.builder.output(&value, "value", &[1]);
    }
    Ok(graph.builder.finish())
}

fn kind(config: &NetConfig) -> &'static str {
    match config {
        NetConfig::Human(_) => "human",
        NetConfig::Humchess(_) => "humchess",
        NetConfig::PolicyCnn(_) => "policy-cnn",
        NetConfig::PolicyMlp(_) => "policy-mlp",
        NetConfig::ValueMlp(_) => "value-mlp",
        NetConfig::Nnue(_) => "nnue",
        NetConfig::ValueCnn(_) => "value-cnn",
        NetConfig::Pair(_) => "pair",
        NetConfig::Challenge(_) => "challenge",
    }
}

impl Graph<'_> {
    fn found(&self, name: &str) -> Result<(&[usize], &[f32])> {
        let entry = self.table.get(name).ok_or_else(|| Error::Msg(format!("no parameter {name}")))?;
        Ok((&entry.shape, entry.of(self.arena)))
    }

    /// A parameter in another shape of as many elements.
    fn shaped(&mut self, name: &str, shape: &[usize]) -> Result<Node> {
        let data = self.found(name)?.1.to_vec();
        Ok(self.builder.weight(name, shape, &data))
    }

    fn constant_name(&mut self) -> String {
        self.constants += 1;
        format!("constant_{}", self.constants)
    }

    fn ints(&mut self, data: &[i64]) -> Node {
        let name = self.constant_name();
        self.builder.ints(&name, &[data.len()], data)
    }

    fn scalar(&mut self, value: f32) -> Node {
        let name = self.constant_name();
        self.builder.weight(&name, &[], &[value])
    }

    fn op(&mut self, op: &str, inputs: &[&Node]) -> Node {
        self.builder.op(op, inputs, &[])
    }
}

impl Layers for Graph<'_> {
    type Value = Node;

    fn input(&mut self, index: usize) -> Result<Node> {
        Ok(self.inputs[index].clone())
    }

    fn parameter(&mut self, name: &str) -> Result<Node> {
        // A layer used twice is stored once.
        if let Some(node) = self.written.get(name) {
            return Ok(node.clone());
        }
        let shape = self.found(name)?.0.to_vec();
        let node = self.shaped(name, &shape)?;
        self.written.insert(name.to_owned(), node.clone());
        Ok(node)
    }

    fn embed(&mut self, name: &str, ids: &Node) -> Result<Node> {
        let table = self.parameter(name)?;
        Ok(self.builder.op("Gather", &[&table, ids], &[("axis", Attribute::Int(0))]))
    }

    fn linear(&mut self, x: &Node, layer: &str) -> Result<Node> {
        let weight = self.parameter(&format!("{layer}.weight"))?;
        let bias = self.parameter(&format!("{layer}.bias"))?;
        Ok(self.builder.op("Gemm", &[x, &weight, &bias], &[("transB", Attribute::Int(1))]))
    }

    fn project(&mut self, x: &Node, weight: &str) -> Result<Node> {
        let (shape, data) = self.found(weight)?;
        let [outputs, inputs] = *shape else {
            return Err(Error::Msg(format!("{weight} is not a matrix")));
        };
        let transposed: Vec<f32> =
            (0..inputs).flat_map(|column| data.iter().skip(column).step_by(inputs).copied()).collect();
        let weight = self.builder.weight(weight, &[inputs, outputs], &transposed);
        Ok(self.op("MatMul", &[x, &weight]))
    }

    fn conv(&mut self, x: &Node, layer: &str) -> Result<Node> {
        let kernel = self.found(&format!("{layer}.weight"))?.0[2] as i64;
        let weight = self.parameter(&format!("{layer}.weight"))?;
        let bias = self.parameter(&format!("{layer}.bias"))?;
        let attributes = [
            ("kernel_shape", Attribute::Ints(vec![kernel; 2])),
            ("pads", Attribute::Ints(vec![kernel / 2; 4])),
        ];
        Ok(self.builder.op("Conv", &[x, &weight, &bias], &attributes))
    }

    fn rms_norm(&mut self, x: &Node, weight: &str, eps: f32) -> Result<Node> {
        let elements = self.found(weight)?.1.len();
        let weight = self.shaped(weight, &[elements])?;
        let eps = self.scalar(eps);
        let square = self.op("Mul", &[x, x]);
        let last = [("axes", Attribute::Ints(vec![-1])), ("keepdims", Attribute::Int(1))];
        let mean = self.builder.op("ReduceMean", &[&square], &last);
        let mean = self.op("Add", &[&mean, &eps]);
        let root = self.op("Sqrt", &[&mean]);
        let normal = self.op("Div", &[x, &root]);
        Ok(self.op("Mul", &[&normal, &weight]))
    }

    fn add(&mut self, a: &Node, b: &Node) -> Result<Node> {
        Ok(self.op("Add", &[a, b]))
    }

    fn mul(&mut self, a: &Node, b: &Node) -> Result<Node> {
        Ok(self.op("Mul", &[a, b]))
    }

    fn matmul(&mut self, a: &Node, b: &Node) -> Result<Node> {
        Ok(self.op("MatMul", &[a, b]))
    }

    fn scale(&mut self, x: &Node, factor: f32) -> Result<Node> {
        let factor = self.scalar(factor);
        Ok(self.op("Mul", &[x, &factor]))
    }

    fn reshape(&mut self, x: &Node, shape: &[usize]) -> Result<Node> {
        let whole: Vec<i64> = std::iter::once(-1).chain(shape.iter().map(|&d| d as i64)).collect();
        let shape = self.ints(&whole);
        Ok(self.op("Reshape", &[x, &shape]))
    }

    fn permute(&mut self, x: &Node, order: &[usize]) -> Result<Node> {
        let order = order.iter().map(|&d| d as i64).collect();
        Ok(self.builder.op("Transpose", &[x], &[("perm", Attribute::Ints(order))]))
    }

    fn slice(&mut self, x: &Node, axis: usize, from: usize, to: usize) -> Result<Node> {
        let [from, to, axis] = [from, to, axis].map(|number| self.ints(&[number as i64]));
        Ok(self.op("Slice", &[x, &from, &to, &axis]))
    }

    fn select(&mut self, x: &Node, axis: usize, indices: &[u32]) -> Result<Node> {
        let indices: Vec<i64> = indices.iter().map(|&index| i64::from(index)).collect();
        let indices = self.ints(&indices);
        Ok(self.builder.op("Gather", &[x, &indices], &[("axis", Attribute::Int(axis as i64))]))
    }

    fn concat(&mut self, parts: &[&Node], axis: usize) -> Result<Node> {
        Ok(self.builder.op("Concat", parts, &[("axis", Attribute::Int(axis as i64))]))
    }

    fn mean(&mut self, x: &Node, axis: usize) -> Result<Node> {
        let attributes = [("axes", Attribute::Ints(vec![axis as i64])), ("keepdims", Attribute::Int(0))];
        Ok(self.builder.op("ReduceMean", &[x], &attributes))
    }

    fn sum(&mut self, x: &Node, axis: usize) -> Result<Node> {
        let axes = self.ints(&[axis as i64]);
        Ok(self.builder.op("ReduceSum", &[x, &axes], &[("keepdims", Attribute::Int(1))]))
    }

    fn look_up(&mut self, x: &Node, table: &[f32], width: usize) -> Result<Node> {
        let whole = [("to", Attribute::Int(i64::from(data_type::INT64)))];
        let rows = self.builder.op("Cast", &[x], &whole);
        let name = self.constant_name();
        let table = self.builder.weight(&name, &[table.len() / width, width], table);
        let found = self.builder.op("Gather", &[&table, &rows], &[("axis", Attribute::Int(0))]);
        self.reshape(&found, &[width])
    }

    fn relu(&mut self, x: &Node) -> Result<Node> {
        Ok(self.op("Relu", &[x]))
    }

    fn clipped_relu(&mut self, x: &Node) -> Result<Node> {
        let (zero, one) = (self.scalar(0.0), self.scalar(1.0));
        Ok(self.op("Clip", &[x, &zero, &one]))
    }

    fn silu(&mut self, x: &Node) -> Result<Node> {
        let gate = self.op("Sigmoid", &[x]);
        Ok(self.op("Mul", &[x, &gate]))
    }

    fn gelu(&mut self, x: &Node) -> Result<Node> {
        let inner = self.scale(x, std::f32::consts::FRAC_1_SQRT_2)?;
        let erf = self.op("Erf", &[&inner]);
        let one = self.scalar(1.0);
        let gate = self.op("Add", &[&erf, &one]);
        let product = self.op("Mul", &[x, &gate]);
        self.scale(&product, 0.5)
    }

    fn softmax(&mut self, x: &Node) -> Result<Node> {
        Ok(self.builder.op("Softmax", &[x], &[("axis", Attribute::Int(-1))]))
    }
}
