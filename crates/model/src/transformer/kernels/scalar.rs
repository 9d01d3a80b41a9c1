//! Plain Rust: what the other implementations are compared with, and what runs where there is no other.

use super::{Dots, Group, Layout};
use crate::dense::block::LANES;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transformer) struct ScalarDots;

impl Dots for ScalarDots {
    type Ints = [i32; LANES];
    type Weights = [[i8; 4]; LANES];
    const ROWS: usize = 1;
    const LAYOUT: Layout = Layout::Quads;

    #[inline(always)]
    fn weights(self, group: &Group) -> [[i8; 4]; LANES] {
        let (quads, _) = group.0.as_chunks::<4>();
        std::array::from_fn(|lane| quads[lane].map(|byte| byte as i8))
    }

    #[inline(always)]
    fn dot(self, mut sums: [i32; LANES], inputs: u32, weights: [[i8; 4]; LANES]) -> [i32; LANES] {
        let inputs = inputs.to_le_bytes();
        for (sum, weights) in sums.iter_mut().zip(weights) {
            for (weight, input) in weights.into_iter().zip(inputs) {
                *sum += i32::from(weight) * i32::from(input);
            }
        }
        sums
    }
}
