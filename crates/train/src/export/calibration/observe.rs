//! The inputs of products, over positions of the training part of sets.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use candle_core::{Result, Tensor};
use tabia_data::Set;

use super::super::{ExportError, ExportWork};
use crate::feed_supply::calibration_stream;
use crate::tensors::{Kernels, Tensors};
use crate::{ExampleBuilder, RatingBalance, SupplyError, TrainConfig};

/// Positions looked at: 64 rows of inputs each where tokens are squares.
pub(in super::super) const POSITIONS: usize = 512;
/// Positions looked at together.
const ROWS: usize = 32;
/// Rows of inputs kept as they are, one in so many.
const KEPT: usize = 23;
/// The order of positions, and what is hidden of them.
const SEED: u64 = 3;

/// What the products of one matrix take.
pub(in super::super) struct Inputs {
    /// Numbers in a row.
    pub(super) width: usize,
    /// The mean of the products of each pair of inputs, `width` times `width`.
    pub(super) moments: Vec<f64>,
    /// Some of the rows.
    pub(super) rows: Vec<f32>,
    count: usize,
}

/// The inputs of each matrix, by the name of its weights.
pub(in super::super) type Observed = BTreeMap<String, Inputs>;

impl Inputs {
    fn new(width: usize) -> Self {
        Inputs { width, moments: vec![0.0; width * width], rows: Vec::new(), count: 0 }
    }

    /// The inputs that are these rows, all of them kept.
    #[cfg(test)]
    pub(super) fn of_rows(width: usize, rows: Vec<f32>) -> Self {
        let count = rows.len() / width;
        let mean = |i: usize, j: usize| {
            rows.chunks(width).map(|row| f64::from(row[i]) * f64::from(row[j])).sum::<f64>() / count as f64
        };
        let moments = (0..width * width).map(|at| mean(at / width, at % width)).collect();
        Inputs { width, moments, rows, count }
    }

    fn add(&mut self, rows: &Tensor) -> Result<()> {
        let products = rows.t()?.contiguous()?.matmul(rows)?.flatten_all()?.to_vec1::<f32>()?;
        self.moments.iter_mut().zip(products).for_each(|(sum, product)| *sum += f64::from(product));
        let rows = rows.to_vec2::<f32>()?;
        for row in rows {
            if self.count.is_multiple_of(KEPT) {
                self.rows.extend(row);
            }
            self.count += 1;
        }
        Ok(())
    }

    /// The same inputs, each divided by its own number.
    pub(super) fn divide(&mut self, by: &[f32]) {
        for (row, a) in self.moments.chunks_mut(self.width).zip(by) {
            row.iter_mut().zip(by).for_each(|(moment, b)| *moment /= f64::from(*a) * f64::from(*b));
        }
        for row in self.rows.chunks_mut(self.width) {
            row.iter_mut().zip(by).for_each(|(x, by)| *x /= by);
        }
    }
}

/// Computes the network of `arena` on positions of `sets` it was trained on, as training hides parts of them, and looks at the
/// inputs of its projections.
///
/// # Errors
/// If the sets cannot be read or have no such positions.
pub(in super::super) fn observe(
    config: &TrainConfig,
    arena: &[f32],
    sets: &[PathBuf],
    progress: &mut dyn FnMut(ExportWork),
) -> std::result::Result<Observed, ExportError> {
    let failed = |error: &dyn std::fmt::Display| SupplyError::Failed(error.to_string());
    let sets = sets.iter().map(|dir| Set::open(dir).map(Arc::new).map_err(|e| failed(&e)));
    let mut stream = calibration_stream(config, sets.collect::<std::result::Result<_, _>>()?, SEED);
    let unknown = || SupplyError::Failed(format!("the encoding {} is not known", config.net.encoding()));
    let mut builder = ExampleBuilder::new(config, RatingBalance::even()).ok_or_else(unknown)?;
    let observed: Rc<RefCell<Observed>> = Rc::default();
    let mut seen = 0;
    while seen < POSITIONS {
        let drawn = stream.draw(ROWS, |sample| builder.push(sample, SEED)).map_err(|e| failed(&e))?;
        if drawn == 0 {
            break;
        }
        let examples = builder.take();
        if examples.rows() == 0 {
            continue;
        }
        seen += examples.rows();
        let into = Rc::clone(&observed);
        let watch = move |name: &str, rows: &Tensor| {
            let width = rows.dim(candle_core::D::Minus1)?;
            let rows = rows.reshape(((), width))?;
            let mut observed = into.borrow_mut();
            observed.entry(name.to_owned()).or_insert_with(|| Inputs::new(width)).add(&rows)
        };
        let table = config.net.table();
        let tensors = Tensors::constant(&table, arena, &examples.inputs, Kernels::Fast)?;
        config.net.forward(&mut tensors.watched(Box::new(watch)))?;
        progress(ExportWork::Calibrating(seen as u64));
    }
    let mut observed = observed.take();
    for Inputs { moments, count, .. } in observed.values_mut() {
        moments.iter_mut().for_each(|moment| *moment /= *count as f64);
    }
    Ok(observed)
}
