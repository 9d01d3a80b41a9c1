//! Exact integer products on every processor.
//!
//! rten multiplies `u8` by `i8` with kernels that may saturate: on x86-64 without VNNI `vpmaddubsw` adds two products in 16
//! bits. There the weights are split into two halves of at most 7 bits, whose products with any byte fit, and the results are
//! added. The rewrite also avoids bugs of rten with zero points by row or column, with zero points of prepacked weights and of
//! `i8` inputs, and with the padding of convolutions. See docs/decisions/0021-exact-integer-products.md.

use std::collections::HashMap;
use std::fmt;
use std::sync::LazyLock;

use rten_gemm::GemmExecutor;
use tabia_onnx::build::{Attribute, attribute};
use tabia_onnx::check::{ElementKind, IntegerProduct, Operand};
use tabia_onnx::proto::{GraphProto, NodeProto, TensorProto, data_type};
use tabia_onnx::same_padding;
use tabia_onnx::{ErrorKind, GraphError};

/// How rten gets 8-bit weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Int8Weights {
    /// Unchanged: exact where rten's kernel does not saturate.
    Whole,
    /// As the sum of two halves: exact with every kernel, at twice the work.
    Split,
}

/// The kernel of integer products.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Int8Kernel {
    /// rten's name for it.
    pub name: &'static str,
    /// How it gets the weights.
    pub weights: Int8Weights,
}

impl Int8Kernel {
    /// rten's kernel for this processor, with the weights as it needs them.
    pub fn detect() -> Int8Kernel {
        static DETECTED: LazyLock<(String, bool)> = LazyLock::new(|| {
            let gemm = GemmExecutor::<u8, i8, i32>::default();
            (gemm.kernel_name().to_owned(), gemm.may_saturate())
        });
        let (name, saturates) = &*DETECTED;
        let weights = if *saturates { Int8Weights::Split } else { Int8Weights::Whole };
        Int8Kernel { name, weights }
    }
}

impl fmt::Display for Int8Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        match self.weights {
            Int8Weights::Whole => Ok(()),
            Int8Weights::Split => f.write_str(" with split weights"),
        }
    }
}

/// The difference between `i8` and `u8` representations.
const OFFSET: i32 = 128;

/// Rewrites the integer products of `graph`, described by output in `products`, so that rten computes them exactly. Returns
/// whether rten may prepack the weights.
pub(super) fn rewrite(
    graph: &mut GraphProto,
    products: &HashMap<String, IntegerProduct>,
    weights: Int8Weights,
) -> Result<bool, GraphError> {
    let nodes = std::mem::take(&mut graph.node);
    let mut rewriter = Rewriter {
        prefix: unused_prefix(graph, &nodes),
        initializers: &mut graph.initializer,
        nodes: Vec::with_capacity(nodes.len()),
        weights,
        parts: HashMap::new(),
        next: 0,
    };
    for node in nodes {
        match node.output.first().and_then(|output| products.get(output)) {
            None => rewriter.nodes.push(node),
            Some(product) if node.op_type == "ConvInteger" => rewriter.convolve(node, product)?,
            Some(product) => rewriter.multiply(&node, product)?,
        }
    }
    graph.node = rewriter.nodes;
    let has_zero = |node: &NodeProto| node.op_type == "MatMulInteger" && !operand(node, 3).is_empty();
    Ok(!graph.node.iter().any(has_zero))
}

/// A prefix that no name of the graph has.
fn unused_prefix(graph: &GraphProto, nodes: &[NodeProto]) -> String {
    let names = || {
        let initializers = graph.initializer.iter().map(|tensor| &tensor.name);
        let inputs = graph.input.iter().map(|input| &input.name);
        initializers.chain(inputs).chain(nodes.iter().flat_map(|node| &node.output))
    };
    let mut prefix = "int8".to_owned();
    while names().any(|name| name.starts_with(&prefix)) {
        prefix.push('_');
    }
    prefix
}

struct Rewriter<'a> {
    prefix: String,
    initializers: &'a mut Vec<TensorProto>,
    nodes: Vec<NodeProto>,
    weights: Int8Weights,
    /// Rewritten weights by name and element type: layers may share weights.
    parts: HashMap<(String, i32), Vec<String>>,
    next: usize,
}

impl Rewriter<'_> {
    /// A matrix product, `(A - a) (B - b)`. rten gets `A`, `B` as one or two parts of i8, and `a` where it is one number;
    /// what else the zero points do is subtracted: `a` times the sums of the columns of `B`, and the sums of the rows of
    /// `A - a` times `b`.
    fn multiply(&mut self, node: &NodeProto, product: &IntegerProduct) -> Result<(), GraphError> {
        let [left, right] = &product.operands;
        let [left_rank, right_rank] = [left, right].map(|operand| operand.shape.len());
        let [by_row, by_column] = product.zero_ranks.map(|rank| rank > 0);
        // Where its kernel saturates, rten wraps the zero point of i8.
        let left_is_moved = left.kind == ElementKind::Int8 && self.weights == Int8Weights::Split;
        let left_offset = if left_is_moved { OFFSET } else { 0 };
        let right_offset = if right.kind == ElementKind::Uint8 { -OFFSET } else { 0 };
        let (left_zero, right_zero) = (operand(node, 2), operand(node, 3));

        let input = self.moved(&operand(node, 0), left_offset, data_type::UINT8);
        let parts = self.parts(&operand(node, 1), right_offset, data_type::INT8);
        let zero =
            if by_row { String::new() } else { self.moved_zero(&left_zero, left_offset, data_type::UINT8) };
        let is_symmetric = self.is_everywhere(&right_zero, -right_offset);
        let depth = right.shape.iter().rev().nth(usize::from(right_rank > 1)).copied().flatten();
        let mut corrections = Vec::new();
        let mut passed = String::new();
        match depth {
            _ if is_symmetric && !by_row => {}
            Some(depth) => {
                let row_zeros =
                    by_row.then(|| self.row_zeros(&left_zero, left_offset, left_rank.min(right_rank)));
                if let Some(zeros) = &row_zeros {
                    let sums = self.column_sums(&parts, depth, left_rank);
                    corrections.push(self.op("Mul", &[zeros, &sums], &[]));
                }
                if !is_symmetric {
                    let mut sums = self.row_sums(&input, &zero, depth, right_rank);
                    if let Some(zeros) = &row_zeros {
                        let depth = self.number(depth as i32);
                        let zeros = self.op("Mul", &[zeros, &depth], &[]);
                        sums = self.op("Sub", &[&sums, &zeros], &[]);
                    }
                    let zeros = self.widened_zero(&right_zero, right_offset);
                    corrections.push(self.op("Mul", &[&sums, &zeros], &[]));
                }
            }
            // These weights are not constant, so not prepacked, and a scalar zero point is safe.
            None if !by_row && !by_column => {
                passed = self.moved_zero(&right_zero, right_offset, data_type::INT8);
            }
            None => {
                let message = "zero points by row or column with weights of unknown shape";
                return Err(GraphError::new(ErrorKind::Unsupported, message));
            }
        }
        let mut products = Vec::with_capacity(parts.len());
        for part in &parts {
            // The zero point belongs to the sum of the parts.
            let passed = std::mem::take(&mut passed);
            products.push(self.op("MatMulInteger", &[&input, part, &zero, &passed], &[]));
        }
        let mut result = self.sum(products);
        for correction in corrections {
            result = self.op("Sub", &[&result, &correction], &[]);
        }
        self.finish(node.output.clone());
        Ok(())
    }

    /// Zero points by row in 32 bits, as they are multiplied with columns.
    fn row_zeros(&mut self, zeros: &str, offset: i32, least_rank: usize) -> String {
        let wide = self.widened_zero(zeros, offset);
        if least_rank < 2 {
            return wide;
        }
        let shape =
            self.constant(data_type::INT64, &[2], [-1i64, 1].iter().flat_map(|d| d.to_le_bytes()).collect());
        self.op("Reshape", &[&wide, &shape], &[])
    }

    /// The sums of the columns of the weights: the product of ones with them.
    fn column_sums(&mut self, parts: &[String], depth: usize, rank: usize) -> String {
        let dims: &[i64] = if rank > 1 { &[1, depth as i64] } else { &[depth as i64] };
        let ones = self.constant(data_type::UINT8, dims, vec![1; depth]);
        let sums = parts.iter().map(|part| self.op("MatMulInteger", &[&ones, part], &[])).collect();
        self.sum(sums)
    }

    /// The sums of the rows of `input - zero`: its product with ones.
    fn row_sums(&mut self, input: &str, zero: &str, depth: usize, rank: usize) -> String {
        let dims: &[i64] = if rank > 1 { &[depth as i64, 1] } else { &[depth as i64] };
        let ones = self.constant(data_type::INT8, dims, vec![1; depth]);
        self.op("MatMulInteger", &[input, &ones, zero], &[])
    }

    /// Lets the last operator compute `output`.
    fn finish(&mut self, output: Vec<String>) {
        if let Some(last) = self.nodes.last_mut() {
            last.output = output;
        }
    }

    /// A convolution: rten has its weights on the left, where they are u8, and moves the image to i8 exactly.
    fn convolve(&mut self, mut node: NodeProto, product: &IntegerProduct) -> Result<(), GraphError> {
        self.pad(&mut node, product)?;
        if self.weights == Int8Weights::Whole {
            self.nodes.push(node);
            return Ok(());
        }
        let offset = if product.operands[1].kind == ElementKind::Int8 { OFFSET } else { 0 };
        let parts = self.parts(&operand(&node, 1), offset, data_type::UINT8);
        let mut weights_zero = self.moved_zero(&operand(&node, 3), offset, data_type::UINT8);
        let (image, zero) = (operand(&node, 0), operand(&node, 2));
        let mut products = Vec::with_capacity(parts.len());
        for part in parts {
            let output = self.name();
            // The zero point belongs to the sum of the parts.
            let input = vec![image.clone(), part, zero.clone(), std::mem::take(&mut weights_zero)];
            self.nodes.push(NodeProto {
                name: output.clone(),
                input,
                output: vec![output.clone()],
                ..node.clone()
            });
            products.push(output);
        }
        self.sum(products);
        self.finish(node.output);
        Ok(())
    }

    /// Pads the image of a convolution with its zero point. rten pads with 0 after it has moved `u8` to `i8`.
    fn pad(&mut self, node: &mut NodeProto, product: &IntegerProduct) -> Result<(), GraphError> {
        let pads = explicit_pads(node, product)?;
        node.attribute.retain(|a| !matches!(a.name.as_str(), "pads" | "auto_pad"));
        if pads.iter().all(|&pad| pad == 0) {
            return Ok(());
        }
        let (before, after) = pads.split_at(pads.len() / 2);
        let pads = [&[0, 0], before, &[0, 0], after].concat();
        let raw = pads.iter().flat_map(|pad| pad.to_le_bytes()).collect();
        let pads = self.constant(data_type::INT64, &[pads.len() as i64], raw);
        let (image, zero) = (operand(node, 0), operand(node, 2));
        if let Some(input) = node.input.first_mut() {
            *input = self.op("Pad", &[&image, &pads, &zero], &[]);
        }
        Ok(())
    }

    /// `weights + offset` as bytes of type `target`: as they are, or as two halves.
    ///
    /// Halves of i8 are within -64..=64, so that two products with any u8 fit 16 bits; halves of u8 within 0..=128, which
    /// holds for products with any i8.
    fn parts(&mut self, weights: &str, offset: i32, target: i32) -> Vec<String> {
        let key = (weights.to_owned(), target);
        if let Some(parts) = self.parts.get(&key) {
            return parts.clone();
        }
        let parts = match self.weights {
            Int8Weights::Whole => vec![self.moved(weights, offset, target)],
            Int8Weights::Split => {
                let whole = self.widened(weights, offset);
                let two = self.number(2);
                let first = self.op("Div", &[&whole, &two], &[]);
                let second = self.op("Sub", &[&whole, &first], &[]);
                vec![self.cast(&first, target), self.cast(&second, target)]
            }
        };
        self.parts.insert(key, parts.clone());
        parts
    }

    /// The sum of one or two products.
    fn sum(&mut self, products: Vec<String>) -> String {
        let sum = products.into_iter().reduce(|first, second| self.op("Add", &[&first, &second], &[]));
        sum.unwrap_or_default()
    }

    /// Whether the bytes of a zero point are all `number`; one that is left out is 0.
    fn is_everywhere(&self, zero: &str, number: i32) -> bool {
        if zero.is_empty() {
            return number == 0;
        }
        let all = |tensor: &TensorProto| {
            let raw = tensor.raw_data.iter().all(|&byte| byte == number as u8);
            raw && tensor.int32_data.iter().all(|&given| given == number)
        };
        self.initializers.iter().any(|tensor| tensor.name == zero && all(tensor))
    }

    /// `value + offset` in 32 bits.
    fn widened(&mut self, value: &str, offset: i32) -> String {
        let wide = self.cast(value, data_type::INT32);
        if offset == 0 {
            return wide;
        }
        let offset = self.number(offset);
        self.op("Add", &[&wide, &offset], &[])
    }

    /// The same of a zero point, which is 0 where there is none.
    fn widened_zero(&mut self, zero: &str, offset: i32) -> String {
        if zero.is_empty() { self.number(offset) } else { self.widened(zero, offset) }
    }

    /// `value + offset` as bytes of type `target`; the very value where there is no offset.
    fn moved(&mut self, value: &str, offset: i32, target: i32) -> String {
        if offset == 0 {
            return value.to_owned();
        }
        let wide = self.widened(value, offset);
        self.cast(&wide, target)
    }

    /// The same of a zero point, which is 0 where there is none.
    fn moved_zero(&mut self, zero: &str, offset: i32, target: i32) -> String {
        if zero.is_empty() && offset != 0 {
            return self.constant(target, &[], vec![offset as u8]);
        }
        self.moved(zero, offset, target)
    }

    fn cast(&mut self, value: &str, to: i32) -> String {
        self.op("Cast", &[value], &[("to", Attribute::Int(i64::from(to)))])
    }

    fn number(&mut self, number: i32) -> String {
        self.constant(data_type::INT32, &[], number.to_le_bytes().to_vec())
    }

    fn constant(&mut self, data_type: i32, dims: &[i64], raw_data: Vec<u8>) -> String {
        let name = self.name();
        let dims = dims.to_vec();
        self.initializers.push(TensorProto {
            name: name.clone(),
            dims,
            data_type,
            raw_data,
            ..TensorProto::default()
        });
        name
    }

    fn op(&mut self, op_type: &str, inputs: &[&str], attributes: &[(&str, Attribute)]) -> String {
        let output = self.name();
        self.nodes.push(NodeProto {
            name: output.clone(),
            op_type: op_type.to_owned(),
            input: inputs.iter().map(|&input| input.to_owned()).collect(),
            output: vec![output.clone()],
            attribute: attributes.iter().map(|(name, value)| attribute(name, value)).collect(),
            ..NodeProto::default()
        });
        output
    }

    fn name(&mut self) -> String {
        self.next += 1;
        format!("{}{}", self.prefix, self.next)
    }
}

/// The name of an input, empty where it is left out.
fn operand(node: &NodeProto, index: usize) -> String {
    node.input.get(index).cloned().unwrap_or_default()
}

/// The padding of a convolution: before each dimension of the board, then after each.
fn explicit_pads(node: &NodeProto, product: &IntegerProduct) -> Result<Vec<i64>, GraphError> {
    let [Operand { shape: image, .. }, Operand { shape: filters, .. }] = &product.operands;
    let rank = image.len().saturating_sub(2);
    let find = |name: &str| node.attribute.iter().find(|a| a.name == name);
    let automatic = find("auto_pad").and_then(|a| a.s.as_deref()).unwrap_or_default();
    if !automatic.starts_with(b"SAME") {
        return Ok(find("pads").map_or_else(|| vec![0; 2 * rank], |a| a.ints.clone()));
    }
    let step = |name: &str, dim: usize| {
        let given = find(name).and_then(|a| a.ints.get(dim)).and_then(|&step| usize::try_from(step).ok());
        given.unwrap_or(1)
    };
    let mut pads = vec![0; 2 * rank];
    for dim in 0..rank {
        let (Some(Some(size)), Some(Some(kernel))) = (image.get(dim + 2), filters.get(dim + 2)) else {
            let message = "auto_pad of an integer convolution over an input of unknown size";
            return Err(GraphError::new(ErrorKind::Unsupported, message));
        };
        let total = same_padding(*size, *kernel, step("strides", dim), step("dilations", dim)) as i64;
        // The check has refused more before than after.
        pads[dim] = total / 2;
        pads[rank + dim] = total - total / 2;
    }
    Ok(pads)
}
