//! Writing dense and elementwise graphs as TensorFlow Lite files.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::HashMap;

use super::flatbuffer_write::{Field, Object, file};
use super::operator_names as code;
use crate::{Format, LoadError, LoadErrorKind};
use tabia_onnx::proto::{ModelProto, NodeProto, TensorProto, ValueInfoProto, data_type};
use tabia_onnx::read;

/// The operators that can be written.
const SUPPORTED: &str = "Add, Cast, Clip (0 to 1, 0 to 6, -1 to 1), Concat, Div by constants, Flatten, Gemm, Identity, MatMul with \
                         constants, Mul, Relu, Reshape, Sigmoid, Sub, Tanh, and 8-bit products";

/// Options of operators, by their number in the schema.
const FULLY_CONNECTED_OPTIONS: u8 = 8;
const CONCATENATION_OPTIONS: u8 = 10;
const ADD_OPTIONS: u8 = 11;
const RESHAPE_OPTIONS: u8 = 17;
const MUL_OPTIONS: u8 = 21;
const SUB_OPTIONS: u8 = 28;

/// Writes a graph with metadata: names and texts.
///
/// # Errors
/// If an operator cannot be written, or the file would be too large.
pub(crate) fn write(model: &ModelProto, metadata: &[(&str, &str)]) -> Result<Vec<u8>, LoadError> {
    let Some(graph) = &model.graph else { return Err(unsupported("no graph")) };
    let mut writing = Writing::default();
    for tensor in &graph.initializer {
        writing.known.insert(tensor.name.clone(), constant(tensor)?);
    }
    let mut inputs = Vec::new();
    for input in &graph.input {
        // Older files list their weights as inputs too.
        if writing.known.contains_key(&input.name) {
            continue;
        }
        let shape = position_shape(input)?;
        let value = writing.tensor(&input.name, &shape);
        inputs.push((input.name.clone(), value.index));
        writing.known.insert(input.name.clone(), Known::Value(value));
    }
    for node in &graph.node {
        writing.node(node).map_err(|e| e.at_operator(&node.op_type))?;
    }
    let mut outputs = Vec::new();
    for output in &graph.output {
        let Some(Known::Value(value)) = writing.known.get(&output.name) else {
            return Err(unsupported("output is a constant").at_tensor(&output.name));
        };
        outputs.push((output.name.clone(), value.index));
    }
    writing.finish(&graph.name, &inputs, &outputs, metadata)
}

/// What is known of a value of the graph.
#[derive(Clone, Debug)]
enum Known {
    Value(Value),
    Floats {
        shape: Vec<usize>,
        data: Vec<f32>,
    },
    Ints {
        shape: Vec<usize>,
        data: Vec<i64>,
    },
    /// The 8-bit form of a value.
    Quantised(Value),
    /// The scale of an 8-bit form, times these scales of weights.
    Scale(Vec<f32>),
    /// The zero point of an 8-bit form.
    Zero,
    /// The product of a quantised value and 8-bit weights `[outputs, inputs]`, without their scales.
    Sums {
        of: Value,
        outputs: usize,
        weights: Vec<f32>,
    },
}

/// A tensor that is computed, and its shape without the batch.
#[derive(Clone, Debug)]
struct Value {
    index: i32,
    shape: Vec<usize>,
}

#[derive(Default)]
struct Writing {
    known: HashMap<String, Known>,
    tensors: Vec<Object>,
    /// The first is empty: the buffer of tensors that are computed.
    buffers: Vec<Vec<u8>>,
    /// The operator codes used.
    codes: Vec<i32>,
    operators: Vec<Object>,
}

impl Writing {
    fn node(&mut self, node: &NodeProto) -> Result<(), LoadError> {
        let results = match node.op_type.as_str() {
            "Constant" => {
                let tensor = node.attribute.iter().find_map(|a| a.t.as_ref());
                vec![constant(tensor.ok_or_else(|| unsupported("constant without a tensor"))?)?]
            }
            "Identity" | "Dropout" | "Cast" => vec![self.operand(node, 0)?.clone()],
            "Gemm" => vec![self.gemm(node)?],
            "MatMul" => vec![self.matmul(node)?],
            "MatMulInteger" => vec![self.integer_product(node)?],
            "DynamicQuantizeLinear" => {
                let value = self.value(node, 0)?;
                vec![Known::Quantised(value), Known::Scale(vec![1.0]), Known::Zero]
            }
            "Add" => vec![self.arithmetic(node, code::ADD, ADD_OPTIONS)?],
            "Sub" => vec![self.arithmetic(node, code::SUB, SUB_OPTIONS)?],
            "Mul" => vec![self.product(node)?],
            "Div" => vec![self.quotient(node)?],
            "Relu" => vec![self.unary(node, code::RELU)?],
            "Tanh" => vec![self.unary(node, code::TANH)?],
            "Sigmoid" => vec![self.unary(node, code::LOGISTIC)?],
            "Clip" => vec![self.clip(node)?],
            "Concat" => vec![self.concat(node)?],
            "Reshape" | "Flatten" => vec![self.reshape(node)?],
            _ => {
                return Err(unsupported(format!("cannot be written; the operators written are {SUPPORTED}")));
            }
        };
        for (name, known) in node.output.iter().zip(results) {
            self.known.insert(name.clone(), known);
        }
        Ok(())
    }

    fn operand(&self, node: &NodeProto, at: usize) -> Result<&Known, LoadError> {
        let name = node.input.get(at).filter(|name| !name.is_empty());
        name.and_then(|name| self.known.get(name)).ok_or_else(|| unsupported(format!("no input {at}")))
    }

    fn value(&self, node: &NodeProto, at: usize) -> Result<Value, LoadError> {
        match self.operand(node, at)? {
            Known::Value(value) => Ok(value.clone()),
            _ => Err(unsupported(format!("input {at} is a constant (expected a computed value)"))),
        }
    }

    fn floats(&self, node: &NodeProto, at: usize) -> Result<(Vec<usize>, Vec<f32>), LoadError> {
        match self.operand(node, at)? {
            Known::Floats { shape, data } => Ok((shape.clone(), data.clone())),
            _ => Err(unsupported(format!("input {at} is not a constant of floats"))),
        }
    }

    fn ints(&self, node: &NodeProto, at: usize) -> Result<(Vec<usize>, Vec<i64>), LoadError> {
        match self.operand(node, at)? {
            Known::Ints { shape, data } => Ok((shape.clone(), data.clone())),
            _ => Err(unsupported(format!("input {at} is not a constant of integers"))),
        }
    }

    fn gemm(&mut self, node: &NodeProto) -> Result<Known, LoadError> {
        let factor = |name: &str| attribute(node, name).and_then(|a| a.f).unwrap_or(1.0);
        let flag = |name: &str| attribute(node, name).and_then(|a| a.i).unwrap_or(0) != 0;
        if factor("alpha") != 1.0 || factor("beta") != 1.0 || flag("transA") {
            return Err(unsupported("alpha, beta or transA"));
        }
        let value = self.value(node, 0)?;
        let (shape, data) = self.floats(node, 1)?;
        let (outputs, weights) = matrix(&shape, data, !flag("transB"))?;
        let bias = if node.input.get(2).is_some_and(|name| !name.is_empty()) {
            Some(self.floats(node, 2)?.1)
        } else {
            None
        };
        self.fully_connected(&value, outputs, &weights, bias)
    }

    fn matmul(&mut self, node: &NodeProto) -> Result<Known, LoadError> {
        let value = self.value(node, 0)?;
        let (shape, data) = self.floats(node, 1)?;
        let (outputs, weights) = matrix(&shape, data, true)?;
        self.fully_connected(&value, outputs, &weights, None)
    }

    fn integer_product(&self, node: &NodeProto) -> Result<Known, LoadError> {
        let (Known::Quantised(of), Known::Zero) = (self.operand(node, 0)?, self.operand(node, 2)?) else {
            return Err(unsupported("only products of a dynamically quantised value can be written"));
        };
        let zero = match node.input.get(3).filter(|name| !name.is_empty()) {
            Some(_) => match self.ints(node, 3)?.1.as_slice() {
                [zero] => *zero,
                _ => return Err(unsupported("a zero point for each column")),
            },
            None => 0,
        };
        let (shape, data) = self.ints(node, 1)?;
        let data = data.into_iter().map(|weight| (weight - zero) as f32).collect();
        let (outputs, weights) = matrix(&shape, data, true)?;
        Ok(Known::Sums { of: of.clone(), outputs, weights })
    }

    /// A product with a constant, of two values, or of integer sums with their scales.
    fn product(&mut self, node: &NodeProto) -> Result<Known, LoadError> {
        match (self.operand(node, 0)?.clone(), self.operand(node, 1)?.clone()) {
            (Known::Scale(own), Known::Floats { data, .. })
            | (Known::Floats { data, .. }, Known::Scale(own)) => match own.as_slice() {
                [own] => Ok(Known::Scale(data.iter().map(|scale| own * scale).collect())),
                _ => Err(unsupported("a scale of scales")),
            },
            (Known::Sums { of, outputs, weights }, Known::Scale(scales))
            | (Known::Scale(scales), Known::Sums { of, outputs, weights }) => {
                if !matches!(scales.len(), 1) && scales.len() != outputs {
                    return Err(unsupported(format!("{} scales of {outputs} outputs", scales.len())));
                }
                let inputs = weights.len() / outputs.max(1);
                let scale =
                    |at: usize| scales.get((at / inputs.max(1)) % scales.len()).copied().unwrap_or(0.0);
                let weights: Vec<f32> =
                    weights.iter().enumerate().map(|(at, weight)| weight * scale(at)).collect();
                self.fully_connected(&of, outputs, &weights, None)
            }
            _ => self.arithmetic(node, code::MUL, MUL_OPTIONS),
        }
    }

    fn quotient(&mut self, node: &NodeProto) -> Result<Known, LoadError> {
        let value = self.value(node, 0)?;
        let (shape, data) = self.floats(node, 1)?;
        let inverse: Vec<f32> = data.iter().map(|divisor| 1.0 / divisor).collect();
        let inverse = self.weights("divisor", &shape, &inverse)?;
        Ok(self.operator(code::MUL, &[value.index, inverse], &value.shape, MUL_OPTIONS, Vec::new()))
    }

    fn fully_connected(
        &mut self,
        value: &Value,
        outputs: usize,
        weights: &[f32],
        bias: Option<Vec<f32>>,
    ) -> Result<Known, LoadError> {
        let inputs = weights.len() / outputs.max(1);
        if value.shape != [inputs] {
            let message = format!("a layer of {inputs} inputs over a value of shape {:?}", value.shape);
            return Err(unsupported(message));
        }
        let bias = match bias {
            // One number for all outputs is a bias too.
            Some(bias) if bias.len() == 1 && outputs > 1 => {
                Some(vec![*bias.first().unwrap_or(&0.0); outputs])
            }
            Some(bias) if bias.len() != outputs => {
                return Err(unsupported(format!("a bias of {} numbers for {outputs} outputs", bias.len())));
            }
            other => other,
        };
        let weights = self.weights("weight", &[outputs, inputs], weights)?;
        let bias = match bias {
            Some(bias) => self.weights("bias", &[outputs], &bias)?,
            None => -1,
        };
        Ok(self.operator(
            code::FULLY_CONNECTED,
            &[value.index, weights, bias],
            &[outputs],
            FULLY_CONNECTED_OPTIONS,
            Vec::new(),
        ))
    }

    fn arithmetic(&mut self, node: &NodeProto, code: i32, options: u8) -> Result<Known, LoadError> {
        let (left, right) = (self.operand(node, 0)?.clone(), self.operand(node, 1)?.clone());
        let like = match (&left, &right) {
            (Known::Value(a), Known::Value(b)) if a.shape == b.shape => a.shape.clone(),
            (Known::Value(value), Known::Floats { .. }) | (Known::Floats { .. }, Known::Value(value)) => {
                value.shape.clone()
            }
            _ => return Err(unsupported("operands of these shapes")),
        };
        let mut indices = Vec::new();
        for operand in [left, right] {
            indices.push(match operand {
                Known::Floats { shape, data } => {
                    let own = if shape.len() == like.len() + 1 && shape.first() == Some(&1) {
                        shape.get(1..).unwrap_or_default().to_vec()
                    } else {
                        shape
                    };
                    let fits = own.len() <= like.len()
                        && own.iter().rev().zip(like.iter().rev()).all(|(&c, &v)| c == 1 || c == v);
                    if !fits {
                        return Err(unsupported(format!("a constant of shape {own:?} with {like:?}")));
                    }
                    self.weights("constant", &own, &data)?
                }
                Known::Value(value) => value.index,
                _ => -1,
            });
        }
        Ok(self.operator(code, &indices, &like, options, Vec::new()))
    }

    fn unary(&mut self, node: &NodeProto, code: i32) -> Result<Known, LoadError> {
        let value = self.value(node, 0)?;
        Ok(self.operator(code, &[value.index], &value.shape, 0, Vec::new()))
    }

    fn clip(&mut self, node: &NodeProto) -> Result<Known, LoadError> {
        let bound = |at: usize, name: &str| match self.floats(node, at) {
            Ok((_, data)) => data.first().copied(),
            Err(_) => attribute(node, name).and_then(|a| a.f),
        };
        let code = match (bound(1, "min"), bound(2, "max")) {
            (Some(0.0), None) => code::RELU,
            (Some(0.0), Some(1.0)) => code::RELU_0_TO_1,
            (Some(0.0), Some(6.0)) => code::RELU6,
            (Some(-1.0), Some(1.0)) => code::RELU_N1_TO_1,
            (low, high) => return Err(unsupported(format!("bounds {low:?} and {high:?}"))),
        };
        self.unary(node, code)
    }

    fn concat(&mut self, node: &NodeProto) -> Result<Known, LoadError> {
        let values = (0..node.input.len()).map(|at| self.value(node, at)).collect::<Result<Vec<_>, _>>()?;
        let axis = attribute(node, "axis").and_then(|a| a.i).unwrap_or(0);
        let Some(mut shape) = values.first().map(|value| value.shape.clone()) else {
            return Err(unsupported("no inputs"));
        };
        let rank = shape.len() as i64 + 1;
        let axis = if axis < 0 { axis + rank } else { axis };
        let Some(joined) = usize::try_from(axis - 1).ok().filter(|_| axis < rank) else {
            return Err(unsupported("concatenation along the batch"));
        };
        let total = values.iter().map(|value| value.shape.get(joined).copied().unwrap_or(0)).sum();
        if let Some(size) = shape.get_mut(joined) {
            *size = total;
        }
        let indices: Vec<i32> = values.iter().map(|value| value.index).collect();
        let options = vec![(0, Field::Int(axis as i32))];
        Ok(self.operator(code::CONCATENATION, &indices, &shape, CONCATENATION_OPTIONS, options))
    }

    fn reshape(&mut self, node: &NodeProto) -> Result<Known, LoadError> {
        let value = self.value(node, 0)?;
        let width: usize = value.shape.iter().product();
        let shape: Vec<usize> = if node.op_type == "Flatten" {
            if attribute(node, "axis").and_then(|a| a.i).unwrap_or(1) != 1 {
                return Err(unsupported("an axis other than 1"));
            }
            vec![width]
        } else {
            let (_, target) = self.ints(node, 1)?;
            let Some((batch, rest)) = target.split_first() else { return Err(unsupported("a scalar")) };
            let known: i64 = rest.iter().filter(|d| **d > 0).product();
            let free = |d: &i64| if *d == -1 { width as i64 / known.max(1) } else { *d };
            let shape: Vec<usize> = rest.iter().filter_map(|d| usize::try_from(free(d)).ok()).collect();
            let keeps_positions = matches!(batch, -1..=1) && shape.len() == rest.len();
            if !keeps_positions || shape.iter().product::<usize>() != width {
                return Err(unsupported(format!("from {:?} to {target:?}", value.shape)));
            }
            shape
        };
        let target: Vec<i32> = std::iter::once(-1).chain(shape.iter().map(|&d| d as i32)).collect();
        let bytes = target.iter().flat_map(|d| d.to_le_bytes()).collect();
        let index = self.constant_tensor("shape", &[target.len()], 2, bytes)?;
        let options = vec![(0, Field::Object(Object::Ints(target)))];
        Ok(self.operator(code::RESHAPE, &[value.index, index], &shape, RESHAPE_OPTIONS, options))
    }

    /// Adds a tensor that is computed.
    fn tensor(&mut self, name: &str, shape: &[usize]) -> Value {
        let dims = |batch: i32| std::iter::once(batch).chain(shape.iter().map(|&d| d as i32)).collect();
        self.tensors.push(Object::Table(vec![
            (0, Field::Object(Object::Ints(dims(1)))),
            (1, Field::Byte(0)),
            (2, Field::Int(0)),
            (3, Field::Object(Object::Text(name.to_owned()))),
            (7, Field::Object(Object::Ints(dims(-1)))),
        ]));
        Value { index: self.tensors.len() as i32 - 1, shape: shape.to_vec() }
    }

    /// Adds a constant of floats.
    fn weights(&mut self, name: &str, shape: &[usize], data: &[f32]) -> Result<i32, LoadError> {
        self.constant_tensor(name, shape, 0, data.iter().flat_map(|v| v.to_le_bytes()).collect())
    }

    fn constant_tensor(
        &mut self,
        name: &str,
        shape: &[usize],
        element: u8,
        bytes: Vec<u8>,
    ) -> Result<i32, LoadError> {
        let stored: usize = self.buffers.iter().map(Vec::len).sum();
        // Offsets in the file are 32-bit.
        if stored.saturating_add(bytes.len()) > super::MAX_FILE {
            let message = format!("more than {} MiB of weights", super::MAX_FILE >> 20);
            return Err(LoadError::new(LoadErrorKind::TooLarge, Format::Tflite, message));
        }
        self.buffers.push(bytes);
        let index = self.tensors.len();
        self.tensors.push(Object::Table(vec![
            (0, Field::Object(Object::Ints(shape.iter().map(|&d| d as i32).collect()))),
            (1, Field::Byte(element)),
            (2, Field::Int(self.buffers.len() as i32)),
            (3, Field::Object(Object::Text(format!("{name}/{index}")))),
        ]));
        Ok(index as i32)
    }

    /// Adds an operator with one result of this shape.
    fn operator(
        &mut self,
        code: i32,
        inputs: &[i32],
        shape: &[usize],
        options_type: u8,
        options: Vec<(usize, Field)>,
    ) -> Known {
        let number = self.codes.iter().position(|known| *known == code).unwrap_or_else(|| {
            self.codes.push(code);
            self.codes.len() - 1
        });
        let name = format!("{}/{}", code::name(code).to_ascii_lowercase(), self.operators.len());
        let value = self.tensor(&name, shape);
        let mut fields = vec![
            (0, Field::Int(number as i32)),
            (1, Field::Object(Object::Ints(inputs.to_vec()))),
            (2, Field::Object(Object::Ints(vec![value.index]))),
        ];
        if options_type != 0 {
            fields.push((3, Field::Byte(options_type)));
            fields.push((4, Field::Object(Object::Table(options))));
        }
        self.operators.push(Object::Table(fields));
        Known::Value(value)
    }

    fn finish(
        mut self,
        name: &str,
        inputs: &[(String, i32)],
        outputs: &[(String, i32)],
        metadata: &[(&str, &str)],
    ) -> Result<Vec<u8>, LoadError> {
        let narrow = |code: i32| code.min(i32::from(i8::MAX)) as u8;
        let codes = self.codes.iter().map(|&code| {
            Object::Table(vec![(0, Field::Byte(narrow(code))), (2, Field::Int(1)), (3, Field::Int(code))])
        });
        let codes = codes.collect();
        let indices = |list: &[(String, i32)]| Object::Ints(list.iter().map(|(_, index)| *index).collect());
        let subgraph = Object::Table(vec![
            (0, Field::Object(Object::Tables(std::mem::take(&mut self.tensors)))),
            (1, Field::Object(indices(inputs))),
            (2, Field::Object(indices(outputs))),
            (3, Field::Object(Object::Tables(std::mem::take(&mut self.operators)))),
            (4, Field::Object(Object::Text(name.to_owned()))),
        ]);
        let mut entries = Vec::new();
        for (name, text) in metadata {
            self.buffers.push(text.as_bytes().to_vec());
            entries.push(Object::Table(vec![
                (0, Field::Object(Object::Text((*name).to_owned()))),
                (1, Field::Int(self.buffers.len() as i32)),
            ]));
        }
        let names = |list: &[(String, i32)]| {
            let entry = |(name, index): &(String, i32)| {
                Object::Table(vec![(0, Field::Object(Object::Text(name.clone()))), (1, Field::Int(*index))])
            };
            Object::Tables(list.iter().map(entry).collect())
        };
        let signature = Object::Table(vec![
            (0, Field::Object(names(inputs))),
            (1, Field::Object(names(outputs))),
            (2, Field::Object(Object::Text("serving_default".to_owned()))),
            (4, Field::Int(0)),
        ]);
        let empty = Object::Table(Vec::new());
        let buffer = |data: Vec<u8>| Object::Table(vec![(0, Field::Object(Object::Data(data)))]);
        let buffers = std::iter::once(empty).chain(self.buffers.into_iter().map(buffer)).collect();
        let model = Object::Table(vec![
            (0, Field::Int(3)),
            (1, Field::Object(Object::Tables(codes))),
            (2, Field::Object(Object::Tables(vec![subgraph]))),
            (3, Field::Object(Object::Text(String::new()))),
            (4, Field::Object(Object::Tables(buffers))),
            (6, Field::Object(Object::Tables(entries))),
            (7, Field::Object(Object::Tables(vec![signature]))),
        ]);
        Ok(file(model, b"TFL3"))
    }
}

fn constant(tensor: &TensorProto) -> Result<Known, LoadError> {
    let shape = tensor.dims.iter().filter_map(|&d| usize::try_from(d).ok()).collect();
    let integers = [data_type::INT64, data_type::INT32, data_type::INT8, data_type::UINT8, data_type::BOOL];
    if integers.contains(&tensor.data_type) {
        return Ok(Known::Ints { shape, data: read::ints(tensor)? });
    }
    Ok(Known::Floats { shape, data: read::floats(tensor)? })
}

/// The outputs of a matrix and its elements as `[outputs, inputs]`; `transposed` if it is `[inputs, outputs]`.
fn matrix(shape: &[usize], data: Vec<f32>, transposed: bool) -> Result<(usize, Vec<f32>), LoadError> {
    let &[rows, columns] = shape else {
        return Err(unsupported(format!("weights of shape {shape:?} (expected a matrix)")));
    };
    if rows == 0 || columns == 0 {
        return Err(unsupported("an empty matrix"));
    }
    if !transposed {
        return Ok((rows, data));
    }
    let turned = (0..columns).flat_map(|column| data.iter().skip(column).step_by(columns).copied()).collect();
    Ok((columns, turned))
}

/// The shape of an input without the batch.
fn position_shape(input: &ValueInfoProto) -> Result<Vec<usize>, LoadError> {
    let tensor = input.r#type.as_ref().and_then(|t| t.tensor_type.as_ref());
    let dims = tensor.filter(|t| t.elem_type == data_type::FLOAT).and_then(|t| t.shape.as_ref());
    let dims = dims.map(|shape| shape.dim.iter().skip(1).map(|d| d.dim_value));
    let shape: Option<Vec<usize>> = dims
        .and_then(|dims| dims.map(|d| d.and_then(|d| usize::try_from(d).ok()).filter(|d| *d > 0)).collect());
    let problem = || unsupported("input that is not a batch of floats of a known shape");
    shape.filter(|shape| !shape.is_empty()).ok_or_else(|| problem().at_tensor(&input.name))
}

fn attribute<'a>(node: &'a NodeProto, name: &str) -> Option<&'a tabia_onnx::proto::AttributeProto> {
    node.attribute.iter().find(|attribute| attribute.name == name)
}

fn unsupported(message: impl Into<String>) -> LoadError {
    LoadError::new(LoadErrorKind::Unsupported, Format::Tflite, message)
}
