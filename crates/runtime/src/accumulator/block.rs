/// Numbers in a block, on every instruction set.
pub(crate) const LANES: usize = 16;

/// Sixteen numbers, aligned to a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Block<T>(pub(crate) [T; LANES]);

/// The number of blocks for `len` numbers.
pub(crate) fn blocks(len: usize) -> usize {
    len.div_ceil(LANES)
}

/// Zeros for `len` numbers, padded to whole blocks.
pub(crate) fn zeros<T: Copy + Default>(len: usize) -> Vec<Block<T>> {
    vec![Block([T::default(); LANES]); blocks(len)]
}
