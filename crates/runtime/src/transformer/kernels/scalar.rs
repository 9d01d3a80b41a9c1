//! Plain Rust: the reference for the other levels, and the fallback.

use super::{Dots, Group, Layout};
use crate::accumulator::block::LANES;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transformer) struct ScalarDots;

impl Dots for ScalarDots {
    type Ints = [i32; LANES];
    const ROWS: usize = 1;
    const FLOAT_ROWS: usize = 1;
    const LAYOUT: Layout = Layout::Quads;

    #[inline(always)]
    fn dots<const R: usize, const N: usize, const NARROW: bool>(
        self,
        words: &[[u32; N]; R],
        groups: &[Group; N],
    ) -> [[i32; LANES]; R] {
        let mut sums = [[0; LANES]; R];
        for (sums, words) in sums.iter_mut().zip(words) {
            for (inputs, group) in words.iter().zip(groups) {
                let inputs = inputs.to_le_bytes();
                for (sum, weights) in sums.iter_mut().zip(group.0.as_chunks::<4>().0) {
                    for (weight, input) in weights.iter().zip(inputs) {
                        *sum += i32::from(weight.cast_signed()) * i32::from(input);
                    }
                }
            }
        }
        sums
    }
}
