//! Transformer blocks: pre-norm attention and SwiGLU feed-forward with residuals.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use tabia_onnx::TensorError;
use tabia_onnx::tensors::TensorMap;

use super::attention::{Attention, HeadBuffers, Scaling};
use super::elementwise::{RmsNorm, SwiGlu};
use super::level::Level;
use super::linear::Linear;
use super::product::Store;
use super::quantise::QuantisedRows;
use crate::accumulator::block::LANES;

/// Names and sizes of a network.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) tokens: usize,
    pub(super) width: usize,
    /// Width of an attention head.
    pub(super) head: usize,
    pub(super) hidden: usize,
    pub(super) layers: usize,
    /// The name of the norms of a block: `blocks.{i}.{norm}1.weight`, `...2.weight`.
    pub(super) norm: &'static str,
    pub(super) final_norm: &'static str,
    pub(super) eps: f32,
}

impl Plan {
    /// Whether rows fill whole blocks, as the kernels require.
    pub(super) fn fills_blocks(&self) -> bool {
        [self.width, self.head, self.hidden].iter().all(|size| size.is_multiple_of(LANES))
    }
}

/// The blocks of a network and the final norm.
#[derive(Debug)]
pub(super) struct Trunk {
    plan: Plan,
    blocks: Vec<TrunkBlock>,
    final_norm: Vec<[f32; LANES]>,
}

#[derive(Debug)]
struct TrunkBlock {
    norm1: Vec<[f32; LANES]>,
    qkv: Linear,
    attention: Attention,
    /// The bias of attention: for each head and query a row of blocks.
    bias: Vec<[f32; LANES]>,
    out: Linear,
    norm2: Vec<[f32; LANES]>,
    up: Linear,
    down: Linear,
}

/// Buffers for one position.
#[derive(Debug)]
pub(super) struct TrunkBuffers {
    /// The tokens, a row each.
    pub(super) x: Vec<[f32; LANES]>,
    /// The tokens after a norm; finally the output.
    pub(super) normal: Vec<[f32; LANES]>,
    /// Quantised inputs of a product.
    pub(super) quantised: QuantisedRows,
    qkv: Vec<[f32; LANES]>,
    inner: Vec<[f32; LANES]>,
    gated: Vec<[f32; LANES]>,
    head: HeadBuffers,
}

impl Trunk {
    /// Takes the weights of `plan` out of `tensors`. The plan [fills blocks](Plan::fills_blocks).
    ///
    /// # Errors
    /// If one is missing, has another shape or is not finite.
    pub(super) fn take(plan: Plan, tensors: &mut TensorMap, level: Level) -> Result<Trunk, TensorError> {
        let Plan { tokens, width: d, head, hidden, norm, .. } = plan;
        let mut blocks = Vec::new();
        for block in (0..plan.layers).map(|i| format!("blocks.{i}")) {
            let mut matrix =
                |name: &str, shape: [usize; 2]| tensors.take(&format!("{block}.{name}.weight"), &shape);
            let qkv = Linear::new(level, &[matrix("attn.qkv", [3 * d, d])?]);
            let out = Linear::new(level, &[matrix("attn.out", [d, d])?]);
            let up = [matrix("ffn.w1", [hidden, d])?, matrix("ffn.w3", [hidden, d])?];
            let up = Linear::new(level, &up);
            let down = Linear::new(level, &[matrix("ffn.w2", [d, hidden])?]);
            let scale = 1.0 / (head as f32).sqrt();
            let mut q_norm = take_row(tensors, &format!("{block}.attn.q_norm.weight"), head)?;
            q_norm.as_flattened_mut().iter_mut().for_each(|weight| *weight *= scale);
            let bias = tensors.take(&format!("{block}.attn.bias"), &[d / head, tokens, tokens])?;
            blocks.push(TrunkBlock {
                norm1: take_row(tensors, &format!("{block}.{norm}1.weight"), d)?,
                qkv,
                attention: Attention {
                    tokens,
                    dimensions: head / LANES,
                    scaling: Scaling::Norms {
                        q_norm,
                        k_norm: take_row(tensors, &format!("{block}.attn.k_norm.weight"), head)?,
                        eps: plan.eps,
                    },
                },
                bias: rows_in_blocks(bias.data(), tokens),
                out,
                norm2: take_row(tensors, &format!("{block}.{norm}2.weight"), d)?,
                up,
                down,
            });
        }
        Ok(Trunk { plan, blocks, final_norm: take_row(tensors, plan.final_norm, d)? })
    }

    pub(super) fn buffers(&self) -> TrunkBuffers {
        let Plan { tokens, width, head, hidden, .. } = self.plan;
        let rows = |numbers: usize| vec![[0.0; LANES]; tokens * numbers / LANES];
        TrunkBuffers {
            x: rows(width),
            normal: rows(width),
            quantised: QuantisedRows::default(),
            qkv: rows(3 * width),
            inner: rows(2 * hidden),
            gated: rows(hidden),
            head: HeadBuffers::new(tokens, head),
        }
    }

    /// Runs the tokens in `buffers.x` through all blocks into `buffers.normal`.
    pub(super) fn run(&self, level: Level, buffers: &mut TrunkBuffers) {
        let eps = self.plan.eps;
        let TrunkBuffers { x, normal, quantised, qkv, inner, gated, head } = buffers;
        for block in &self.blocks {
            level.run(RmsNorm { from: x, weight: &block.norm1, eps, to: normal });
            block.qkv.run(level, normal, quantised, qkv, Store::Replace);
            block.attention.run(level, qkv, &block.bias, head, normal);
            block.out.run(level, normal, quantised, x, Store::Add);
            level.run(RmsNorm { from: x, weight: &block.norm2, eps, to: normal });
            let blocks = self.plan.hidden / LANES;
            block.up.run(level, normal, quantised, inner, Store::Replace);
            level.run(SwiGlu { from: inner, blocks, to: gated });
            block.down.run(level, gated, quantised, x, Store::Add);
        }
        level.run(RmsNorm { from: x, weight: &self.final_norm, eps, to: normal });
    }
}

/// A vector of `len` elements in whole blocks.
///
/// # Errors
/// If it is missing, has another length or is not finite.
pub(super) fn take_row(
    tensors: &mut TensorMap,
    name: &str,
    len: usize,
) -> Result<Vec<[f32; LANES]>, TensorError> {
    Ok(rows_in_blocks(tensors.take(name, &[len])?.data(), len))
}

/// Rows of `width` elements, each padded to whole blocks.
pub(super) fn rows_in_blocks(data: &[f32], width: usize) -> Vec<[f32; LANES]> {
    let mut rows = Vec::with_capacity(data.len().div_ceil(LANES));
    for row in data.chunks(width.max(1)) {
        for part in row.chunks(LANES) {
            let mut block = [0.0; LANES];
            block[..part.len()].copy_from_slice(part);
            rows.push(block);
        }
    }
    rows
}
