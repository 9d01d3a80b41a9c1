//! Transformer blocks: pre-norm attention and SwiGLU feed-forward with residuals.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::{Mutex, PoisonError};

use tabia_onnx::TensorError;
use tabia_onnx::tensors::TensorMap;
use tabia_threads::{Member, with_team};

use super::attention::{Attention, HeadBuffers, Scaling};
use super::elementwise::RmsNorm;
use super::level::Level;
use super::linear::Linear;
use super::product::Store;
use super::quantise::QuantisedRows;
use super::rows::Rows;
use super::share::{Exchange, MOST, Share};
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
    /// The number of attention heads.
    pub(super) fn heads(&self) -> usize {
        self.width / self.head
    }

    /// Whether rows fill whole blocks, as the kernels require.
    pub(super) fn fills_blocks(&self) -> bool {
        [self.tokens, self.width, self.head, self.hidden].iter().all(|size| size.is_multiple_of(LANES))
    }
}

/// The blocks of a network and the final norm.
#[derive(Debug)]
pub(super) struct Trunk {
    plan: Plan,
    blocks: Vec<TrunkBlock>,
    final_norm: Vec<[f32; LANES]>,
    /// Those that no run uses.
    idle: Mutex<Vec<Exchange>>,
}

#[derive(Debug)]
struct TrunkBlock {
    norm1: Vec<[f32; LANES]>,
    qkv: Linear,
    attention: Attention,
    /// The bias of attention: for each head and key a row over the queries.
    bias: Rows,
    out: Linear,
    norm2: Vec<[f32; LANES]>,
    up: Linear,
    down: Linear,
}

/// Buffers for one position.
#[derive(Debug)]
pub(super) struct TrunkBuffers {
    /// The tokens, a row each.
    pub(super) x: Rows,
    /// The tokens after a norm; finally the output.
    pub(super) normal: Rows,
    /// Quantised inputs of a product.
    pub(super) quantised: QuantisedRows,
    qkv: Rows,
    gated: Rows,
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
                bias: bias_by_key(bias.data(), tokens),
                out,
                norm2: take_row(tensors, &format!("{block}.{norm}2.weight"), d)?,
                up,
                down,
            });
        }
        let final_norm = take_row(tensors, plan.final_norm, d)?;
        Ok(Trunk { plan, blocks, final_norm, idle: Mutex::default() })
    }

    pub(super) fn buffers(&self) -> TrunkBuffers {
        let Plan { tokens, width, head, hidden, .. } = self.plan;
        let rows = |numbers: usize| Rows::zeros(tokens * numbers / LANES);
        TrunkBuffers {
            x: rows(width),
            normal: rows(width),
            quantised: QuantisedRows::default(),
            qkv: rows(3 * width),
            gated: rows(hidden),
            head: HeadBuffers::new(tokens, head),
        }
    }

    /// Runs the tokens in `buffers.x` through all blocks into `buffers.normal`, with helpers if there are any.
    pub(super) fn run(&self, level: Level, buffers: &mut TrunkBuffers) {
        if tabia_threads::helpers() == 0 {
            return self.run_share(level, &Share::whole(self.plan), buffers);
        }
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let known = idle().pop();
        let mut exchange = known.unwrap_or_default();
        exchange.tokens.clear();
        exchange.tokens.extend_from_slice(&buffers.x);
        let lead =
            |member: &Member<'_>| self.run_share(level, &Share::of(self.plan, member, &exchange), buffers);
        with_team(MOST, lead, &|member| {
            let share = Share::of(self.plan, member, &exchange);
            let known = exchange.take_buffers();
            let mut buffers = known.unwrap_or_else(|| self.buffers());
            share.take_tokens(&mut buffers.x);
            self.run_share(level, &share, &mut buffers);
            exchange.keep_buffers(buffers);
        });
        idle().push(exchange);
    }

    /// A thread's share of the work: some of the tokens, and some of the heads of attention.
    fn run_share(&self, level: Level, share: &Share<'_>, buffers: &mut TrunkBuffers) {
        let Plan { eps, width, hidden, .. } = self.plan;
        let (wide, deep) = (share.rows(width), share.rows(hidden));
        let TrunkBuffers { x, normal, quantised, qkv, gated, head } = buffers;
        for block in &self.blocks {
            level.run(RmsNorm {
                from: &x[wide.clone()],
                weight: &block.norm1,
                eps,
                to: &mut normal[wide.clone()],
            });
            let own = &mut qkv[share.rows(3 * width)];
            block.qkv.run(level, &normal[wide.clone()], quantised, own, Store::Replace);
            share.exchange_rows(qkv);
            block.attention.run(level, share.heads(), qkv, &block.bias, head, normal);
            share.exchange_heads(normal);
            let (x, normal) = (&mut x[wide.clone()], &mut normal[wide.clone()]);
            block.out.run(level, normal, quantised, x, Store::Add);
            level.run(RmsNorm { from: x, weight: &block.norm2, eps, to: normal });
            let gated = &mut gated[deep.clone()];
            block.up.run(level, normal, quantised, gated, Store::SwiGlu);
            block.down.run(level, gated, quantised, x, Store::Add);
        }
        let to = &mut normal[wide.clone()];
        level.run(RmsNorm { from: &x[wide], weight: &self.final_norm, eps, to });
        share.exchange_rows(normal);
    }
}

/// The attention bias by head, key and query, given by head, query and key. There is a multiple of 16 `tokens`.
fn bias_by_key(bias: &[f32], tokens: usize) -> Rows {
    let mut to = Rows::zeros(bias.len() / LANES);
    let heads =
        bias.chunks_exact(tokens * tokens).zip(to.as_flattened_mut().chunks_exact_mut(tokens * tokens));
    for (bias, to) in heads {
        for (at, bias) in bias.iter().enumerate() {
            to[at % tokens * tokens + at / tokens] = *bias;
        }
    }
    to
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
