//! How the attention kernels are started: sizes of blocks, shared memory, and the walk over boards.

use super::training::{BF16, F32};
use tabia_gpu::Device;

/// Blocks a multiprocessor has registers and shared memory for, of the forward kernel.
pub(crate) const fn forward_blocks(head: usize) -> u32 {
    if head <= 16 { 7 } else { 5 }
}

/// The same of the backward kernel.
pub(crate) const fn backward_blocks(head: usize) -> u32 {
    if head <= 16 { 4 } else { 3 }
}

const fn padded(tokens: usize) -> usize {
    tokens.next_multiple_of(16)
}

/// Threads of a block.
pub(crate) const fn threads(tokens: usize) -> u32 {
    (padded(tokens) * 2) as u32
}

/// Bytes of dynamic shared memory of a block of `attention_backward`.
pub(crate) const fn memory(tokens: usize, head: usize) -> u32 {
    let rows = padded(tokens);
    let halves = 4 * rows * (head + 8) + 2 * rows * (rows + 8);
    let floats = 2 * rows + (rows / 16) * 2 * head + (rows / 8) * 4 * threads(tokens) as usize;
    (halves * BF16 + floats * F32) as u32
}

/// Blocks of a launch, and steps among the boards: a block stays with its head.
pub(crate) fn walk<D: Device>(device: &D, heads: usize, boards: usize, per: u32) -> (u32, usize) {
    let heads = heads as u32;
    let steps = (device.multiprocessors() * per / heads).clamp(1, boards.max(1) as u32);
    (steps * heads, steps as usize)
}
