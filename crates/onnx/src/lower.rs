//! The networks of `tabia-nets` as ONNX graphs.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::f32::consts::FRAC_1_SQRT_2;

use tabia_encoding::ElementKind;
use tabia_nets::detect::{Detected, Input};
use tabia_nets::{Layers, NetConfig, Parameter, ParameterTable};

use crate::build::{Attribute, GraphBuilder, Node};
use crate::proto::{ModelProto, data_type};
use crate::tensors::{Tensor, TensorMap};
use crate::{ErrorKind, TensorError};

/// An architecture that names a parameter it does not have, or uses one in an impossible shape.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the network cannot be written as a graph: {0}")]
pub struct LowerError(String);

/// Writes a network down as a graph. Weights keep their names; `weights` gives the elements of a parameter, or none for a graph
/// without them.
///
/// # Errors
/// If the forward pass uses a parameter that `table` lacks.
pub fn to_onnx<'a>(
    net: &NetConfig,
    table: &ParameterTable,
    inputs: &[Input],
    weights: impl Fn(&Parameter) -> &'a [f32],
) -> Result<ModelProto, LowerError> {
    lower(net, table, inputs, &mut |entry| weights(entry).into())
}

/// The same; `weights` is asked for each parameter once.
fn lower<'a>(
    net: &NetConfig,
    table: &ParameterTable,
    inputs: &[Input],
    weights: Weights<'_, 'a>,
) -> Result<ModelProto, LowerError> {
    let mut builder = GraphBuilder::new(net.graph_name());
    let inputs = inputs.iter().map(|input| match input.kind {
        ElementKind::Id => builder.id_input(input.name, &input.shape),
        ElementKind::Value => builder.input(input.name, &input.shape),
    });
    let inputs = inputs.collect();
    let mut graph = Graph { builder, table, weights, inputs, scalars: BTreeMap::new(), constants: 0 };
    let heads = net.forward(&mut graph)?;
    let outputs = net.outputs();
    let probabilities = |graph: &mut Graph<'_, 'a>, logits: Node| graph.softmax(&logits);
    let outcome = heads.outcome.map(|logits| probabilities(&mut graph, logits)).transpose()?;
    let think = heads.think.map(|logits| probabilities(&mut graph, logits)).transpose()?;
    let value = heads.value.map(|x| if outputs.value_is_logit { graph.op("Sigmoid", &[&x]) } else { x });
    let promotion = heads.promotion.zip(outputs.promotion);
    // A promotion head per file is one row of a file's output.
    let promotion = promotion
        .map(|(x, output)| if output.width > 4 { graph.reshape(&x, &[output.width]) } else { Ok(x) });
    for (head, output) in [
        (heads.policy, outputs.policy),
        (promotion.transpose()?, outputs.promotion),
        (outcome, outputs.outcome),
        (think, outputs.think),
        (value, outputs.value),
    ] {
        if let Some((head, output)) = head.zip(output) {
            graph.builder.output(&head, output.name, &[output.width]);
        }
    }
    Ok(graph.builder.finish())
}

/// Takes the tensors of a network out of `tensors`, each checked for its shape, and writes them down as a graph.
///
/// # Errors
/// If a tensor is missing, has another shape or is not finite, or the network cannot be lowered.
pub fn take_graph(detected: &Detected, tensors: &mut TensorMap) -> Result<ModelProto, TensorError> {
    let Detected { net, table, inputs, .. } = detected;
    let mut taken: HashMap<&str, Tensor> = HashMap::with_capacity(table.entries().len());
    for entry in table.entries() {
        taken.insert(&entry.name, tensors.take(&entry.name, &entry.shape)?);
    }
    // A vocabulary may follow from the other index tables.
    for buffer in table.buffers() {
        if tensors.contains(buffer.name) {
            tensors.take(buffer.name, &buffer.shape)?;
        }
    }
    lower(net, table, inputs, &mut |entry| {
        taken.remove(&*entry.name).map_or(vec![], Tensor::into_data).into()
    })
    .map_err(|e| TensorError::new(ErrorKind::UnknownNetwork, e.to_string()))
}

/// Gives the elements of a parameter.
type Weights<'t, 'w> = &'t mut dyn FnMut(&Parameter) -> Cow<'w, [f32]>;

/// A graph under construction.
struct Graph<'t, 'w> {
    builder: GraphBuilder,
    table: &'t ParameterTable,
    weights: Weights<'t, 'w>,
    inputs: Vec<Node>,
    scalars: BTreeMap<u32, Node>,
    constants: usize,
}

impl<'t> Graph<'t, '_> {
    fn find(&self, name: &str) -> Result<&'t Parameter, LowerError> {
        self.table.get(name).ok_or_else(|| LowerError(format!("no parameter {name}")))
    }

    /// A parameter as a tensor of this shape. Layers may share it.
    fn weight(&mut self, entry: &Parameter, shape: &[usize]) -> Node {
        if let Some(there) = self.builder.constant(&entry.name) {
            return there;
        }
        match (self.weights)(entry) {
            Cow::Borrowed(data) => self.builder.weight(&entry.name, shape, data),
            Cow::Owned(data) => self.builder.take_weight(&entry.name, shape, data),
        }
    }

    /// A parameter as one row.
    fn flat(&mut self, name: &str) -> Result<Node, LowerError> {
        let entry = self.find(name)?;
        Ok(self.weight(entry, &[entry.len()]))
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
        if let Some(node) = self.scalars.get(&value.to_bits()) {
            return node.clone();
        }
        let name = self.constant_name();
        let node = self.builder.weight(&name, &[], &[value]);
        self.scalars.insert(value.to_bits(), node.clone());
        node
    }

    fn op(&mut self, op: &str, inputs: &[&Node]) -> Node {
        self.builder.op(op, inputs, &[])
    }
}

impl Layers for Graph<'_, '_> {
    type Value = Node;
    type Error = LowerError;

    fn error(message: String) -> LowerError {
        LowerError(message)
    }

    fn table(&self) -> &ParameterTable {
        self.table
    }

    fn input(&mut self, index: usize) -> Result<Node, LowerError> {
        self.inputs.get(index).cloned().ok_or_else(|| LowerError(format!("no input {index}")))
    }

    fn parameter(&mut self, name: &str) -> Result<Node, LowerError> {
        let entry = self.find(name)?;
        Ok(self.weight(entry, &entry.shape))
    }

    fn embed(&mut self, name: &str, ids: &Node) -> Result<Node, LowerError> {
        let table = self.parameter(name)?;
        Ok(self.builder.op("Gather", &[&table, ids], &[("axis", Attribute::Int(0))]))
    }

    fn linear_of(&mut self, x: &Node, weight: &str, bias: Option<&str>) -> Result<Node, LowerError> {
        let weight = self.parameter(weight)?;
        let transposed = [("transB", Attribute::Int(1))];
        let Some(bias) = bias else { return Ok(self.builder.op("Gemm", &[x, &weight], &transposed)) };
        let bias = self.parameter(bias)?;
        Ok(self.builder.op("Gemm", &[x, &weight, &bias], &transposed))
    }

    fn project(&mut self, x: &Node, weight: &str) -> Result<Node, LowerError> {
        let entry = self.find(weight)?;
        let [outputs, inputs] = *entry.shape else {
            return Err(LowerError(format!("{weight} is not a matrix")));
        };
        let weight = match self.builder.constant(weight) {
            Some(there) => there,
            None => {
                let data = (self.weights)(entry);
                let column = |column: usize| data.iter().skip(column).step_by(inputs).copied();
                let transposed = (0..inputs).flat_map(column).collect();
                drop(data);
                self.builder.take_weight(weight, &[inputs, outputs], transposed)
            }
        };
        Ok(self.op("MatMul", &[x, &weight]))
    }

    fn conv(&mut self, x: &Node, layer: &str) -> Result<Node, LowerError> {
        let weight = format!("{layer}.weight");
        let [_, _, kernel, _] = *self.find(&weight)?.shape else {
            return Err(LowerError(format!("{weight} is not a kernel")));
        };
        let weight = self.parameter(&weight)?;
        let bias = self.parameter(&format!("{layer}.bias"))?;
        // An even kernel pads one more at the end.
        let before = (kernel as i64 - 1) / 2;
        let after = kernel as i64 - 1 - before;
        let attributes = [
            ("kernel_shape", Attribute::Ints(vec![kernel as i64; 2])),
            ("pads", Attribute::Ints(vec![before, before, after, after])),
        ];
        Ok(self.builder.op("Conv", &[x, &weight, &bias], &attributes))
    }

    fn rms_norm(&mut self, x: &Node, weight: &str, eps: f32) -> Result<Node, LowerError> {
        let weight = self.flat(weight)?;
        let eps = self.scalar(eps);
        let square = self.op("Mul", &[x, x]);
        let last = [("axes", Attribute::Ints(vec![-1])), ("keepdims", Attribute::Int(1))];
        let mean = self.builder.op("ReduceMean", &[&square], &last);
        let mean = self.op("Add", &[&mean, &eps]);
        let root = self.op("Sqrt", &[&mean]);
        let normal = self.op("Div", &[x, &root]);
        Ok(self.op("Mul", &[&normal, &weight]))
    }

    fn layer_norm(&mut self, x: &Node, layer: &str, eps: f32) -> Result<Node, LowerError> {
        let weight = self.flat(&format!("{layer}.weight"))?;
        let bias = self.flat(&format!("{layer}.bias"))?;
        let attributes = [("axis", Attribute::Int(-1)), ("epsilon", Attribute::Float(eps))];
        Ok(self.builder.op("LayerNormalization", &[x, &weight, &bias], &attributes))
    }

    fn add(&mut self, a: &Node, b: &Node) -> Result<Node, LowerError> {
        Ok(self.op("Add", &[a, b]))
    }

    fn mul(&mut self, a: &Node, b: &Node) -> Result<Node, LowerError> {
        Ok(self.op("Mul", &[a, b]))
    }

    fn matmul(&mut self, a: &Node, b: &Node) -> Result<Node, LowerError> {
        Ok(self.op("MatMul", &[a, b]))
    }

    fn scale(&mut self, x: &Node, factor: f32) -> Result<Node, LowerError> {
        let factor = self.scalar(factor);
        Ok(self.op("Mul", &[x, &factor]))
    }

    fn reshape(&mut self, x: &Node, shape: &[usize]) -> Result<Node, LowerError> {
        let whole: Vec<i64> = std::iter::once(-1).chain(shape.iter().map(|&d| d as i64)).collect();
        let shape = self.ints(&whole);
        Ok(self.op("Reshape", &[x, &shape]))
    }

    fn permute(&mut self, x: &Node, order: &[usize]) -> Result<Node, LowerError> {
        let order = order.iter().map(|&d| d as i64).collect();
        Ok(self.builder.op("Transpose", &[x], &[("perm", Attribute::Ints(order))]))
    }

    fn slice(&mut self, x: &Node, axis: usize, from: usize, to: usize) -> Result<Node, LowerError> {
        let [from, to, axis] = [from, to, axis].map(|number| self.ints(&[number as i64]));
        Ok(self.op("Slice", &[x, &from, &to, &axis]))
    }

    fn select(&mut self, x: &Node, axis: usize, indices: &[u32]) -> Result<Node, LowerError> {
        let indices: Vec<i64> = indices.iter().map(|&index| i64::from(index)).collect();
        let indices = self.ints(&indices);
        Ok(self.builder.op("Gather", &[x, &indices], &[("axis", Attribute::Int(axis as i64))]))
    }

    fn concat(&mut self, parts: &[&Node], axis: usize) -> Result<Node, LowerError> {
        Ok(self.builder.op("Concat", parts, &[("axis", Attribute::Int(axis as i64))]))
    }

    fn add_to_tokens(
        &mut self,
        x: &Node,
        name: &str,
        from: usize,
        tokens: usize,
    ) -> Result<Node, LowerError> {
        let rows = self.parameter(name)?;
        let count = self.find(name)?.shape.first().copied().unwrap_or(0);
        // Zeros for the tokens before and after.
        let pads = self.ints(&[from as i64, 0, tokens.saturating_sub(from + count) as i64, 0]);
        let rows = self.op("Pad", &[&rows, &pads]);
        self.add(x, &rows)
    }

    fn mean(&mut self, x: &Node, axis: usize) -> Result<Node, LowerError> {
        let attributes = [("axes", Attribute::Ints(vec![axis as i64])), ("keepdims", Attribute::Int(0))];
        Ok(self.builder.op("ReduceMean", &[x], &attributes))
    }

    fn sum(&mut self, x: &Node, axis: usize) -> Result<Node, LowerError> {
        let axes = self.ints(&[axis as i64]);
        Ok(self.builder.op("ReduceSum", &[x, &axes], &[("keepdims", Attribute::Int(1))]))
    }

    fn look_up(&mut self, x: &Node, table: &[i64], width: usize) -> Result<Node, LowerError> {
        let to = |kind: i32| [("to", Attribute::Int(i64::from(kind)))];
        let rows = self.builder.op("Cast", &[x], &to(data_type::INT64));
        let name = self.constant_name();
        let table = self.builder.ints(&name, &[table.len() / width.max(1), width], table);
        let found = self.builder.op("Gather", &[&table, &rows], &[("axis", Attribute::Int(0))]);
        let found = self.reshape(&found, &[width])?;
        Ok(self.builder.op("Cast", &[&found], &to(data_type::FLOAT)))
    }

    fn relu(&mut self, x: &Node) -> Result<Node, LowerError> {
        Ok(self.op("Relu", &[x]))
    }

    fn clipped_relu(&mut self, x: &Node) -> Result<Node, LowerError> {
        let (zero, one) = (self.scalar(0.0), self.scalar(1.0));
        Ok(self.op("Clip", &[x, &zero, &one]))
    }

    fn silu(&mut self, x: &Node) -> Result<Node, LowerError> {
        let gate = self.op("Sigmoid", &[x]);
        Ok(self.op("Mul", &[x, &gate]))
    }

    fn gelu(&mut self, x: &Node) -> Result<Node, LowerError> {
        let inner = self.scale(x, FRAC_1_SQRT_2)?;
        let erf = self.op("Erf", &[&inner]);
        let one = self.scalar(1.0);
        let gate = self.op("Add", &[&erf, &one]);
        let product = self.op("Mul", &[x, &gate]);
        self.scale(&product, 0.5)
    }

    fn softmax(&mut self, x: &Node) -> Result<Node, LowerError> {
        Ok(self.builder.op("Softmax", &[x], &[("axis", Attribute::Int(-1))]))
    }
}
