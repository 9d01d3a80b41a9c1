use candle_core::{CpuStorage, CustomOp1, Layout, Result, Shape, Tensor};
use rayon::prelude::*;

use super::rows::{floats, read, tensor};
use crate::PolicyTargets;

/// Cross entropy over the legal moves, `[batch]`: only those are looked at.
pub(crate) fn policy_loss(logits: &Tensor, targets: &PolicyTargets) -> Result<Tensor> {
    let rows = logits.dim(0)?;
    let list = |row: usize| Row {
        legal: targets.legal_of(row).map(u32::from).collect(),
        wanted: targets.target_of(row).map(|(index, share)| (u32::from(index), share)).collect(),
    };
    let lists = (0..rows).into_par_iter().map(list).collect();
    logits.contiguous()?.apply_op1(PolicyLoss { lists })
}

struct PolicyLoss {
    lists: Vec<Row>,
}

struct Row {
    legal: Vec<u32>,
    wanted: Vec<(u32, f32)>,
}

impl Row {
    /// The largest legal logit, and the sum of exponentials above it.
    fn top_and_sum(&self, logits: &[f32]) -> (f32, f32) {
        let legal = || self.legal.iter().map(|&index| logits[index as usize]);
        let top = legal().fold(f32::NEG_INFINITY, f32::max);
        (top, legal().map(|logit| (logit - top).exp()).sum())
    }
}

impl CustomOp1 for PolicyLoss {
    fn name(&self) -> &'static str {
        "policy-loss"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let (rows, width) = layout.shape().dims2()?;
        let logits = floats(storage, layout)?;
        let loss = |(row, logits): (&Row, &[f32])| {
            let (top, sum) = row.top_and_sum(logits);
            // In terms of the distance to the top, so that what is left of large logits keeps its digits.
            let wanted = row.wanted.iter().map(|&(index, share)| share * (logits[index as usize] - top));
            let shares: f32 = row.wanted.iter().map(|wanted| wanted.1).sum();
            sum.ln() - wanted.sum::<f32>() + top * (1.0 - shares)
        };
        let losses = self.lists.par_iter().zip(logits.par_chunks(width)).map(loss).collect();
        Ok((CpuStorage::F32(losses), Shape::from(rows)))
    }

    fn bwd(&self, logits: &Tensor, _: &Tensor, gradient: &Tensor) -> Result<Option<Tensor>> {
        let width = logits.dim(1)?;
        let slopes = read(logits, |logits| {
            read(gradient, |g| {
                let mut slopes = vec![0.0; logits.len()];
                let rows = slopes.par_chunks_mut(width).zip(logits.par_chunks(width)).zip(g).zip(&self.lists);
                rows.for_each(|(((slopes, logits), g), row)| {
                    let (top, sum) = row.top_and_sum(logits);
                    for &index in &row.legal {
                        slopes[index as usize] = g * (logits[index as usize] - top).exp() / sum;
                    }
                    for &(index, share) in &row.wanted {
                        slopes[index as usize] -= g * share;
                    }
                });
                Ok(slopes)
            })
        })?;
        tensor(slopes, logits.shape()).map(Some)
    }
}
