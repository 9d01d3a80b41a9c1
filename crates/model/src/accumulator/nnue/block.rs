/// Numbers of 16 bits on a cache line of their own.
pub(super) const LANES: usize = 32;

/// A cache line of sums or weights.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Block(pub(super) [i16; LANES]);

pub(super) const ZERO: Block = Block([0; LANES]);

/// How many blocks hold `len` numbers.
pub(super) fn blocks(len: usize) -> usize {
    len.div_ceil(LANES)
}
