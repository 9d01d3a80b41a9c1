//! Dot products of bytes on every instruction set.
//!
//! Sixteen outputs are summed side by side, as [`Lanes`](crate::dense::kernels::Lanes) has them. Inputs are whole numbers
//! from 0 to 127 and weights from -128 to 127, so that two products fit 16 bits whatever way an instruction adds them, and
//! all implementations find the same sums.

#[cfg(target_arch = "x86_64")]
pub(super) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(super) mod avx512;
#[cfg(target_arch = "aarch64")]
pub(super) mod neon;
#[cfg(all(target_arch = "wasm32", target_feature = "relaxed-simd"))]
pub(super) mod relaxed;
pub(super) mod scalar;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
pub(super) mod wasm;

/// The greatest input of a dot product.
pub(super) const MOST: f32 = 127.0;

/// What sixteen outputs have for one word of inputs: for each output the weights of those inputs, one after another.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Group(pub(super) [u8; 64]);

/// How many inputs share a word, and how wide a weight is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// Four inputs, weights of 8 bits.
    Quads,
    /// Two inputs, weights of 16 bits.
    #[cfg_attr(
        not(target_arch = "wasm32"),
        expect(dead_code, reason = "other processors multiply bytes as quickly")
    )]
    Pairs,
}

impl Layout {
    /// Inputs of one word.
    pub(super) fn inputs(self) -> usize {
        match self {
            Layout::Quads => 4,
            Layout::Pairs => 2,
        }
    }
}

/// One way to multiply inputs and weights and add up the products.
///
/// A value of the implementing type is the proof that the processor has the instructions.
pub(super) trait Dots: Copy {
    /// Sixteen sums.
    type Ints: Copy;
    /// The weights of a group, loaded.
    type Weights: Copy;
    /// Rows of inputs whose sums fit the registers together: 1, 2, 4 or 8.
    const ROWS: usize;
    /// How inputs and weights are laid out.
    const LAYOUT: Layout;

    fn weights(self, group: &Group) -> Self::Weights;

    /// `sums` with the products of a word of inputs added.
    fn dot(self, sums: Self::Ints, inputs: u32, weights: Self::Weights) -> Self::Ints;
}
