//! Every buffer of a step besides the parameters. All are made once.

use super::super::attention;
use super::super::training::{BF16, F32};
use super::{GAME_INPUTS, MOVES, OUTPUTS, SQUARE_INPUTS, TOKENS};
use crate::nets::HumanConfig;
use tabia_gpu::{Address, Device, DeviceError};

/// What the backward pass reads of one block.
pub(super) struct LayerMemory {
    pub(super) x: Address,
    pub(super) normed1: Address,
    pub(super) qkv: Address,
    pub(super) context: Address,
    pub(super) middle: Address,
    pub(super) normed2: Address,
    pub(super) both: Address,
    pub(super) product: Address,
}

/// Every buffer of a step besides the arenas.
pub(super) struct Memory {
    pub(super) squares: Address,
    pub(super) game: Address,
    pub(super) embedded: Address,
    pub(super) game_vector: Address,
    pub(super) layers: Vec<LayerMemory>,
    pub(super) last: Address,
    pub(super) y: Address,
    pub(super) pairs: Address,
    pub(super) logits: Address,
    pub(super) d_logits: Address,
    pub(super) promotion_d: Address,
    pub(super) pooled: Address,
    pub(super) before: Address,
    pub(super) hidden: Address,
    pub(super) outputs: Address,
    pub(super) d_outputs: Address,
    pub(super) d_outputs_rounded: Address,
    pub(super) d_hidden: Address,
    pub(super) d_before: Address,
    pub(super) d_pooled: Address,
    pub(super) d_pairs: Address,
    pub(super) d_normed: Address,
    pub(super) dx: Address,
    pub(super) d_context: Address,
    pub(super) d_qkv: Address,
    pub(super) d_product: Address,
    pub(super) d_both: Address,
    pub(super) d_game: Address,
    pub(super) partial: Address,
    pub(super) partial_bias: Address,
}

/// Blocks a multiprocessor of the kernels that leave partial sums: also how much room those need.
pub(super) const NORM_BLOCKS: u32 = 4;
pub(super) const EMBED_BLOCKS: u32 = 2;

impl Memory {
    pub(super) fn new<D: Device>(
        device: &D,
        config: &HumanConfig,
        boards: usize,
    ) -> Result<Self, DeviceError> {
        let HumanConfig { width: d, heads, layers, inner, pair, hidden } = *config;
        let rows = boards * TOKENS;
        let halves = |count: usize| device.allocate(count * BF16);
        let floats = |count: usize| device.allocate(count * F32);
        let layer = |_| {
            Ok(LayerMemory {
                x: halves(rows * d)?,
                normed1: halves(rows * d)?,
                qkv: halves(rows * 3 * d)?,
                context: halves(rows * d)?,
                middle: halves(rows * d)?,
                normed2: halves(rows * d)?,
                both: halves(rows * 2 * inner)?,
                product: halves(rows * inner)?,
            })
        };
        let processors = device.multiprocessors() as usize;
        let (attention_blocks, steps) =
            attention::walk(device, config.heads, boards, attention::backward_blocks(config.head_width()));
        let partial = [
            processors * NORM_BLOCKS as usize * d,
            processors * EMBED_BLOCKS as usize * TOKENS * d,
            processors * 2 * 4 * d,
            attention_blocks as usize * 2 * config.head_width(),
        ];
        Ok(Memory {
            squares: halves(rows * SQUARE_INPUTS)?,
            game: halves(boards * GAME_INPUTS)?,
            embedded: halves(rows * d)?,
            game_vector: floats(boards * d)?,
            layers: (0..layers).map(layer).collect::<Result<_, DeviceError>>()?,
            last: halves(rows * d)?,
            y: halves(rows * d)?,
            pairs: halves(rows * 2 * pair)?,
            logits: floats(boards * MOVES)?,
            d_logits: halves(boards * MOVES)?,
            promotion_d: floats(boards * 4)?,
            pooled: halves(boards * d)?,
            before: floats(boards * hidden)?,
            hidden: halves(boards * hidden)?,
            outputs: floats(boards * OUTPUTS)?,
            d_outputs: floats(boards * OUTPUTS)?,
            d_outputs_rounded: halves(boards * OUTPUTS)?,
            d_hidden: floats(boards * hidden)?,
            d_before: halves(boards * hidden)?,
            d_pooled: floats(boards * d)?,
            d_pairs: halves(rows * 2 * pair)?,
            d_normed: halves(rows * d)?,
            dx: halves(rows * d)?,
            d_context: halves(rows * d)?,
            d_qkv: halves(rows * 3 * d)?,
            d_product: halves(rows * inner)?,
            d_both: halves(rows * 2 * inner)?,
            d_game: halves(boards * d)?,
            partial: floats(partial.into_iter().max().unwrap_or(0))?,
            partial_bias: floats(steps * heads * MOVES)?,
        })
    }
}
