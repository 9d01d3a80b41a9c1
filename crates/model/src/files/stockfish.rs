//! Stockfish's `.nnue` files, which are recognised and refused.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use crate::{LoadError, LoadErrorKind};

/// The first 24 bits of every version number.
const FAMILY: u32 = 0x7af3_2f00;

/// Versions before this one have the features HalfKP.
const HALF_KA: u32 = 0x7af3_2f20;

/// Characters of a description that are shown.
const SHOWN: usize = 100;

/// Why a Stockfish network is not opened; `None` for any other file.
pub(crate) fn refusal(bytes: &[u8]) -> Option<LoadError> {
    let number = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
    let version = number(0).filter(|version| version & !0xff == FAMILY)?;
    let features = if version < HALF_KA { "HalfKP" } else { "HalfKA and its successors" };
    let length = number(8).unwrap_or(0) as usize;
    let description: String = bytes
        .get(12..)
        .unwrap_or_default()
        .iter()
        .take(length.min(SHOWN))
        .map(|&byte| char::from(byte))
        .filter(|character| character.is_ascii_graphic() || *character == ' ')
        .collect();
    let message = format!(
        "a Stockfish NNUE network (version {version:#x}, {description:?}): its features depend on the king's square \
         ({features}), which no encoding here has. Play it with its own engine: \
         `uci:stockfish,option.EvalFile=FILE`"
    );
    Some(LoadError::unformatted(LoadErrorKind::Unsupported, message))
}
