//! Networks computed on candle tensors.

use std::collections::HashMap;
use std::sync::Arc;

use candle_core::{D, Device, Result, Tensor, Var};
use tabia_encoding::{Batch, Column};

use tabia_nets::{Heads, Layers, NetConfig, Parameter, ParameterTable};

use crate::kernels::{self, SparseRows};

/// How layers are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernels {
    /// Candle's own operations: the specification.
    Plain,
    /// Our kernels where there are any.
    Fast,
}

/// A network's parameters as tensors, and the inputs of one batch.
pub(crate) struct Tensors<'t> {
    table: &'t ParameterTable,
    parameters: HashMap<String, Tensor>,
    inputs: Vec<Value>,
    kernels: Kernels,
    watch: Option<InputWatch>,
    multiplications: usize,
}

/// Called with the name of a [projection's](Layers::project) weights and its inputs.
pub(crate) type InputWatch = Box<dyn FnMut(&str, &Tensor) -> Result<()>>;

/// A value on its way through the network.
#[derive(Clone)]
pub(crate) enum Value {
    /// As a tensor.
    Dense(Tensor),
    /// An input that is mostly zero.
    Sparse(Arc<SparseRows>),
}

impl Value {
    /// As a tensor.
    pub(crate) fn dense(&self) -> Result<Tensor> {
        match self {
            Value::Dense(tensor) => Ok(tensor.clone()),
            Value::Sparse(rows) => rows.dense(),
        }
    }

    /// How many elements there are to multiply.
    fn elements(&self) -> usize {
        match self {
            Value::Dense(tensor) => tensor.elem_count(),
            Value::Sparse(rows) => rows.len(),
        }
    }
}

/// The heads of a network on a batch, as tensors.
pub(crate) fn heads(net: &NetConfig, tensors: &mut Tensors<'_>) -> Result<Heads<Tensor>> {
    net.forward(tensors)?.try_map(|value| value.dense())
}

/// The parameters of `arena` as variables, which a loss can be differentiated by.
pub(crate) fn variables(table: &ParameterTable, arena: &[f32]) -> Result<Vec<Var>> {
    let variable = |entry: &Parameter| Var::from_slice(entry.of(arena), entry.shape.as_slice(), &Device::Cpu);
    table.entries().iter().map(variable).collect()
}

impl<'t> Tensors<'t> {
    /// Parameters given in the order of the table, and the rows of `batch`.
    pub(crate) fn new(
        table: &'t ParameterTable,
        parameters: Vec<Tensor>,
        batch: &Batch,
        kernels: Kernels,
    ) -> Result<Self> {
        let names = table.entries().iter().map(|entry| entry.name.clone());
        Ok(Tensors {
            table,
            parameters: names.zip(parameters).collect(),
            inputs: inputs(batch, kernels)?,
            kernels,
            watch: None,
            multiplications: 0,
        })
    }

    /// Parameters that nothing is differentiated by.
    pub(crate) fn constant(
        table: &'t ParameterTable,
        arena: &[f32],
        batch: &Batch,
        kernels: Kernels,
    ) -> Result<Self> {
        let tensor =
            |entry: &Parameter| Tensor::from_slice(entry.of(arena), entry.shape.as_slice(), &Device::Cpu);
        Tensors::new(table, table.entries().iter().map(tensor).collect::<Result<_>>()?, batch, kernels)
    }

    /// Observes the inputs of every projection.
    pub(crate) fn watched(mut self, watch: InputWatch) -> Self {
        self.watch = Some(watch);
        self
    }

    /// How many multiplications the layers computed so far took, without those of single elements.
    pub(crate) fn multiplications(&self) -> usize {
        self.multiplications
    }

    fn named(&self, name: &str) -> Result<&Tensor> {
        self.parameters
            .get(name)
            .ok_or_else(|| candle_core::Error::Msg(format!("the network has no parameter {name}")))
    }
}

fn inputs(batch: &Batch, kernels: Kernels) -> Result<Vec<Value>> {
    let value = |(column, spec): (&Column, &tabia_encoding::InputSpec)| {
        if let (Kernels::Fast, Column::Values(values), &[width]) = (kernels, column, spec.shape)
            && let Some(rows) = SparseRows::find(values, width)
        {
            return Ok(Value::Sparse(Arc::new(rows)));
        }
        let shape: Vec<usize> = std::iter::once(batch.rows()).chain(spec.shape.iter().copied()).collect();
        let tensor = match column {
            Column::Values(values) => Tensor::from_slice(values, shape, &Device::Cpu),
            Column::Ids(ids) => {
                let ids: Vec<u32> = ids.iter().map(|&id| id as u32).collect();
                Tensor::from_vec(ids, shape, &Device::Cpu)
            }
        };
        tensor.map(Value::Dense)
    };
    batch.columns().iter().zip(batch.encoding().inputs()).map(value).collect()
}

impl Layers for Tensors<'_> {
    type Value = Value;
    type Error = candle_core::Error;

    fn error(message: String) -> candle_core::Error {
        candle_core::Error::Msg(message)
    }

    fn table(&self) -> &ParameterTable {
        self.table
    }

    fn input(&mut self, index: usize) -> Result<Value> {
        Ok(self.inputs[index].clone())
    }

    fn parameter(&mut self, name: &str) -> Result<Value> {
        self.named(name).cloned().map(Value::Dense)
    }

    fn embed(&mut self, name: &str, ids: &Value) -> Result<Value> {
        let ids = ids.dense()?;
        let table = self.named(name)?;
        let mut shape = ids.dims().to_vec();
        shape.push(table.dim(1)?);
        table.index_select(&ids.flatten_all()?, 0)?.reshape(shape).map(Value::Dense)
    }

    fn linear_of(&mut self, x: &Value, weight: &str, bias: Option<&str>) -> Result<Value> {
        let Some(bias) = bias else { return self.project(x, weight) };
        let (weight, bias) = (self.named(weight)?, self.named(bias)?);
        let y = match x {
            Value::Sparse(rows) => kernels::sparse_linear(rows, weight, bias),
            Value::Dense(x) => x.matmul(&weight.t()?)?.broadcast_add(bias),
        };
        self.multiplications += x.elements() * weight.dim(0)?;
        y.map(Value::Dense)
    }

    fn project(&mut self, x: &Value, weight: &str) -> Result<Value> {
        let x = x.dense()?;
        if let Some(watch) = &mut self.watch {
            watch(weight, &x)?;
        }
        let weight = self.named(weight)?;
        let (outputs, inputs) = weight.dims2()?;
        let mut shape = x.dims().to_vec();
        shape.pop();
        shape.push(outputs);
        let y = x.reshape(((), inputs))?.matmul(&weight.t()?)?.reshape(shape);
        self.multiplications += x.elem_count() * outputs;
        y.map(Value::Dense)
    }

    fn conv(&mut self, x: &Value, layer: &str) -> Result<Value> {
        let x = x.dense()?;
        let weight = self.named(&format!("{layer}.weight"))?;
        let bias = self.named(&format!("{layer}.bias"))?;
        let y = match self.kernels {
            Kernels::Fast => kernels::conv(&x, weight, bias),
            Kernels::Plain => {
                let y = x.conv2d(weight, weight.dim(2)? / 2, 1, 1, 1)?;
                y.broadcast_add(&bias.reshape((1, (), 1, 1))?)
            }
        };
        // Every weight meets every pixel of the input channel it belongs to.
        self.multiplications += x.elem_count() * weight.elem_count() / weight.dim(1)?;
        y.map(Value::Dense)
    }

    fn rms_norm(&mut self, x: &Value, weight: &str, eps: f32) -> Result<Value> {
        let (x, weight) = (x.dense()?, self.named(weight)?.flatten_all()?);
        let y = match self.kernels {
            Kernels::Fast => kernels::rms_norm(&x, &weight, eps),
            Kernels::Plain => {
                let mean = x.sqr()?.mean_keepdim(D::Minus1)?;
                x.broadcast_div(&(mean + f64::from(eps))?.sqrt()?)?.broadcast_mul(&weight)
            }
        };
        y.map(Value::Dense)
    }

    fn add(&mut self, a: &Value, b: &Value) -> Result<Value> {
        a.dense()?.broadcast_add(&b.dense()?).map(Value::Dense)
    }

    fn mul(&mut self, a: &Value, b: &Value) -> Result<Value> {
        a.dense()?.broadcast_mul(&b.dense()?).map(Value::Dense)
    }

    fn matmul(&mut self, a: &Value, b: &Value) -> Result<Value> {
        let (a, b) = (a.dense()?, b.dense()?);
        self.multiplications += a.elem_count() * b.dim(D::Minus1)?;
        a.contiguous()?.matmul(&b.contiguous()?).map(Value::Dense)
    }

    fn scale(&mut self, x: &Value, factor: f32) -> Result<Value> {
        (x.dense()? * f64::from(factor)).map(Value::Dense)
    }

    fn reshape(&mut self, x: &Value, shape: &[usize]) -> Result<Value> {
        let x = x.dense()?;
        let whole: Vec<usize> = std::iter::once(x.dim(0)?).chain(shape.iter().copied()).collect();
        x.reshape(whole).map(Value::Dense)
    }

    fn permute(&mut self, x: &Value, order: &[usize]) -> Result<Value> {
        x.dense()?.permute(order)?.contiguous().map(Value::Dense)
    }

    fn slice(&mut self, x: &Value, axis: usize, from: usize, to: usize) -> Result<Value> {
        x.dense()?.narrow(axis, from, to - from)?.contiguous().map(Value::Dense)
    }

    fn select(&mut self, x: &Value, axis: usize, indices: &[u32]) -> Result<Value> {
        if let (Value::Sparse(rows), 1) = (x, axis)
            && let Some(rows) = rows.reordered(indices)
        {
            return Ok(Value::Sparse(Arc::new(rows)));
        }
        let indices = Tensor::from_slice(indices, indices.len(), &Device::Cpu)?;
        x.dense()?.index_select(&indices, axis).map(Value::Dense)
    }

    fn concat(&mut self, parts: &[&Value], axis: usize) -> Result<Value> {
        let parts = parts.iter().map(|part| part.dense()).collect::<Result<Vec<Tensor>>>()?;
        Tensor::cat(&parts, axis).map(Value::Dense)
    }

    fn mean(&mut self, x: &Value, axis: usize) -> Result<Value> {
        x.dense()?.mean(axis).map(Value::Dense)
    }

    fn sum(&mut self, x: &Value, axis: usize) -> Result<Value> {
        let sums = match (x, axis) {
            (Value::Sparse(rows), 1) => rows.sums(),
            _ => x.dense()?.sum_keepdim(axis),
        };
        sums.map(Value::Dense)
    }

    fn look_up(&mut self, x: &Value, table: &[i64], width: usize) -> Result<Value> {
        let rows = x.dense()?.flatten_all()?.to_vec1::<f32>()?;
        let rows: Vec<u32> = rows.into_iter().map(|row| row as u32).collect();
        let table: Vec<f32> = table.iter().map(|&number| number as f32).collect();
        let table = Tensor::from_slice(&table, (table.len() / width, width), &Device::Cpu)?;
        table.index_select(&Tensor::from_slice(&rows, rows.len(), &Device::Cpu)?, 0).map(Value::Dense)
    }

    fn relu(&mut self, x: &Value) -> Result<Value> {
        x.dense()?.relu().map(Value::Dense)
    }

    fn clipped_relu(&mut self, x: &Value) -> Result<Value> {
        let x = x.dense()?;
        let y = match self.kernels {
            Kernels::Fast => kernels::clipped_relu(&x),
            // Not `clamp`: its gradient is shared between both sides of a tie, and ReLU's at zero is zero.
            Kernels::Plain => 1.0 - (1.0 - x.relu()?)?.relu()?,
        };
        y.map(Value::Dense)
    }

    fn silu(&mut self, x: &Value) -> Result<Value> {
        x.dense()?.silu().map(Value::Dense)
    }

    fn gelu(&mut self, x: &Value) -> Result<Value> {
        x.dense()?.gelu_erf().map(Value::Dense)
    }

    fn softmax(&mut self, x: &Value) -> Result<Value> {
        let x = x.dense()?;
        let y = match self.kernels {
            Kernels::Fast => kernels::softmax(&x),
            Kernels::Plain => {
                let e = x.broadcast_sub(&x.detach().max_keepdim(D::Minus1)?)?.exp()?;
                e.broadcast_div(&e.sum_keepdim(D::Minus1)?)
            }
        };
        y.map(Value::Dense)
    }
}

#[cfg(test)]
mod tests {
    use tabia_encoding::encoding;
    use tabia_nets::relative_bias::{TABLE, in_parts, indices};
    use tabia_nets::{Decay, Initial};

    use super::*;

    #[test]
    fn relative_bias_depends_on_the_distance_alone() {
        let mut table = ParameterTable::new();
        table.push("bias", &[2, TABLE, TABLE], Initial::Zeros, Decay::Exempt);
        let arena: Vec<f32> = (0..table.arena_len()).map(|at| at as f32).collect();
        let batch = Batch::new(encoding("challenge-768").unwrap());
        let mut net = Tensors::constant(&table, &arena, &batch, Kernels::Plain).unwrap();
        let bias: Vec<Vec<Vec<f32>>> =
            in_parts(&mut net, "bias").unwrap().dense().unwrap().to_vec3().unwrap();
        let flat: Vec<usize> = bias.iter().flatten().flatten().map(|&element| element as usize).collect();
        assert_eq!(flat, indices(2).collect::<Vec<_>>());
        for (head, bias) in bias.iter().enumerate() {
            for (i, j) in (0..64).flat_map(|i| (0..64).map(move |j| (i, j))) {
                let (row, column) = (7 + j / 8 - i / 8, 7 + j % 8 - i % 8);
                let wanted = (head * TABLE * TABLE + row * TABLE + column) as f32;
                assert_eq!(bias[i][j], wanted, "{head} {i} {j}");
            }
        }
    }
}
