//! A packed position: shakmaty's packed setup, without move counters.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use shakmaty::packed::PackedSetup;
use shakmaty::{CastlingMode, Chess, EnPassantMode, FromSetup, Position, Setup};

use super::RecordError;
use super::bytes::Reader;

/// The occupied squares.
const OCCUPANCY: usize = 8;

/// Appends a position: 8 bytes of occupied squares, then half a byte per piece. The en passant square is kept only if a
/// capture is legal.
pub(super) fn write(out: &mut Vec<u8>, position: &Chess) -> Result<(), RecordError> {
    let setup = position.to_setup(EnPassantMode::Legal);
    let packed = PackedSetup::pack_standard_normalized(&setup).map_err(|_| RecordError::Position)?;
    // shakmaty truncates trailing zeros; here the length follows from the number of pieces.
    let start = out.len();
    out.extend_from_slice(packed.as_bytes());
    out.resize(start + OCCUPANCY + setup.board.occupied().count().div_ceil(2), 0);
    Ok(())
}

/// Takes the bytes of one position.
pub(super) fn take<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], RecordError> {
    let mut ahead = *reader;
    let occupied = u64::from_le_bytes(ahead.array::<OCCUPANCY>()?);
    reader.take(OCCUPANCY + (occupied.count_ones() as usize).div_ceil(2))
}

/// The setup of a position's bytes; its counters are `0 1`.
fn setup(bytes: &[u8]) -> Result<Setup, RecordError> {
    let packed = PackedSetup::try_from_bytes(bytes).map_err(|_| RecordError::Position)?;
    packed.unpack_standard().map_err(|_| RecordError::Position)
}

/// The position of its bytes, with these counters.
pub(super) fn read(bytes: &[u8], counters: Counters) -> Result<Chess, RecordError> {
    let mut setup = setup(bytes)?;
    setup.halfmoves = counters.halfmoves;
    setup.fullmoves = counters.fullmoves.try_into().map_err(|_| RecordError::Position)?;
    Chess::from_setup(setup, CastlingMode::Standard).map_err(|_| RecordError::Position)
}

/// The move counters of a FEN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counters {
    pub(super) halfmoves: u32,
    pub(super) fullmoves: u32,
}

impl Counters {
    /// `0 1`.
    pub(super) const FRESH: Counters = Counters { halfmoves: 0, fullmoves: 1 };

    pub(super) fn of(position: &Chess) -> Self {
        Counters { halfmoves: position.halfmoves(), fullmoves: position.fullmoves().get() }
    }
}
