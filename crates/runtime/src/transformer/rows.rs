//! Rows of floats on cache lines.

use std::ops::{Deref, DerefMut};

use crate::accumulator::block::LANES;

/// Blocks of sixteen numbers, each on a cache line: a load of a whole line that crosses into the next takes twice as long.
#[derive(Debug)]
pub(super) struct Rows {
    numbers: Vec<f32>,
    /// Where the first block starts.
    first: usize,
    blocks: usize,
}

impl Rows {
    pub(super) fn zeros(blocks: usize) -> Rows {
        let numbers = vec![0.0_f32; (blocks + 1) * LANES];
        let first = numbers.as_ptr().align_offset(LANES * size_of::<f32>()).min(LANES);
        Rows { numbers, first, blocks }
    }
}

impl Deref for Rows {
    type Target = [[f32; LANES]];

    fn deref(&self) -> &[[f32; LANES]] {
        &self.numbers[self.first..].as_chunks().0[..self.blocks]
    }
}

impl DerefMut for Rows {
    fn deref_mut(&mut self) -> &mut [[f32; LANES]] {
        &mut self.numbers[self.first..].as_chunks_mut().0[..self.blocks]
    }
}
