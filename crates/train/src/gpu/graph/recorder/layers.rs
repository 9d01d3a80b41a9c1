//! What each layer is recorded as.

use candle_core::Result;
use tabia_encoding::ElementKind;

use super::super::super::layout::{Factor, Group};
use super::super::record::{Activation, Dense, Op, Part, by_rows};
use super::super::view::{UNIT, View, padded};
use super::{Batch, Recorder, Value, failed};
use crate::ParameterTable;
use tabia_nets::attention::Attention;
use tabia_nets::{Layers, relative_bias};

impl Layers for Recorder<'_> {
    type Value = Value;
    type Error = candle_core::Error;

    fn error(message: String) -> candle_core::Error {
        candle_core::Error::Msg(message)
    }

    fn table(&self) -> &ParameterTable {
        self.table
    }

    fn input(&mut self, index: usize) -> Result<Value> {
        let spec = &self.encoding.inputs()[index];
        Ok(match spec.kind {
            ElementKind::Value => {
                let width = spec.shape.last().copied().unwrap_or(1);
                self.canonical(Op::Numbers { input: index, width }, spec.shape)
            }
            ElementKind::Id => {
                let places = (0..spec.len() as u32).collect();
                self.ids(Op::Ids { input: index, places }, spec.shape)
            }
        })
    }

    fn parameter(&mut self, name: &str) -> Result<Value> {
        let shape = self.shape_of(name)?;
        let (view, row) = View::canonical(&shape);
        let order = view.dims.iter().flatten().copied().collect();
        self.place(name, order, row)?;
        Ok(Value { of: self.push(Op::Parameter { name: name.to_owned() }, row), view, batch: Batch::None })
    }

    fn embed(&mut self, name: &str, ids: &Value) -> Result<Value> {
        let shape = self.shape_of(name)?;
        let [rows, outputs] = shape[..] else { return failed(format!("{name} is not a table")) };
        let classes = padded(rows);
        let mut shape = ids.view.shape();
        let count = shape.iter().product();
        let (_, row) = View::canonical(&[count, rows]);
        let hot = self.push(Op::OneHot { ids: ids.of, classes }, row);
        let order = vec![Factor { size: rows, stride: 1 }, Factor { size: outputs, stride: classes }];
        self.place(name, order, padded(outputs) * classes)?;
        shape.push(outputs);
        let op = Op::Dense(Dense {
            x: hot,
            rows: count,
            inputs: classes,
            outputs: padded(outputs),
            weight: name.to_owned(),
            bias: None,
            activation: Activation::None,
            add: None,
        });
        Ok(self.canonical(op, &shape))
    }

    fn linear_of(&mut self, x: &Value, weight: &str, bias: Option<&str>) -> Result<Value> {
        self.dense(x, weight, bias.map(str::to_owned))
    }

    fn project(&mut self, x: &Value, weight: &str) -> Result<Value> {
        self.dense(x, weight, None)
    }

    fn conv(&mut self, x: &Value, layer: &str) -> Result<Value> {
        let (weight, bias) = (format!("{layer}.weight"), format!("{layer}.bias"));
        let shape = self.shape_of(&weight)?;
        let [outputs, inputs, kernel, _] = shape[..] else { return failed(format!("{weight} is no kernel")) };
        let (x, [channels, height, width]) = self.channels_last(x)?;
        if channels != inputs {
            return failed(format!("{weight} takes {inputs} planes, and is given {channels}"));
        }
        let (squares, deep) = (height * width, padded(channels));
        let patch = kernel * kernel * deep;
        let patches = match kernel {
            1 => x.of,
            _ => self.push(Op::Patches { x: x.of, height, width, channels: deep, kernel }, squares * patch),
        };
        let columns = [Factor { size: channels, stride: 1 }, Factor { size: kernel * kernel, stride: deep }];
        self.place(&weight, by_rows(outputs, patch, &columns), padded(outputs) * patch)?;
        self.place_bias(Some(&bias), outputs)?;
        let op = Op::Dense(Dense {
            x: patches,
            rows: squares,
            inputs: patch,
            outputs: padded(outputs),
            weight,
            bias: Some(bias),
            activation: Activation::None,
            add: None,
        });
        let y = self.canonical(op, &[height, width, outputs]);
        Ok(Value { view: y.view.permuted(&[2, 0, 1]), ..y })
    }

    fn rms_norm(&mut self, x: &Value, weight: &str, eps: f32) -> Result<Value> {
        let (x, rows) = self.as_rows(x)?;
        let count = rows.columns.iter().map(|factor| factor.size).product();
        self.place(weight, rows.columns.clone(), rows.width)?;
        let gain = weight.to_owned();
        let op = Op::Norm { x: x.of, rows: rows.count, width: rows.width, count, gain, eps };
        Ok(self.alike(op, &x))
    }

    fn add(&mut self, a: &Value, b: &Value) -> Result<Value> {
        let a = self.batched(a)?;
        if b.batch == Batch::None {
            // The parameter is canonical; so must be what it is added to.
            let (view, row) = View::canonical(&b.view.shape());
            let mut a = a.clone();
            if a.view != view || self.nodes[a.of].row != row {
                a = self.copied(&a);
            }
            if self.nodes[a.of].row != self.nodes[b.of].row {
                return failed(format!("{:?} added to {:?}", b.view.shape(), a.view.shape()));
            }
            return Ok(self.alike(Op::AddParameter { x: a.of, parameter: b.of }, &a));
        }
        let (a, b) = self.aligned(a, b)?;
        let op = match &self.nodes[b.of].op {
            Op::Dense(dense)
                if dense.activation == Activation::None && dense.bias.is_none() && dense.add.is_none() =>
            {
                Op::Dense(Dense { add: Some(a.of), ..dense.clone() })
            }
            _ => Op::Add { a: a.of, b: b.of },
        };
        Ok(self.alike(op, &b))
    }

    fn mul(&mut self, a: &Value, b: &Value) -> Result<Value> {
        let (a, b) = (self.batched(a)?, self.batched(b)?);
        let (a, b) = self.aligned(a, b)?;
        let op = match &self.nodes[a.of].op {
            Op::Dense(Dense { activation, bias: None, add: None, .. })
                if *activation != Activation::None && a.of != b.of && self.learned(b.of) =>
            {
                let activation = *activation;
                let gate = self.without_activation(a.of);
                Op::Gated { gate, up: b.of, activation }
            }
            _ => Op::Mul { a: a.of, b: b.of },
        };
        Ok(self.alike(op, &a))
    }

    fn matmul(&mut self, a: &Value, b: &Value) -> Result<Value> {
        let (mut shape, right) = (a.view.shape(), b.view.shape());
        let dims = shape.len();
        if dims < 2 || right.len() != dims || shape[dims - 1] != right[dims - 2] {
            return failed(format!("a product of {shape:?} and {right:?}"));
        }
        let sizes = [shape[dims - 2], right[dims - 1], shape[dims - 1]];
        let ((a, count), (b, other)) = (self.matrices(a)?, self.matrices(b)?);
        if count != other {
            return failed(format!("a product of {count} matrices with {other}"));
        }
        shape[dims - 1] = sizes[1];
        Ok(self.canonical(Op::Matmul { a, b, sizes, stride: padded(sizes[1]), count, scale: 1.0 }, &shape))
    }

    fn scale(&mut self, x: &Value, factor: f32) -> Result<Value> {
        let x = self.batched(x)?.clone();
        let mut op = self.nodes[x.of].op.clone();
        match &mut op {
            Op::Matmul { scale, .. } => *scale *= factor,
            _ => op = Op::Scale { x: x.of, factor },
        }
        Ok(self.alike(op, &x))
    }

    fn reshape(&mut self, x: &Value, shape: &[usize]) -> Result<Value> {
        let mut x = self.batched(x)?.clone();
        for _ in 0..2 {
            if let Some(view) = x.view.reshaped(shape) {
                return Ok(Value { view, ..x });
            }
            x = self.copied(&x);
        }
        failed(format!("{:?} as {shape:?}", x.view.shape()))
    }

    fn permute(&mut self, x: &Value, order: &[usize]) -> Result<Value> {
        let x = self.batched(x)?;
        let order: Vec<usize> = order.iter().skip(1).map(|dim| dim - 1).collect();
        Ok(Value { view: x.view.permuted(&order), ..x.clone() })
    }

    fn slice(&mut self, x: &Value, axis: usize, from: usize, to: usize) -> Result<Value> {
        let indices: Vec<u32> = (from as u32..to as u32).collect();
        self.select(x, axis, &indices)
    }

    fn select(&mut self, x: &Value, axis: usize, indices: &[u32]) -> Result<Value> {
        if x.batch == Batch::None {
            if x.view.dims.len() != 1 {
                return failed("elements are chosen of vectors alone");
            }
            let (view, row) = View::canonical(&[indices.len()]);
            let of = self.push(Op::Chosen { of: x.of, indices: indices.to_vec() }, row);
            return Ok(Value { of, view, batch: Batch::None });
        }
        let axis = axis - 1;
        let mut shape = x.view.shape();
        let (outer, inner): (usize, usize) =
            (shape[..axis].iter().product(), shape[axis + 1..].iter().product());
        let (places, size) = (x.view.places(), shape[axis]);
        let mut from_places = Vec::with_capacity(outer * indices.len() * inner);
        for o in 0..outer {
            for &index in indices {
                let start = (o * size + index as usize) * inner;
                from_places.extend(&places[start..start + inner]);
            }
        }
        shape[axis] = indices.len();
        if let Op::Ids { input, places } = &self.nodes[x.of].op {
            // Ids are never copied: they are only ever looked up, at the places wanted.
            let places: Vec<u32> = from_places.iter().map(|&place| places[place as usize]).collect();
            let op = Op::Ids { input: *input, places };
            return Ok(self.ids(op, &shape));
        }
        let to_places = View::canonical(&shape).0.places();
        Ok(self.canonical(Op::Gather(vec![Part { from: x.of, to_places, from_places }]), &shape))
    }

    fn concat(&mut self, parts: &[&Value], axis: usize) -> Result<Value> {
        let axis = axis - 1;
        let mut shape = self.batched(parts[0])?.view.shape();
        shape[axis] = parts.iter().map(|part| part.view.shape()[axis]).sum();
        let places = View::canonical(&shape).0.places();
        let (outer, inner): (usize, usize) =
            (shape[..axis].iter().product(), shape[axis + 1..].iter().product());
        let mut done = 0;
        let mut gathered = Vec::new();
        for part in parts {
            let size = part.view.shape()[axis];
            let to_places = (0..outer)
                .flat_map(|o| {
                    let start = (o * shape[axis] + done) * inner;
                    places[start..start + size * inner].iter().copied()
                })
                .collect();
            gathered.push(Part { from: part.of, to_places, from_places: part.view.places() });
            done += size;
        }
        Ok(self.canonical(Op::Gather(gathered), &shape))
    }

    fn mean(&mut self, x: &Value, axis: usize) -> Result<Value> {
        let shape = x.view.shape();
        if axis != 1 || shape.len() != 2 {
            return failed(format!("the mean over dimension {axis} of {shape:?}"));
        }
        let (view, row) = View::canonical(&shape);
        let same = x.view == view && self.nodes[x.of].row == row;
        let x = if same { x.clone() } else { self.copied(x) };
        let op = Op::Mean { x: x.of, rows: shape[0], width: padded(shape[1]) };
        Ok(self.canonical(op, &shape[1..]))
    }

    fn sum(&mut self, x: &Value, axis: usize) -> Result<Value> {
        let shape = x.view.shape();
        if axis != 1 || shape.len() != 1 {
            return failed(format!("the sum over dimension {axis} of {shape:?}"));
        }
        let x = if x.view == View::canonical(&shape).0 { x.clone() } else { self.copied(x) };
        Ok(self.canonical(Op::Sum { x: x.of, count: shape[0] }, &[1]))
    }

    fn look_up(&mut self, x: &Value, table: &[i64], width: usize) -> Result<Value> {
        if x.view.shape() != [1] {
            return failed("a table is looked up by one number");
        }
        Ok(self.canonical(
            Op::LookUp { x: x.of, table: table.iter().map(|&number| number as f32).collect(), width },
            &[width],
        ))
    }

    fn relu(&mut self, x: &Value) -> Result<Value> {
        self.activate(x, Activation::Relu)
    }

    fn clipped_relu(&mut self, x: &Value) -> Result<Value> {
        self.activate(x, Activation::ClippedRelu)
    }

    fn silu(&mut self, x: &Value) -> Result<Value> {
        self.activate(x, Activation::Silu)
    }

    fn gelu(&mut self, x: &Value) -> Result<Value> {
        self.activate(x, Activation::Gelu)
    }

    fn softmax(&mut self, x: &Value) -> Result<Value> {
        let (x, rows) = self.as_rows(x)?;
        let plain = matches!(rows.columns[..], [Factor { stride: 1, .. }]);
        let x = if plain { x } else { self.copied(&x) };
        let count = x.view.shape().last().copied().unwrap_or(1);
        let row = self.nodes[x.of].row;
        let op = Op::Softmax { x: x.of, rows: row / padded(count), width: padded(count), count };
        Ok(self.alike(op, &x))
    }

    fn relative_bias(&mut self, name: &str) -> Result<Value> {
        let table = self.parameter(name)?;
        let [heads, ..] = table.view.shape()[..] else { return failed(format!("{name} has no heads")) };
        let places = table.view.places();
        let indices = relative_bias::indices(heads).map(|index| places[index]).collect();
        let (view, row) = View::canonical(&[heads, relative_bias::SQUARES, relative_bias::SQUARES]);
        Ok(Value { of: self.push(Op::Chosen { of: table.of, indices }, row), view, batch: Batch::None })
    }

    fn attend(
        &mut self,
        qkv: &Value,
        layer: &str,
        attention: &Attention,
        bias: Option<&Value>,
    ) -> Result<Value> {
        let &Attention { width, heads, tokens, .. } = attention;
        let canonical = qkv.view == View::canonical(&[tokens, 3 * width]).0;
        let norms = [format!("{layer}.q_norm.weight"), format!("{layer}.k_norm.weight")];
        let fresh = norms.iter().all(|norm| self.placed.iter().all(|(placed, _)| placed != norm));
        let known = bias.is_none_or(|bias| bias.batch == Batch::None && tokens.is_multiple_of(UNIT));
        if !self.has_kernel(attention) || !canonical || !fresh || !known {
            return attention.in_parts(self, qkv, layer, bias);
        }
        self.attention = Some(*attention);
        let head = width / heads;
        let gains = format!("{layer}.gains");
        self.groups.push(Group::merged(&gains, &norms, 2 * head));
        self.placed.extend(norms.map(|norm| (norm, Vec::new())));
        let op = Op::Attend { qkv: qkv.of, gains, bias: bias.map(|bias| bias.of), attention: *attention };
        Ok(self.canonical(op, &[tokens, width]))
    }
}
