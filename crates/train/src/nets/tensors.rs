//! Networks computed on candle tensors.

use std::collections::HashMap;

use candle_core::{D, Device, Result, Tensor, Var};
use tabia_encoding::{Batch, Column};

use super::layers::Layers;
use crate::ParameterTable;

/// A network's parameters as tensors, and the inputs of one batch.
pub(crate) struct Tensors {
    parameters: HashMap<String, Tensor>,
    inputs: Vec<Tensor>,
}

/// The parameters of `arena` as variables, which a loss can be differentiated by.
pub(crate) fn variables(table: &ParameterTable, arena: &[f32]) -> Result<Vec<Var>> {
    let variable =
        |entry: &crate::Parameter| Var::from_slice(entry.of(arena), entry.shape.as_slice(), &Device::Cpu);
    table.entries().iter().map(variable).collect()
}

impl Tensors {
    /// Parameters given in the order of the table, and the rows of `batch`.
    pub(crate) fn new(table: &ParameterTable, parameters: Vec<Tensor>, batch: &Batch) -> Result<Self> {
        let names = table.entries().iter().map(|entry| entry.name.clone());
        Ok(Tensors { parameters: names.zip(parameters).collect(), inputs: inputs(batch)? })
    }

    /// Parameters that nothing is differentiated by.
    pub(crate) fn constant(table: &ParameterTable, arena: &[f32], batch: &Batch) -> Result<Self> {
        let tensor = |entry: &crate::Parameter| {
            Tensor::from_slice(entry.of(arena), entry.shape.as_slice(), &Device::Cpu)
        };
        Tensors::new(table, table.entries().iter().map(tensor).collect::<Result<_>>()?, batch)
    }

    fn named(&self, name: &str) -> Result<&Tensor> {
        self.parameters
            .get(name)
            .ok_or_else(|| candle_core::Error::Msg(format!("the network has no parameter {name}")))
    }
}

fn inputs(batch: &Batch) -> Result<Vec<Tensor>> {
    let tensor = |(column, spec): (&Column, &tabia_encoding::InputSpec)| {
        let shape: Vec<usize> = std::iter::once(batch.rows()).chain(spec.shape.iter().copied()).collect();
        match column {
            Column::Values(values) => Tensor::from_slice(values, shape, &Device::Cpu),
            Column::Ids(ids) => {
                let ids: Vec<u32> = ids.iter().map(|&id| id as u32).collect();
                Tensor::from_vec(ids, shape, &Device::Cpu)
            }
        }
    };
    batch.columns().iter().zip(batch.encoding().inputs()).map(tensor).collect()
}

impl Layers for Tensors {
    type Value = Tensor;

    fn input(&mut self, index: usize) -> Result<Tensor> {
        Ok(self.inputs[index].clone())
    }

    fn parameter(&mut self, name: &str) -> Result<Tensor> {
        self.named(name).cloned()
    }

    fn embed(&mut self, name: &str, ids: &Tensor) -> Result<Tensor> {
        let table = self.named(name)?;
        let mut shape = ids.dims().to_vec();
        shape.push(table.dim(1)?);
        table.index_select(&ids.flatten_all()?, 0)?.reshape(shape)
    }

    fn linear(&mut self, x: &Tensor, layer: &str) -> Result<Tensor> {
        let weight = self.named(&format!("{layer}.weight"))?;
        x.matmul(&weight.t()?)?.broadcast_add(self.named(&format!("{layer}.bias"))?)
    }

    fn project(&mut self, x: &Tensor, weight: &str) -> Result<Tensor> {
        let weight = self.named(weight)?;
        let mut shape = x.dims().to_vec();
        let last = shape.len() - 1;
        let rows = shape[..last].iter().product::<usize>();
        let flat = x.reshape((rows, shape[last]))?;
        shape[last] = weight.dim(0)?;
        flat.matmul(&weight.t()?)?.reshape(shape)
    }

    fn conv(&mut self, x: &Tensor, layer: &str) -> Result<Tensor> {
        let weight = self.named(&format!("{layer}.weight"))?;
        let bias = self.named(&format!("{layer}.bias"))?;
        let y = x.conv2d(weight, weight.dim(2)? / 2, 1, 1, 1)?;
        y.broadcast_add(&bias.reshape((1, (), 1, 1))?)
    }

    fn rms_norm(&mut self, x: &Tensor, weight: &str, eps: f32) -> Result<Tensor> {
        let weight = self.named(weight)?.flatten_all()?;
        let mean = x.sqr()?.mean_keepdim(D::Minus1)?;
        x.broadcast_div(&(mean + f64::from(eps))?.sqrt()?)?.broadcast_mul(&weight)
    }

    fn add(&mut self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        a.broadcast_add(b)
    }

    fn mul(&mut self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        a.broadcast_mul(b)
    }

    fn matmul(&mut self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        a.contiguous()?.matmul(&b.contiguous()?)
    }

    fn scale(&mut self, x: &Tensor, factor: f32) -> Result<Tensor> {
        x * f64::from(factor)
    }

    fn reshape(&mut self, x: &Tensor, shape: &[usize]) -> Result<Tensor> {
        let whole: Vec<usize> = std::iter::once(x.dim(0)?).chain(shape.iter().copied()).collect();
        x.reshape(whole)
    }

    fn permute(&mut self, x: &Tensor, order: &[usize]) -> Result<Tensor> {
        x.permute(order)?.contiguous()
    }

    fn slice(&mut self, x: &Tensor, axis: usize, from: usize, to: usize) -> Result<Tensor> {
        x.narrow(axis, from, to - from)?.contiguous()
    }

    fn select(&mut self, x: &Tensor, axis: usize, indices: &[u32]) -> Result<Tensor> {
        x.index_select(&Tensor::from_slice(indices, indices.len(), &Device::Cpu)?, axis)
    }

    fn concat(&mut self, parts: &[&Tensor], axis: usize) -> Result<Tensor> {
        Tensor::cat(parts, axis)
    }

    fn mean(&mut self, x: &Tensor, axis: usize) -> Result<Tensor> {
        x.mean(axis)
    }

    fn sum(&mut self, x: &Tensor, axis: usize) -> Result<Tensor> {
        x.sum_keepdim(axis)
    }

    fn look_up(&mut self, x: &Tensor, table: &[f32], width: usize) -> Result<Tensor> {
        let rows: Vec<u32> = x.flatten_all()?.to_vec1::<f32>()?.into_iter().map(|row| row as u32).collect();
        let table = Tensor::from_slice(table, (table.len() / width, width), &Device::Cpu)?;
        table.index_select(&Tensor::from_slice(&rows, rows.len(), &Device::Cpu)?, 0)
    }

    fn relu(&mut self, x: &Tensor) -> Result<Tensor> {
        x.relu()
    }

    fn clipped_relu(&mut self, x: &Tensor) -> Result<Tensor> {
        // Not `clamp`: its gradient is shared between both sides of a tie, and ReLU's at zero is zero.
        1.0 - (1.0 - x.relu()?)?.relu()?
    }

    fn silu(&mut self, x: &Tensor) -> Result<Tensor> {
        x.silu()
    }

    fn gelu(&mut self, x: &Tensor) -> Result<Tensor> {
        x.gelu_erf()
    }

    fn softmax(&mut self, x: &Tensor) -> Result<Tensor> {
        let e = x.broadcast_sub(&x.detach().max_keepdim(D::Minus1)?)?.exp()?;
        e.broadcast_div(&e.sum_keepdim(D::Minus1)?)
    }
}
