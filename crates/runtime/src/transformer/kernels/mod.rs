//! Dot products of bytes on every instruction set.
//!
//! Sixteen outputs are summed side by side in [`Lanes`](crate::accumulator::kernels::Lanes). Inputs are 0 to 127 and weights -128
//! to 127, so that two products fit 16 bits however an instruction adds them, and all implementations give the same sums.

#[cfg(target_arch = "x86_64")]
pub(super) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(super) mod avx512;
#[cfg(target_arch = "x86_64")]
pub(super) mod avx_vnni;
#[cfg(target_arch = "aarch64")]
pub(super) mod neon;
#[cfg(all(target_arch = "wasm32", target_feature = "relaxed-simd"))]
pub(super) mod relaxed;
pub(super) mod scalar;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
pub(super) mod wasm;

/// The largest quantised input.
pub(super) const QUANT_MAX: f32 = 127.0;

/// The weights of sixteen outputs for one word of inputs.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Group(pub(super) [u8; 64]);

/// The inputs of a word, and the width of a weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// Four inputs, weights of 8 bits.
    Quads,
    /// Two inputs, weights of 16 bits.
    #[cfg_attr(
        not(any(target_arch = "wasm32", test)),
        expect(dead_code, reason = "other processors multiply bytes as fast")
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

/// An implementation of the dot products.
///
/// A value of the implementing type proves that the processor has the instructions.
pub(super) trait Dots: Copy {
    /// Sixteen sums.
    type Ints: Copy;
    /// Rows of inputs that are multiplied together: 1 or 4.
    const ROWS: usize;
    /// Rows of floats that are multiplied together: 1, 2, 4 or 8.
    const FLOAT_ROWS: usize;
    /// Whether the sums of two panels of outputs for these rows fit the registers: inputs are then loaded for both.
    const TWO_PANELS: bool = false;
    /// The layout of inputs and weights.
    const LAYOUT: Layout;
    /// Whether it has a faster path for weights that [fit narrow sums](fits_narrow_sums).
    const HAS_NARROW_SUMS: bool = false;

    /// For each row, the dot products of its words with the weights of sixteen outputs. `NARROW`, only set where the
    /// implementation [has it](Dots::HAS_NARROW_SUMS), asserts that the weights fit narrow sums.
    fn dots<const R: usize, const N: usize, const NARROW: bool>(
        self,
        words: &[[u32; N]; R],
        groups: &[Group; N],
    ) -> [Self::Ints; R];

    /// The same with the weights of two panels.
    #[inline(always)]
    fn dots_of_two<const R: usize, const N: usize>(
        self,
        words: &[[u32; N]; R],
        groups: [&[Group; N]; 2],
    ) -> [[Self::Ints; R]; 2] {
        groups.map(|groups| self.dots::<R, N, false>(words, groups))
    }
}

/// Whether the products of each pair of words can be added in 16 bits without overflow for any inputs. Most weights are small
/// enough.
pub(super) fn fits_narrow_sums(groups: &[Group]) -> bool {
    let most = i32::from(i16::MAX) / QUANT_MAX as i32;
    // One instruction multiplies and adds neighbouring bytes.
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
