//! A network of `nets` run once on nothing but shapes.
//!
//! Layers that are one launch, or one product and one launch, become one operation: a convolution is a dense layer on
//! patches, an activation belongs to the layer before it, a sum with a trunk to the product that adds to it. Weights are
//! laid out as the values they meet are, so that values need not move.

mod layers;

use candle_core::{Error, Result};
use tabia_encoding::Encoding;

use super::super::attention as kernels;
use super::super::layout::{Factor, Group};
use super::record::{Activation, Dense, Head, Id, Learned, Matrix, Node, Op, Part, Record, by_rows};
use super::view::{Rows, UNIT, View, padded};
use crate::{NetConfig, ParameterTable};
use tabia_gpu::Order;
use tabia_nets::Layers;
use tabia_nets::attention::Attention;

/// The eps the attention kernels were written with.
const ATTENTION_EPS: f32 = 1e-6;
/// Shared memory a block may have on every GPU the trainer runs on.
const MOST_SHARED: u32 = 99 << 10;

/// A value on its way: an operation's result, and how it is looked at.
#[derive(Clone, Debug)]
pub(super) struct Value {
    of: Id,
    view: View,
    batch: Batch,
}

/// Whether a value has the batch as its first dimension. Parameters have not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Batch {
    First,
    None,
}

struct Recorder<'a> {
    table: &'a ParameterTable,
    encoding: &'static dyn Encoding,
    nodes: Vec<Node>,
    placed: Vec<(String, Vec<Factor>)>,
    groups: Vec<Group>,
    attention: Option<Attention>,
}

fn failed<T>(message: impl Into<String>) -> Result<T> {
    Err(Error::Msg(message.into()))
}

/// Runs the network's forward pass once and keeps what it does.
///
/// # Errors
/// If the network uses an operation that the graph does not have.
pub(super) fn record(config: &NetConfig, encoding: &'static dyn Encoding) -> Result<Record> {
    let table = config.table();
    let mut recorder = Recorder {
        table: &table,
        encoding,
        nodes: Vec::new(),
        placed: Vec::new(),
        groups: Vec::new(),
        attention: None,
    };
    let heads = config.forward(&mut recorder)?;
    let heads = heads.try_map(|value| recorder.head(&value))?;
    for entry in table.entries() {
        if !recorder.placed.iter().any(|(name, _)| *name == entry.name) {
            recorder.groups.push(Group::single(&entry.name, entry.len()));
        }
    }
    let Recorder { nodes, groups, attention, .. } = recorder;
    Ok(Record { nodes, heads, groups, attention })
}

impl Recorder<'_> {
    fn push(&mut self, op: Op, row: usize) -> Id {
        let learns = !op.parameters().is_empty() || matches!(op, Op::Parameter { .. });
        let from_learned = op.inputs().iter().any(|&id| self.nodes[id].learned == Learned::Yes);
        // A row of a table is chosen by a whole number, which has no slope.
        let constant = matches!(op, Op::LookUp { .. });
        let learned = if (learns || from_learned) && !constant { Learned::Yes } else { Learned::No };
        self.nodes.push(Node { op, row, learned });
        self.nodes.len() - 1
    }

    /// The result of an operation in canonical form.
    fn canonical(&mut self, op: Op, shape: &[usize]) -> Value {
        let (view, row) = View::canonical(shape);
        Value { of: self.push(op, row), view, batch: Batch::First }
    }

    /// Ids one after the other, in any shape.
    fn ids(&mut self, op: Op, shape: &[usize]) -> Value {
        let len = shape.iter().product();
        let flat = View { dims: vec![vec![Factor { size: len, stride: 1 }]] };
        let view = flat.reshaped(shape).unwrap_or(flat);
        Value { of: self.push(op, len), view, batch: Batch::First }
    }

    /// The result of an operation that leaves every element where it is.
    fn alike(&mut self, op: Op, x: &Value) -> Value {
        let of = self.push(op, self.nodes[x.of].row);
        Value { of, ..x.clone() }
    }

    fn shape_of(&self, name: &str) -> Result<Vec<usize>> {
        match self.table.get(name) {
            Some(entry) => Ok(entry.shape.clone()),
            None => failed(format!("the network has no parameter {name}")),
        }
    }

    /// Says where a parameter's elements are to lie. One that is used twice must lie the same way.
    fn place(&mut self, name: &str, order: Vec<Factor>, len: usize) -> Result<()> {
        if let Some((_, before)) = self.placed.iter().find(|(placed, _)| placed == name) {
            return if *before == order {
                Ok(())
            } else {
                failed(format!("{name} is used in two ways that ask for different orders"))
            };
        }
        self.groups.push(Group::ordered(name, order.clone(), len));
        self.placed.push((name.to_owned(), order));
        Ok(())
    }

    fn batched<'a>(&self, x: &'a Value) -> Result<&'a Value> {
        if x.batch == Batch::First { Ok(x) } else { failed("a parameter where a value is expected") }
    }

    /// The same elements in canonical form, copied.
    fn copied(&mut self, x: &Value) -> Value {
        let from_places = x.view.places();
        let (view, _) = View::canonical(&x.view.shape());
        let part = Part { from: x.of, to_places: view.places(), from_places };
        self.canonical(Op::Gather(vec![part]), &x.view.shape())
    }

    /// The value as rows, copied where it is not stored so.
    fn as_rows(&mut self, x: &Value) -> Result<(Value, Rows)> {
        let x = self.batched(x)?.clone();
        if let Some(rows) = x.view.rows(self.nodes[x.of].row) {
            return Ok((x, rows));
        }
        let x = self.copied(&x);
        let rows = x.view.rows(self.nodes[x.of].row);
        rows.map(|rows| (x, rows)).ok_or_else(|| Error::Msg("a canonical value that is not rows".to_owned()))
    }

    fn head(&mut self, value: &Value) -> Result<Head> {
        let (view, row) = View::canonical(&value.view.shape());
        let same = value.view.reshaped(&value.view.shape()) == view.reshaped(&view.shape());
        let value = if same && self.nodes[value.of].row == row { value.clone() } else { self.copied(value) };
        let shape = value.view.shape();
        let width = shape.last().copied().unwrap_or(1);
        let stride = padded(width);
        Ok(Head { of: value.of, rows: row / stride, stride, width })
    }

    /// A layer on rows.
    fn dense(&mut self, x: &Value, weight: &str, bias: Option<String>) -> Result<Value> {
        let shape = self.shape_of(weight)?;
        let [outputs, inputs] = shape[..] else { return failed(format!("{weight} is not a matrix")) };
        let (x, rows) = self.as_rows(x)?;
        let mut shape = x.view.shape();
        if shape.last() != Some(&inputs) {
            return failed(format!("{weight} takes {inputs} numbers, and is given {shape:?}"));
        }
        let order = by_rows(outputs, rows.width, &rows.columns);
        self.place(weight, order, padded(outputs) * rows.width)?;
        self.place_bias(bias.as_deref(), outputs)?;
        if let Some(last) = shape.last_mut() {
            *last = outputs;
        }
        let op = Op::Dense(Dense {
            x: x.of,
            rows: rows.count,
            inputs: rows.width,
            outputs: padded(outputs),
            weight: weight.to_owned(),
            bias,
            activation: Activation::None,
            add: None,
        });
        Ok(self.canonical(op, &shape))
    }

    fn place_bias(&mut self, bias: Option<&str>, outputs: usize) -> Result<()> {
        let Some(bias) = bias else { return Ok(()) };
        self.place(bias, vec![Factor { size: outputs, stride: 1 }], padded(outputs))
    }

    fn activate(&mut self, x: &Value, activation: Activation) -> Result<Value> {
        let x = self.batched(x)?.clone();
        let op = match &self.nodes[x.of].op {
            Op::Dense(dense) if dense.activation == Activation::None && dense.add.is_none() => {
                Op::Dense(Dense { activation, ..dense.clone() })
            }
            _ => Op::Activate { x: x.of, activation },
        };
        Ok(self.alike(op, &x))
    }

    fn learned(&self, id: Id) -> bool {
        self.nodes[id].learned == Learned::Yes
    }

    /// A layer's result before its activation.
    fn without_activation(&mut self, id: Id) -> Id {
        let Node { op, row, .. } = self.nodes[id].clone();
        let op = match op {
            Op::Dense(dense) => Op::Dense(Dense { activation: Activation::None, ..dense }),
            op => op,
        };
        self.push(op, row)
    }

    /// Both values in one shape, with their elements at the same places.
    fn aligned(&mut self, a: &Value, b: &Value) -> Result<(Value, Value)> {
        let (a, b) = (self.broadcast(a, b)?, self.broadcast(b, a)?);
        if a.view.shape() != b.view.shape() {
            return failed(format!("{:?} and {:?} are not of one shape", a.view.shape(), b.view.shape()));
        }
        let same = a.view == b.view && self.nodes[a.of].row == self.nodes[b.of].row;
        Ok(if same { (a, b) } else { (self.copied(&a), self.copied(&b)) })
    }

    /// `x` with its dimensions of size 1 repeated as often as those of `like` ask for.
    fn broadcast(&mut self, x: &Value, like: &Value) -> Result<Value> {
        let mut x = x.clone();
        for (dim, &size) in like.view.shape().iter().enumerate() {
            if size > 1 && x.view.shape().get(dim) == Some(&1) {
                x = self.select(&x, dim + 1, &vec![0; size])?;
            }
        }
        Ok(x)
    }

    /// Channels last: `[height * width, channels]` under the shape `[channels, height, width]`.
    fn channels_last(&mut self, x: &Value) -> Result<(Value, [usize; 3])> {
        let x = self.batched(x)?.clone();
        let [channels, height, width] = x.view.shape()[..] else {
            return failed(format!("a convolution of {:?}, which is not planes", x.view.shape()));
        };
        let (by_square, row) = View::canonical(&[height, width, channels]);
        let planes = by_square.permuted(&[2, 0, 1]);
        let x = if x.view == planes && self.nodes[x.of].row == row {
            x
        } else {
            let by_square = Value { view: x.view.permuted(&[1, 2, 0]), ..x };
            Value { view: planes, ..self.copied(&by_square) }
        };
        Ok((x, [channels, height, width]))
    }

    /// A value as `count` matrices an example, copied where it is not stored so.
    fn matrices(&mut self, x: &Value) -> Result<(Matrix, usize)> {
        let mut x = self.batched(x)?.clone();
        for _ in 0..2 {
            if let Some(found) = self.stored_matrices(&x) {
                return Ok(found);
            }
            x = self.copied(&x);
        }
        failed("a canonical value that is not matrices")
    }

    fn stored_matrices(&self, x: &Value) -> Option<(Matrix, usize)> {
        let shape = x.view.shape();
        let dims = shape.len();
        let (rows, columns) = (shape[dims - 2], shape[dims - 1]);
        let (row_stride, column_stride) = (x.view.stride(dims - 2)?, x.view.stride(dims - 1)?);
        let (order, stride, span) = match (row_stride, column_stride) {
            (stride, 1) => (Order::Stored, stride, rows * stride),
            (1, stride) => (Order::Transposed, stride, columns * stride),
            _ => return None,
        };
        let row = self.nodes[x.of].row;
        let count: usize = shape[..dims - 2].iter().product();
        let lead = View { dims: x.view.dims[..dims - 2].to_vec() }.reshaped(&[count])?;
        let step = if count == 1 { row } else { lead.stride(0)? };
        let fits = stride.is_multiple_of(UNIT) && span <= step && step * count == row;
        fits.then_some((Matrix { of: x.of, order, stride, step }, count))
    }

    /// Whether the attention kernels know these sizes.
    fn has_kernel(&self, attention: &Attention) -> bool {
        let &Attention { width, heads, tokens, eps } = attention;
        let head = width / heads;
        [16, 32, 64].contains(&head)
            && tokens.is_multiple_of(2)
            && eps == ATTENTION_EPS
            && kernels::memory(tokens, head) <= MOST_SHARED
            && self.attention.is_none_or(|known| known == *attention)
    }
}
