//! A model file in memory or on disk, read in pieces so that its weights are in memory once.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::io::{self, Read, Seek};

use tabia_onnx::tensors::ElementType;

/// Bytes read at a time: whole elements of every type.
const PIECE: usize = 64 << 10;

/// The bytes of a file.
pub(crate) trait Input: Read + Seek {}

impl<T: Read + Seek> Input for T {}

/// The next `count` elements as 32-bit floats.
pub(super) fn floats(input: &mut dyn Read, element: ElementType, count: usize) -> io::Result<Vec<f32>> {
    let mut floats = Vec::with_capacity(count);
    pieces(input, count.saturating_mul(element.size()), |piece| element.decode_into(piece, &mut floats))?;
    Ok(floats)
}

/// The next `count` signed bytes.
pub(super) fn signed_bytes(input: &mut dyn Read, count: usize) -> io::Result<Vec<i8>> {
    let mut signed = Vec::with_capacity(count);
    pieces(input, count, |piece| signed.extend(piece.iter().map(|byte| byte.cast_signed())))?;
    Ok(signed)
}

/// Calls `with` for every piece of the next `count` bytes.
pub(super) fn pieces(input: &mut dyn Read, count: usize, mut with: impl FnMut(&[u8])) -> io::Result<()> {
    let mut buffer = vec![0; count.min(PIECE)];
    let mut left = count;
    while left > 0 {
        let piece = buffer.get_mut(..left.min(PIECE)).unwrap_or_default();
        input.read_exact(piece)?;
        with(piece);
        left -= piece.len();
    }
    Ok(())
}
