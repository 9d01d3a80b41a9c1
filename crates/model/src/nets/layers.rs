//! The layers of PyTorch as ONNX operators, their weights taken from a state dict.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::f32::consts::FRAC_1_SQRT_2;

use crate::LoadError;
use crate::onnx::build::{Attribute, GraphBuilder, Node};
use crate::onnx::proto::{ModelProto, data_type};
use crate::tensors::TensorMap;

/// A network under construction. Weights keep the names they have in the state dict.
pub(super) struct Layers<'a> {
    pub(super) tensors: &'a mut TensorMap,
    graph: GraphBuilder,
    scalars: BTreeMap<u32, Node>,
    constants: usize,
}

impl<'a> Layers<'a> {
    pub(super) fn new(name: &str, tensors: &'a mut TensorMap) -> Self {
        Layers { tensors, graph: GraphBuilder::new(name), scalars: BTreeMap::new(), constants: 0 }
    }

    pub(super) fn finish(self) -> ModelProto {
        self.graph.finish()
    }

    pub(super) fn input(&mut self, name: &str, shape: &[usize]) -> Node {
        self.graph.input(name, shape)
    }

    pub(super) fn id_input(&mut self, name: &str, shape: &[usize]) -> Node {
        self.graph.id_input(name, shape)
    }

    pub(super) fn output(&mut self, value: &Node, name: &str, width: usize) {
        self.graph.output(value, name, &[width]);
    }

    /// The tensor `name`, as it is.
    pub(super) fn weight(&mut self, name: &str, shape: &[usize]) -> Result<Node, LoadError> {
        let tensor = self.tensors.take(name, shape)?;
        Ok(self.graph.weight(name, tensor.shape(), tensor.data()))
    }

    /// The tensor `name` as one row of numbers.
    pub(super) fn flat_weight(&mut self, name: &str, shape: &[usize]) -> Result<Node, LoadError> {
        let tensor = self.tensors.take(name, shape)?;
        Ok(self.graph.weight(name, &[shape.iter().product()], tensor.data()))
    }

    /// A new constant of whole numbers in one dimension.
    pub(super) fn ints(&mut self, data: &[i64]) -> Node {
        let name = self.constant_name();
        self.graph.ints(&name, &[data.len()], data)
    }

    fn scalar(&mut self, value: f32) -> Node {
        if let Some(node) = self.scalars.get(&value.to_bits()) {
            return node.clone();
        }
        let name = self.constant_name();
        let node = self.graph.weight(&name, &[], &[value]);
        self.scalars.insert(value.to_bits(), node.clone());
        node
    }

    fn constant_name(&mut self) -> String {
        self.constants += 1;
        format!("constant_{}", self.constants)
    }

    /// An operator with two inputs, or one and a constant.
    pub(super) fn binary(&mut self, op: &str, left: &Node, right: &Node) -> Node {
        self.graph.op(op, &[left, right], &[])
    }

    pub(super) fn scaled(&mut self, x: &Node, factor: f32) -> Node {
        let factor = self.scalar(factor);
        self.binary("Mul", x, &factor)
    }

    pub(super) fn reshape(&mut self, x: &Node, shape: &[i64]) -> Node {
        let shape = self.ints(shape);
        self.binary("Reshape", x, &shape)
    }

    pub(super) fn transpose(&mut self, x: &Node, order: &[i64]) -> Node {
        self.graph.op("Transpose", &[x], &[("perm", Attribute::Ints(order.to_vec()))])
    }

    /// Elements `from..to` of dimension `axis`.
    pub(super) fn slice(&mut self, x: &Node, axis: i64, from: usize, to: usize) -> Node {
        let (from, to, axis) = (self.ints(&[from as i64]), self.ints(&[to as i64]), self.ints(&[axis]));
        self.graph.op("Slice", &[x, &from, &to, &axis], &[])
    }

    pub(super) fn gather(&mut self, table: &Node, indices: &Node, axis: i64) -> Node {
        self.graph.op("Gather", &[table, indices], &[("axis", Attribute::Int(axis))])
    }

    pub(super) fn concat(&mut self, parts: &[&Node], axis: i64) -> Node {
        self.graph.op("Concat", parts, &[("axis", Attribute::Int(axis))])
    }

    /// `x` with `before` and `after` rows of zeros around its first dimension; `x` is a matrix.
    pub(super) fn pad_rows(&mut self, x: &Node, before: usize, after: usize) -> Node {
        let pads = self.ints(&[before as i64, 0, after as i64, 0]);
        self.binary("Pad", x, &pads)
    }

    /// The mean over dimension `axis`, which is gone afterwards.
    pub(super) fn mean(&mut self, x: &Node, axis: i64) -> Node {
        let attributes = [("axes", Attribute::Ints(vec![axis])), ("keepdims", Attribute::Int(0))];
        self.graph.op("ReduceMean", &[x], &attributes)
    }

    /// `x / sqrt(mean(x^2) + eps) * weight` over the last dimension, whose size is all of `shape`.
    pub(super) fn rms_norm(
        &mut self,
        x: &Node,
        weight: &str,
        shape: &[usize],
        eps: f32,
    ) -> Result<Node, LoadError> {
        let weight = self.flat_weight(weight, shape)?;
        let eps = self.scalar(eps);
        let square = self.binary("Mul", x, x);
        let last = [("axes", Attribute::Ints(vec![-1])), ("keepdims", Attribute::Int(1))];
        let mean = self.graph.op("ReduceMean", &[&square], &last);
        let mean = self.binary("Add", &mean, &eps);
        let root = self.graph.op("Sqrt", &[&mean], &[]);
        let normal = self.binary("Div", x, &root);
        Ok(self.binary("Mul", &normal, &weight))
    }

    /// `torch.nn.LayerNorm` over the last dimension, whose size is all of `shape`.
    pub(super) fn layer_norm(
        &mut self,
        x: &Node,
        layer: &str,
        shape: &[usize],
        eps: f32,
    ) -> Result<Node, LoadError> {
        let weight = self.flat_weight(&format!("{layer}.weight"), shape)?;
        let bias = self.flat_weight(&format!("{layer}.bias"), shape)?;
        let attributes = [("axis", Attribute::Int(-1)), ("epsilon", Attribute::Float(eps))];
        Ok(self.graph.op("LayerNormalization", &[x, &weight, &bias], &attributes))
    }

    /// `torch.nn.Linear` on rows: `{layer}.weight` of `[outputs, inputs]`, and `{layer}.bias` if there is one.
    pub(super) fn linear(
        &mut self,
        x: &Node,
        layer: &str,
        outputs: usize,
        inputs: usize,
    ) -> Result<Node, LoadError> {
        let bias = format!("{layer}.bias");
        let bias = self.tensors.contains(&bias).then_some(bias);
        self.linear_of(x, &format!("{layer}.weight"), bias.as_deref(), outputs, inputs)
    }

    /// The same with tensors of any names.
    pub(super) fn linear_of(
        &mut self,
        x: &Node,
        weight: &str,
        bias: Option<&str>,
        outputs: usize,
        inputs: usize,
    ) -> Result<Node, LoadError> {
        let weight = self.weight(weight, &[outputs, inputs])?;
        let Some(bias) = bias else {
            return Ok(self.graph.op("Gemm", &[x, &weight], &[("transB", Attribute::Int(1))]));
        };
        let bias = self.weight(bias, &[outputs])?;
        Ok(self.gemm(x, &weight, &bias))
    }

    /// `x weight^T + bias` on rows.
    pub(super) fn gemm(&mut self, x: &Node, weight: &Node, bias: &Node) -> Node {
        self.graph.op("Gemm", &[x, weight, bias], &[("transB", Attribute::Int(1))])
    }

    /// A linear layer without bias on every row of a batch of matrices.
    pub(super) fn project(
        &mut self,
        x: &Node,
        weight: &str,
        outputs: usize,
        inputs: usize,
    ) -> Result<Node, LoadError> {
        let tensor = self.tensors.take(weight, &[outputs, inputs])?;
        let weight = self.graph.weight(weight, &[inputs, outputs], &tensor.transposed(inputs));
        Ok(self.binary("MatMul", x, &weight))
    }

    /// `torch.nn.Conv2d` with a square kernel and padding "same". An even kernel pads one more at the end.
    pub(super) fn conv(
        &mut self,
        x: &Node,
        layer: &str,
        [outputs, inputs, kernel]: [usize; 3],
    ) -> Result<Node, LoadError> {
        let weight = self.weight(&format!("{layer}.weight"), &[outputs, inputs, kernel, kernel])?;
        let bias = self.weight(&format!("{layer}.bias"), &[outputs])?;
        let before = (kernel as i64 - 1) / 2;
        let after = kernel as i64 - 1 - before;
        let attributes = [
            ("kernel_shape", Attribute::Ints(vec![kernel as i64; 2])),
            ("pads", Attribute::Ints(vec![before, before, after, after])),
        ];
        Ok(self.graph.op("Conv", &[x, &weight, &bias], &attributes))
    }

    pub(super) fn relu(&mut self, x: &Node) -> Node {
        self.graph.op("Relu", &[x], &[])
    }

    /// `min(max(x, 0), 1)`.
    pub(super) fn clipped_relu(&mut self, x: &Node) -> Node {
        let (zero, one) = (self.scalar(0.0), self.scalar(1.0));
        self.graph.op("Clip", &[x, &zero, &one], &[])
    }

    /// The sum of each row, a row of one number.
    pub(super) fn row_sum(&mut self, x: &Node) -> Node {
        let axes = self.ints(&[1]);
        self.graph.op("ReduceSum", &[x, &axes], &[("keepdims", Attribute::Int(1))])
    }

    /// The rows of `table`, of `width` whole numbers each, at the whole numbers `x`.
    pub(super) fn look_up(&mut self, x: &Node, table: &[i64], width: usize) -> Node {
        let to = |kind: i32| [("to", Attribute::Int(i64::from(kind)))];
        let rows = self.graph.op("Cast", &[x], &to(data_type::INT64));
        let name = self.constant_name();
        let table = self.graph.ints(&name, &[table.len() / width.max(1), width], table);
        let found = self.gather(&table, &rows, 0);
        let found = self.reshape(&found, &[-1, width as i64]);
        self.graph.op("Cast", &[&found], &to(data_type::FLOAT))
    }

    pub(super) fn silu(&mut self, x: &Node) -> Node {
        let gate = self.graph.op("Sigmoid", &[x], &[]);
        self.binary("Mul", x, &gate)
    }

    /// The exact form, `x * (1 + erf(x / sqrt 2)) / 2`.
    pub(super) fn gelu(&mut self, x: &Node) -> Node {
        let inner = self.scaled(x, FRAC_1_SQRT_2);
        let erf = self.graph.op("Erf", &[&inner], &[]);
        let one = self.scalar(1.0);
        let gate = self.binary("Add", &erf, &one);
        let product = self.binary("Mul", x, &gate);
        self.scaled(&product, 0.5)
    }

    pub(super) fn softmax(&mut self, x: &Node) -> Node {
        self.graph.op("Softmax", &[x], &[("axis", Attribute::Int(-1))])
    }
}
