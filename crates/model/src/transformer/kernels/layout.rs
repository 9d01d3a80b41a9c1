//! How the weights of sixteen outputs lie in memory.
//!
//! **Why wide sums work.** Four words give every sum of 16 bits eight products, too many for 16 bits: inputs go up to 127. But
//! with 64 taken off each input the sum is at most 64 times that of the weights' magnitudes, which is known beforehand. So
//! the sum starts at what those 64s amount to, negated, and runs over as often as it likes: in the end it is
//! what fits. The 64s come back where the span's sums of 32 bits start. Chunks whose weights are too large for that are marked.

use super::super::rounding::SPAN;
use crate::dense::block::LANES;

/// What sixteen outputs have for one word of inputs: for each output the weights of those inputs, one after another.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(in crate::transformer) struct Group(pub(in crate::transformer) [u8; 64]);

/// How many inputs share a word, and how wide a weight is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transformer) enum Layout {
    /// Four inputs, weights of 8 bits.
    #[cfg_attr(target_arch = "x86_64", expect(dead_code, reason = "TODO"))]
    Quads,
    /// The same in [chunks](CHUNK) of words. A span begins with a group of sums of 32 bits, and after each chunk comes
    /// one of sums of 16: where those of the products start.
    Wide,
    /// Two inputs, weights of 16 bits.
    #[cfg_attr(
        not(target_arch = "wasm32"),
        expect(dead_code, reason = "other processors multiply bytes as quickly")
    )]
    Pairs,
}

/// Words whose products are added in 16 bits.
pub(in crate::transformer) const CHUNK: usize = 4;

/// What is taken off an input so that sums stay small.
const CENTRE: i32 = 64;

/// Words of a span of four inputs each.
const SPAN_WORDS: usize = SPAN * LANES / 4;

impl Layout {
    /// Inputs of one word.
    pub(in crate::transformer) fn inputs(self) -> usize {
        match self {
            Layout::Quads | Layout::Wide => 4,
            Layout::Pairs => 2,
        }
    }

    /// Groups of `words` words.
    pub(in crate::transformer) fn groups(self, words: usize) -> usize {
        match self {
            Layout::Quads | Layout::Pairs => words,
            Layout::Wide => words + words / CHUNK + words.div_ceil(SPAN_WORDS),
        }
    }

    /// The place of a word's group.
    pub(in crate::transformer) fn place(self, word: usize) -> usize {
        match self {
            Layout::Quads | Layout::Pairs => word,
            Layout::Wide => word + word / CHUNK + word / SPAN_WORDS + 1,
        }
    }

    /// Fills the groups that are not weights. `groups` are those of a panel.
    pub(in crate::transformer) fn finish(self, groups: &mut [Group]) {
        if self == Layout::Wide {
            for span in groups.chunks_mut(self.groups(SPAN_WORDS)) {
                if let Some((start, chunks)) = span.split_first_mut() {
                    finish_span(start, chunks);
                }
            }
        }
    }
}

/// The group after a chunk, where the chunk's weights are too large for sums of 16 bits: multiples of 64 are even.
const TOO_LARGE: u8 = 1;

impl Group {
    /// Whether the chunk before this group has weights too large for sums of 16 bits.
    #[inline(always)]
    pub(in crate::transformer) fn marks_large(&self) -> bool {
        self.0[0] == TOO_LARGE
    }
}

fn finish_span(start: &mut Group, chunks: &mut [Group]) {
    let mut starts = [0_i32; LANES];
    for chunk in chunks.chunks_exact_mut(CHUNK + 1) {
        let Some((after, weights)) = chunk.split_last_mut() else { continue };
        // For each output, its two sums of 16 bits.
        let mut sums = [[0_i32; 2]; LANES];
        let mut sizes = [[0_i32; 2]; LANES];
        for group in &*weights {
            for (lane, quad) in group.0.as_chunks::<4>().0.iter().enumerate() {
                for (i, &weight) in quad.iter().enumerate() {
                    let weight = i32::from(weight.cast_signed());
                    sums[lane][i / 2] += weight;
                    sizes[lane][i / 2] += weight.abs();
                }
            }
        }
        if sizes.as_flattened().iter().any(|size| size * CENTRE > i32::from(i16::MAX)) {
            after.0.fill(0);
            after.0[0] = TOO_LARGE;
            continue;
        }
        for (lane, sums) in sums.iter().enumerate() {
            starts[lane] += CENTRE * (sums[0] + sums[1]);
            for (i, sum) in sums.iter().enumerate() {
                after.0[4 * lane + 2 * i..][..2].copy_from_slice(&((-CENTRE * sum) as i16).to_le_bytes());
            }
        }
    }
    for (to, sum) in start.0.as_chunks_mut::<4>().0.iter_mut().zip(starts) {
        *to = sum.to_le_bytes();
    }
}
