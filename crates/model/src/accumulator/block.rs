/// Numbers a kernel handles at a time, on every instruction set.
pub(crate) const LANES: usize = 16;

/// Sixteen numbers on a cache line of their own.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Block<T>(pub(crate) [T; LANES]);

/// How many blocks hold `len` numbers.
pub(crate) fn blocks(len: usize) -> usize {
    len.div_ceil(LANES)
}

/// Zeros for `len` numbers, filled up to whole blocks.
pub(crate) fn zeros<T: Copy + Default>(len: usize) -> Vec<Block<T>> {
    vec![Block([T::default(); LANES]); blocks(len)]
}
