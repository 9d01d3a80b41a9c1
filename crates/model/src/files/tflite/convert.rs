//! Converting TFLite operators to ONNX.
//!
//! The batch is always free, whatever the file declares, so values are described per position and operators that would mix
//! positions are rejected.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::{BTreeMap, BTreeSet};

use tabia_onnx::build::{Attribute, GraphBuilder, Node};
use tabia_onnx::proto::ModelProto;

use super::constants;
use super::flatbuffer::Table;
use super::operator_names as code;
use super::schema::{ElementType, Operator, Schema, Tensor, unsupported};
use crate::{Format, LoadError, LoadErrorKind};

/// The supported operators.
const SUPPORTED: &str = "ADD, CONCATENATION, DEQUANTIZE, FULLY_CONNECTED, LOGISTIC, MUL, QUANTIZE, RELU, RELU6, \
                         RELU_0_TO_1, RELU_N1_TO_1, RESHAPE, SUB and TANH";

/// Maximum elements of a value per position.
const MAX_WIDTH: usize = 1 << 20;

/// Prefixes of the names the builder gives to results: `gemm_3`, `relu_4`.
const EMITTED: [&str; 11] =
    ["add", "clip", "concat", "gemm", "mul", "relu", "reshape", "round", "sigmoid", "sub", "tanh"];

/// A run-time value of shape `[rows * batch, shape...]`.
#[derive(Clone, Debug)]
struct Value {
    node: Node,
    rows: usize,
    shape: Vec<usize>,
}

impl Value {
    fn row_width(&self) -> usize {
        self.shape.iter().product()
    }
}

/// The first subgraph as an ONNX graph. Inputs and outputs keep their order and are named by the signature if there is one.
pub(super) fn convert(schema: &Schema<'_>) -> Result<ModelProto, LoadError> {
    let mut conversion = Conversion {
        schema,
        builder: GraphBuilder::new("tflite"),
        values: BTreeMap::new(),
        dequantised: BTreeMap::new(),
        weights: BTreeMap::new(),
        names: BTreeSet::new(),
        elements_left: constants::MAX_ELEMENTS,
        batch: 1,
    };
    conversion.inputs()?;
    for operator in schema.operators()? {
        let operator = operator?;
        let located = |error: LoadError| match error.place() {
            crate::Place::File => error.at_operator(&operator.label),
            _ => error,
        };
        conversion.operator(&operator).map_err(located)?;
    }
    conversion.outputs()?;
    Ok(conversion.builder.finish())
}

struct Conversion<'a> {
    schema: &'a Schema<'a>,
    builder: GraphBuilder,
    values: BTreeMap<usize, Value>,
    /// The constants behind the outputs of DEQUANTIZE.
    dequantised: BTreeMap<usize, usize>,
    /// Weights in the graph, by tensor and shape.
    weights: BTreeMap<(usize, Vec<usize>), Node>,
    names: BTreeSet<String>,
    elements_left: usize,
    /// The declared batch size.
    batch: usize,
}

impl<'a> Conversion<'a> {
    fn inputs(&mut self) -> Result<(), LoadError> {
        let signature = self.schema.signature()?;
        let indices = self.schema.inputs()?;
        if !matches!(indices.len(), 1 | 2) {
            return Err(unsupported(format!("{} inputs (expected 1 or 2)", indices.len())));
        }
        for (position, index) in indices.into_iter().enumerate() {
            let tensor = self.schema.tensor(index)?;
            let grid = grid(&tensor)?;
            let (batch, shape) = input_shape(&tensor)?;
            if position > 0 && batch != self.batch {
                let message = format!("batch size {batch} (expected {}, as in the first input)", self.batch);
                return Err(malformed(message).at_tensor(tensor.name));
            }
            self.batch = batch;
            let name = alias(&signature.inputs, &tensor);
            let name = self.unique(name, tensor.index)?;
            let node = self.builder.input(&name, &shape);
            let value = self.rounded(Value { node, rows: 1, shape }, grid)?;
            self.define(&tensor, value)?;
        }
        Ok(())
    }

    fn outputs(&mut self) -> Result<(), LoadError> {
        let signature = self.schema.signature()?;
        let indices = self.schema.outputs()?;
        if indices.is_empty() {
            return Err(malformed("no outputs"));
        }
        for index in indices {
            let tensor = self.schema.tensor(index)?;
            let value = self.value(index)?;
            if value.rows != 1 {
                let message = format!("output with {} rows per position", value.rows);
                return Err(unsupported(message).at_tensor(tensor.name));
            }
            let name = alias(&signature.outputs, &tensor);
            let name = self.unique(name, tensor.index)?;
            self.builder.output(&value.node, &name, &value.shape);
        }
        Ok(())
    }

    fn operator(&mut self, operator: &Operator<'a>) -> Result<(), LoadError> {
        let result = match operator.code {
            code::DEQUANTIZE => return self.dequantize(operator),
            code::FULLY_CONNECTED => self.fully_connected(operator)?,
            code::CONCATENATION => self.concatenation(operator)?,
            code::RESHAPE => self.reshape(operator)?,
            code::ADD => self.arithmetic(operator, "Add", 11)?,
            code::MUL => self.arithmetic(operator, "Mul", 21)?,
            code::SUB => self.arithmetic(operator, "Sub", 28)?,
            code::RELU => self.unary(operator, Activation::Relu)?,
            code::RELU6 => self.unary(operator, Activation::Clip(0.0, 6.0))?,
            code::RELU_N1_TO_1 => self.unary(operator, Activation::Clip(-1.0, 1.0))?,
            code::RELU_0_TO_1 => self.unary(operator, Activation::Clip(0.0, 1.0))?,
            code::TANH => self.unary(operator, Activation::Tanh)?,
            code::LOGISTIC => self.unary(operator, Activation::Sigmoid)?,
            // The result's own grid is applied below.
            code::QUANTIZE => self.value(only(&operator.inputs, "input")?)?,
            _ => return Err(unsupported(format!("not supported; the operators read are {SUPPORTED}"))),
        };
        let tensor = self.schema.tensor(only(&operator.outputs, "output")?)?;
        let grid = grid(&tensor)?;
        let result = self.rounded(result, grid)?;
        self.define(&tensor, result)
    }

    /// A value rounded to the numbers that an integer tensor can hold.
    fn rounded(&mut self, value: Value, grid: Option<Grid>) -> Result<Value, LoadError> {
        let Some(Grid { scale, low, high }) = grid else { return Ok(value) };
        let steps = self.scalar(1.0 / scale)?;
        let node = self.builder.op("Mul", &[&value.node, &steps], &[]);
        let node = self.builder.op("Round", &[&node], &[]);
        let value = self.activated(Value { node, ..value }, Activation::Clip(low, high))?;
        let scale = self.scalar(scale)?;
        let node = self.builder.op("Mul", &[&value.node, &scale], &[]);
        Ok(Value { node, ..value })
    }

    /// Records that a tensor is a dequantised constant, which is decoded where it is used. A computed value is a number already.
    fn dequantize(&mut self, operator: &Operator<'_>) -> Result<(), LoadError> {
        let from = self.schema.tensor(only(&operator.inputs, "input")?)?;
        let to = self.schema.tensor(only(&operator.outputs, "output")?)?;
        if to.element != ElementType::FLOAT32 {
            return Err(other_type(&to));
        }
        if from.data.is_none() {
            let value = self.value(only(&operator.inputs, "input")?)?;
            return self.define(&to, value);
        }
        if to.data.is_some()
            || self.values.contains_key(&to.index)
            || self.dequantised.insert(to.index, from.index).is_some()
        {
            return Err(malformed("tensor computed twice").at_tensor(to.name));
        }
        Ok(())
    }

    fn fully_connected(&mut self, operator: &Operator<'_>) -> Result<Value, LoadError> {
        let (input, weights, bias) = match *operator.inputs.as_slice() {
            [input, weights] | [input, weights, -1] => (input, weights, None),
            [input, weights, bias] => (input, weights, Some(bias)),
            _ => return Err(operand_count(&operator.inputs, "2 or 3")),
        };
        let options = operator.options(8)?;
        if number::<i8>(options, 1)? != 0 {
            return Err(unsupported("shuffled weights"));
        }
        let keeps_dimensions = number::<u8>(options, 2)? != 0;
        let activation = fused(options, 0)?;

        let input = self.value(input)?;
        let weights = self.constant(weights)?;
        let [out, width] = *constants::shape(&weights)?.as_slice() else {
            let message = format!("weights of shape {:?} (expected a matrix)", weights.shape);
            return Err(shape_error(message).at_tensor(weights.name));
        };
        let last = input.shape.last().copied().unwrap_or(1);
        let row_width = input.row_width();
        let mismatched = if keeps_dimensions { last != width } else { (input.rows * row_width) % width != 0 };
        if mismatched {
            let message = format!("layer of {width} inputs over a value of shape {:?}", input.shape);
            return Err(shape_error(message).at_tensor(weights.name));
        }
        let matrix = self.weight(&weights, &[out, width])?;
        let bias = match bias {
            None => None,
            Some(index) => {
                let tensor = self.constant(index)?;
                let shape = constants::shape(&tensor)?;
                if shape.iter().product::<usize>() != out {
                    let message = format!("bias of shape {shape:?} (expected {out} elements)");
                    return Err(shape_error(message).at_tensor(tensor.name));
                }
                Some(self.weight(&tensor, &[out])?)
            }
        };

        let flat =
            Value { node: input.node.clone(), rows: input.rows * row_width / width, shape: vec![width] };
        let flat =
            if input.shape == flat.shape { flat } else { self.reshaped(&input, flat.rows, flat.shape)? };
        let mut operands = vec![&flat.node, &matrix];
        operands.extend(bias.as_ref());
        let node = self.builder.op("Gemm", &operands, &[("transB", Attribute::Int(1))]);
        let result = self.activated(Value { node, rows: flat.rows, shape: vec![out] }, activation)?;
        if keeps_dimensions && input.shape.len() > 1 {
            let mut shape = input.shape;
            shape.pop();
            shape.push(out);
            return self.reshaped(&result, input.rows, shape);
        }
        Ok(result)
    }

    fn concatenation(&mut self, operator: &Operator<'_>) -> Result<Value, LoadError> {
        let options = operator.options(10)?;
        let axis = number::<i32>(options, 0)?;
        let activation = fused(options, 1)?;
        let values = operator.inputs.iter().map(|&i| self.value(i)).collect::<Result<Vec<_>, _>>()?;
        let first = values.first().ok_or_else(|| operand_count(&operator.inputs, "at least 1"))?;
        let rank = first.shape.len() + 1;
        let from_front = if axis < 0 { i64::from(axis) + rank as i64 } else { i64::from(axis) };
        let axis = usize::try_from(from_front).ok().filter(|&a| a < rank);
        let axis = axis.ok_or_else(|| malformed(format!("axis {from_front} of {rank} dimensions")))?;
        let Some(joined) = axis.checked_sub(1) else {
            return Err(unsupported("concatenation along the batch dimension"));
        };
        let mut shape = first.shape.clone();
        for value in values.iter().skip(1) {
            let fits = value.rows == first.rows
                && value.shape.len() == shape.len()
                && value.shape.iter().zip(&shape).enumerate().all(|(i, (a, b))| i == joined || a == b);
            if !fits {
                let message = format!("cannot concatenate shapes {:?} and {:?}", first.shape, value.shape);
                return Err(shape_error(message));
            }
            if let (Some(total), Some(&more)) = (shape.get_mut(joined), value.shape.get(joined)) {
                *total += more;
            }
            check_width(first.rows, &shape)?;
        }
        let rows = first.rows;
        let operands: Vec<&Node> = values.iter().map(|v| &v.node).collect();
        let node = self.builder.op("Concat", &operands, &[("axis", Attribute::Int(axis as i64))]);
        self.activated(Value { node, rows, shape }, activation)
    }

    fn reshape(&mut self, operator: &Operator<'_>) -> Result<Value, LoadError> {
        let target = match *operator.inputs.as_slice() {
            [_, shape] if shape >= 0 => {
                let tensor = self.schema.tensor(shape)?;
                if tensor.data.is_none() {
                    let message = "shape computed at run time; convert with a fixed batch size of 1";
                    return Err(unsupported(message).at_tensor(tensor.name));
                }
                let shape = constants::shape(&tensor)?;
                if !matches!(shape.as_slice(), [1..=8]) {
                    let message = format!("shape tensor of shape {shape:?} (expected a vector)");
                    return Err(shape_error(message).at_tensor(tensor.name));
                }
                constants::integers(&tensor, &shape)?
            }
            [_] | [_, _] => {
                let options = operator.options(17)?;
                let stored = options.map_or(Ok(Vec::new()), |table| table.numbers::<i32>(0, 8))?;
                stored.into_iter().map(i64::from).collect()
            }
            _ => return Err(operand_count(&operator.inputs, "1 or 2")),
        };
        let input = self.value(operator.inputs.first().copied().unwrap_or(-1))?;
        let (rows, shape) = reshape_target(&input, &target, self.batch).ok_or_else(|| {
            let message = format!("cannot reshape {:?} per position to {target:?}", input.shape);
            shape_error(message)
        })?;
        self.reshaped(&input, rows, shape)
    }

    fn arithmetic(
        &mut self,
        operator: &Operator<'_>,
        op_type: &str,
        options_kind: u8,
    ) -> Result<Value, LoadError> {
        let activation = fused(operator.options(options_kind)?, 0)?;
        let [left, right] = *operator.inputs.as_slice() else {
            return Err(operand_count(&operator.inputs, "2"));
        };
        let (left, right) = match (self.values_or_none(left)?, self.values_or_none(right)?) {
            (Some(a), Some(b)) => {
                let (a, b) = (self.unsqueezed(a.clone(), &b)?, self.unsqueezed(b, &a)?);
                if a.rows != b.rows || a.shape != b.shape {
                    return Err(shape_error(format!("shapes {:?} and {:?} do not match", a.shape, b.shape)));
                }
                (a, b)
            }
            (Some(a), None) => {
                let b = self.broadcast(right, &a)?;
                (a, b)
            }
            (None, Some(b)) => (self.broadcast(left, &b)?, b),
            (None, None) => return Err(unsupported("arithmetic on two constants")),
        };
        let node = self.builder.op(op_type, &[&left.node, &right.node], &[]);
        self.activated(Value { node, ..left }, activation)
    }

    /// Restores the batch dimension that Keras drops from one operand of some additions in files with a batch of one: `[5]` is
    /// `[1, 5]`.
    fn unsqueezed(&mut self, value: Value, like: &Value) -> Result<Value, LoadError> {
        if self.batch == 1 && value.shape.is_empty() && like.rows == 1 && like.shape == [value.rows] {
            return self.reshaped(&value, 1, like.shape.clone());
        }
        Ok(value)
    }

    /// A constant broadcast to the value it is combined with.
    fn broadcast(&mut self, index: i32, value: &Value) -> Result<Value, LoadError> {
        let tensor = self.constant(index)?;
        let mut shape = constants::shape(&tensor)?;
        if shape.len() == value.shape.len() + 1 && shape.first() == Some(&1) {
            shape.remove(0);
        }
        let fits = shape.len() <= value.shape.len()
            && shape.iter().rev().zip(value.shape.iter().rev()).all(|(&c, &v)| c == 1 || c == v);
        if !fits {
            let message =
                format!("constant of shape {:?} does not broadcast to {:?}", tensor.shape, value.shape);
            return Err(shape_error(message).at_tensor(tensor.name));
        }
        let node = self.weight(&tensor, &shape)?;
        Ok(Value { node, ..value.clone() })
    }

    fn unary(&mut self, operator: &Operator<'_>, activation: Activation) -> Result<Value, LoadError> {
        let value = self.value(only(&operator.inputs, "input")?)?;
        self.activated(value, activation)
    }

    fn activated(&mut self, value: Value, activation: Activation) -> Result<Value, LoadError> {
        let node = match activation {
            Activation::None => return Ok(value),
            Activation::Relu => self.builder.op("Relu", &[&value.node], &[]),
            Activation::Tanh => self.builder.op("Tanh", &[&value.node], &[]),
            Activation::Sigmoid => self.builder.op("Sigmoid", &[&value.node], &[]),
            Activation::Clip(low, high) => {
                let low = self.scalar(low)?;
                let high = self.scalar(high)?;
                self.builder.op("Clip", &[&value.node, &low, &high], &[])
            }
        };
        Ok(Value { node, ..value })
    }

    /// A number.
    fn scalar(&mut self, value: f32) -> Result<Node, LoadError> {
        let name = self.unique("bound", self.names.len())?;
        Ok(self.builder.weight(&name, &[], &[value]))
    }

    fn reshaped(&mut self, value: &Value, rows: usize, shape: Vec<usize>) -> Result<Value, LoadError> {
        if rows == value.rows && shape == value.shape {
            return Ok(value.clone());
        }
        let target: Vec<i64> = std::iter::once(-1).chain(shape.iter().map(|&d| d as i64)).collect();
        let name = self.unique("shape", self.names.len())?;
        let target = self.builder.ints(&name, &[target.len()], &target);
        let node = self.builder.op("Reshape", &[&value.node, &target], &[]);
        Ok(Value { node, rows, shape })
    }

    fn define(&mut self, tensor: &Tensor<'_>, value: Value) -> Result<(), LoadError> {
        check_width(value.rows, &value.shape).map_err(|e| e.at_tensor(tensor.name))?;
        if tensor.data.is_some()
            || self.dequantised.contains_key(&tensor.index)
            || self.values.insert(tensor.index, value).is_some()
        {
            return Err(malformed("tensor computed twice").at_tensor(tensor.name));
        }
        Ok(())
    }

    /// A value computed by an earlier operator.
    fn value(&self, index: i32) -> Result<Value, LoadError> {
        if let Some(value) = self.values_or_none(index)? {
            return Ok(value);
        }
        let tensor = self.schema.tensor(index)?;
        Err(unsupported("constant (expected a run-time value)").at_tensor(tensor.name))
    }

    /// A value computed by an earlier operator, or `None` for a constant.
    fn values_or_none(&self, index: i32) -> Result<Option<Value>, LoadError> {
        let tensor = self.schema.tensor(index)?;
        if let Some(value) = self.values.get(&tensor.index) {
            return Ok(Some(value.clone()));
        }
        if tensor.data.is_some() || self.dequantised.contains_key(&tensor.index) {
            return Ok(None);
        }
        Err(malformed("used before it is computed").at_tensor(tensor.name))
    }

    /// The constant behind an index, through a DEQUANTIZE if there is one.
    fn constant(&self, index: i32) -> Result<Tensor<'a>, LoadError> {
        let tensor = self.schema.tensor(index)?;
        let source = self.dequantised.get(&tensor.index).and_then(|&i| i32::try_from(i).ok());
        let tensor = match source {
            Some(source) => self.schema.tensor(source)?,
            None => tensor,
        };
        if tensor.data.is_none() {
            let message = "run-time weights (expected constants)";
            return Err(unsupported(message).at_tensor(tensor.name));
        }
        Ok(tensor)
    }

    /// Adds a constant to the graph, once per shape. `shape` has as many elements as the tensor.
    fn weight(&mut self, tensor: &Tensor<'_>, shape: &[usize]) -> Result<Node, LoadError> {
        let key = (tensor.index, shape.to_vec());
        if let Some(node) = self.weights.get(&key) {
            return Ok(node.clone());
        }
        let stored = constants::shape(tensor)?;
        let elements = stored.iter().product::<usize>();
        self.elements_left = self.elements_left.checked_sub(elements).ok_or_else(|| {
            let message = format!("more than {} weights", constants::MAX_ELEMENTS);
            LoadError::new(LoadErrorKind::TooLarge, Format::Tflite, message).at_tensor(tensor.name)
        })?;
        let values = constants::floats(tensor, &stored)?;
        let name = self.unique(tensor.name, tensor.index)?;
        let node = self.builder.weight(&name, shape, &values);
        self.weights.insert(key, node.clone());
        Ok(node)
    }

    /// A unique name: `name`, or with `index` appended.
    fn unique(&mut self, name: &str, index: usize) -> Result<String, LoadError> {
        let reserved = name.rsplit_once('_').is_some_and(|(stem, _)| EMITTED.contains(&stem));
        if !name.is_empty() && !reserved && self.names.insert(name.to_owned()) {
            return Ok(name.to_owned());
        }
        let numbered = format!("{name}#{index}");
        if self.names.insert(numbered.clone()) {
            return Ok(numbered);
        }
        Err(malformed("duplicate name").at_tensor(name))
    }
}

/// An activation function.
#[derive(Clone, Copy, Debug)]
enum Activation {
    None,
    Relu,
    Clip(f32, f32),
    Tanh,
    Sigmoid,
}

/// The activation stored in field `id` of an operator's options.
fn fused(options: Option<Table<'_>>, id: usize) -> Result<Activation, LoadError> {
    match number::<i8>(options, id)? {
        0 => Ok(Activation::None),
        1 => Ok(Activation::Relu),
        2 => Ok(Activation::Clip(-1.0, 1.0)),
        3 => Ok(Activation::Clip(0.0, 6.0)),
        4 => Ok(Activation::Tanh),
        5 => Err(unsupported("fused activation SIGN_BIT")),
        other => Err(malformed(format!("unknown fused activation {other}"))),
    }
}

/// A scalar option, zero if absent.
fn number<T: super::flatbuffer::Scalar + Default>(
    options: Option<Table<'_>>,
    id: usize,
) -> Result<T, LoadError> {
    options.map_or_else(|| Ok(T::default()), |table| table.number(id, T::default()))
}

/// The declared batch size of an input, 1 if free, and the shape per position.
fn input_shape(tensor: &Tensor<'_>) -> Result<(usize, Vec<usize>), LoadError> {
    let located = |error: LoadError| error.at_tensor(tensor.name);
    let stored = if tensor.signature.is_empty() { &tensor.shape } else { &tensor.signature };
    let Some((&batch, dimensions)) = stored.split_first().filter(|(_, rest)| !rest.is_empty()) else {
        let message = format!("input of shape {stored:?} (expected rank at least 2)");
        return Err(located(shape_error(message)));
    };
    let batch = if batch == -1 { 1 } else { batch };
    let batch = usize::try_from(batch).ok().filter(|&b| b > 0);
    let positive = |&d: &i32| usize::try_from(d).ok().filter(|&d| d > 0);
    let dimensions: Option<Vec<usize>> = dimensions.iter().map(positive).collect();
    match (batch, dimensions) {
        (Some(batch), Some(dimensions)) => Ok((batch, dimensions)),
        _ => Err(located(malformed(format!("invalid input shape {stored:?}")))),
    }
}

/// The rows per position and the remaining shape of a value reshaped to `target`, if that keeps positions apart.
///
/// At most one entry of `target` is -1. The first is a multiple of the batch.
fn reshape_target(value: &Value, target: &[i64], batch: usize) -> Option<(usize, Vec<usize>)> {
    let total = value.rows.checked_mul(value.row_width())?.checked_mul(batch)?;
    let mut known = 1usize;
    for &dimension in target.iter().filter(|&&d| d != -1) {
        let dimension = usize::try_from(dimension).ok().filter(|&d| d > 0)?;
        known = known.checked_mul(dimension)?;
    }
    let free = target.iter().filter(|&&d| d == -1).count();
    let exact = match free {
        0 => total == known,
        1 => total % known == 0,
        _ => false,
    };
    if !exact {
        return None;
    }
    let resolved: Option<Vec<usize>> =
        target.iter().map(|&d| if d == -1 { Some(total / known) } else { usize::try_from(d).ok() }).collect();
    let (&leading, shape) = resolved.as_deref()?.split_first()?;
    (leading % batch == 0).then(|| (leading / batch, shape.to_vec()))
}

fn check_width(rows: usize, shape: &[usize]) -> Result<(), LoadError> {
    let width = shape.iter().try_fold(rows, |n, &d| n.checked_mul(d));
    match width {
        Some(width) if width <= MAX_WIDTH => Ok(()),
        _ => {
            let message = format!("value of {rows} rows of shape {shape:?} per position");
            Err(LoadError::new(LoadErrorKind::TooLarge, Format::Tflite, message))
        }
    }
}

/// The numbers an integer tensor can hold: multiples of `scale`, from `low` to `high` steps.
#[derive(Clone, Copy, Debug)]
struct Grid {
    scale: f32,
    low: f32,
    high: f32,
}

/// The grid of a computed value; `None` if it is a float.
fn grid(tensor: &Tensor<'_>) -> Result<Option<Grid>, LoadError> {
    let (least, most) = match tensor.element {
        ElementType::FLOAT32 => return Ok(None),
        ElementType::INT8 => (-128, 127),
        ElementType::UINT8 => (0, 255),
        _ => return Err(other_type(tensor)),
    };
    let quantization = tensor.quantization()?;
    let scale = quantization.as_ref().and_then(|q| match q.scales.as_slice() {
        [scale] if scale.is_finite() && *scale > 0.0 && (1.0 / scale).is_finite() => Some(*scale),
        _ => None,
    });
    let zero = quantization.as_ref().map_or(Some(0), |q| match q.zero_points.as_slice() {
        [] => Some(0),
        [zero] => i32::try_from(*zero).ok().filter(|zero| (least..=most).contains(zero)),
        _ => None,
    });
    match (scale, zero) {
        (Some(scale), Some(zero)) => {
            Ok(Some(Grid { scale, low: (least - zero) as f32, high: (most - zero) as f32 }))
        }
        _ => {
            let message = "integer value without one positive scale and a zero point in range";
            Err(malformed(message).at_tensor(tensor.name))
        }
    }
}

fn other_type(tensor: &Tensor<'_>) -> LoadError {
    let message =
        format!("computed value of type {} (expected FLOAT32, INT8 or UINT8)", tensor.element.name());
    unsupported(message).at_tensor(tensor.name)
}

/// A tensor's name in the signature, or its own.
fn alias<'n>(names: &[(usize, &'n str)], tensor: &Tensor<'n>) -> &'n str {
    names.iter().find(|(index, _)| *index == tensor.index).map_or(tensor.name, |(_, name)| name)
}

/// The only input or output of an operator.
fn only(operands: &[i32], what: &str) -> Result<i32, LoadError> {
    match operands {
        [one] => Ok(*one),
        _ => Err(malformed(format!("{} {what}s (expected 1)", operands.len()))),
    }
}

fn operand_count(operands: &[i32], needed: &str) -> LoadError {
    malformed(format!("{} inputs (expected {needed})", operands.len()))
}

fn malformed(message: impl Into<String>) -> LoadError {
    LoadError::new(LoadErrorKind::Malformed, Format::Tflite, message)
}

fn shape_error(message: impl Into<String>) -> LoadError {
    LoadError::new(LoadErrorKind::Shape, Format::Tflite, message)
}
