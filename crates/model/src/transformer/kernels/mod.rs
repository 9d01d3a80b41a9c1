//! Dot products of bytes on every instruction set.
//!
//! Sixteen outputs are summed side by side, as [`Lanes`](crate::accumulator::kernels::Lanes) has them. Inputs are whole numbers
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
pub(super) const QUANT_MAX: f32 = 127.0;

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
        not(any(target_arch = "wasm32", test)),
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
    /// Rows of inputs that are multiplied together: 1, 4 or 8.
    const ROWS: usize;
    /// Rows of floats whose sums fit the registers together: 1, 2, 4 or 8.
    const FLOAT_ROWS: usize;
    /// How inputs and weights are laid out.
    const LAYOUT: Layout;
    /// Whether it is quicker where weights are [narrow](fits_narrow_sums).
    const HAS_NARROW_SUMS: bool = false;

    /// For each row, the sums of the products of its words with the weights of sixteen outputs. `NARROW` says that
    /// the weights are; only a way that [gains](Dots::HAS_NARROW_SUMS) by it is told.
    fn dots<const R: usize, const N: usize, const NARROW: bool>(
        self,
        words: &[[u32; R]; N],
        groups: &[Group; N],
    ) -> [Self::Ints; R];
}

/// Whether the products of the first word and the second, of the third and the fourth and so on may be added in 16 bits
/// before their sums are widened: whatever the inputs are, none runs over. Most weights are so small.
pub(super) fn fits_narrow_sums(groups: &[Group]) -> bool {
    let most = i32::from(i16::MAX) / QUANT_MAX as i32;
    // Neighbouring bytes are multiplied and added by one instruction.
    let sum_fits = |weights: [u8; 4]| {
        let weights = weights.map(|byte| i32::from(byte.cast_signed()));
        let positive: i32 = weights.iter().filter(|weight| **weight > 0).sum();
        let negative: i32 = weights.iter().filter(|weight| **weight < 0).sum();
        positive <= most && -negative <= most
    };
    let (pairs, rest) = groups.as_chunks::<2>();
    let fits = |first: &Group, second: &Group| {
        let neighbours = first.0.as_chunks::<2>().0.iter().zip(second.0.as_chunks::<2>().0);
        neighbours.into_iter().all(|(a, b)| sum_fits([a[0], a[1], b[0], b[1]]))
    };
    rest.is_empty() && pairs.iter().all(|[first, second]| fits(first, second))
}
