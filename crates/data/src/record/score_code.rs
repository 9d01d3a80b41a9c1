//! A score as a varint: a difference to the previous one if both are in centipawns.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::num::NonZeroI32;

use tabia_encoding::Score;

use super::RecordError;
use super::bytes::{Reader, unzigzag, zigzag};

/// The difference to `near` in centipawns, or a mate with the lowest bit set.
///
/// `i32::MIN`, which cannot be negated, becomes `-i32::MAX`.
pub(super) fn encode(score: Score, near: i32) -> u64 {
    match score {
        Score::Centipawns(cp) => zigzag(i64::from(cp.max(-i32::MAX)) - i64::from(near)) << 1,
        Score::Mate(moves) => zigzag(i64::from(moves.get().max(-i32::MAX))) << 1 | 1,
    }
}

/// The inverse of [`encode`].
pub(super) fn decode(code: u64, near: i32) -> Result<Score, RecordError> {
    let wrong = RecordError::Number { what: "a score" };
    let value = unzigzag(code >> 1);
    if code & 1 == 0 {
        let cp = value.checked_add(i64::from(near)).and_then(with_a_negative);
        cp.map(Score::Centipawns).ok_or(wrong)
    } else {
        let moves = with_a_negative(value).and_then(NonZeroI32::new);
        moves.map(Score::Mate).ok_or(wrong)
    }
}

/// A number that can be negated.
fn with_a_negative(value: i64) -> Option<i32> {
    i32::try_from(value).ok().filter(|&value| value != i32::MIN)
}

/// The value that the next score is relative to.
pub(super) fn nearby(score: Score, before: i32) -> i32 {
    match score {
        Score::Centipawns(cp) => cp,
        Score::Mate(_) => before,
    }
}

/// Reads a score and updates `near`.
pub(super) fn read(reader: &mut Reader<'_>, near: &mut i32) -> Result<Score, RecordError> {
    let score = decode(reader.varint()?, *near)?;
    *near = nearby(score, *near);
    Ok(score)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_round_trip() {
        for near in [0, 35, -1200, i32::MAX, -i32::MAX] {
            for n in [1, -1, 30, -9999, i32::MAX, -i32::MAX] {
                for score in [Score::Centipawns(n), Score::Mate(NonZeroI32::new(n).unwrap())] {
                    assert_eq!(decode(encode(score, near), near), Ok(score));
                }
            }
        }
    }

    #[test]
    fn mate_in_0_is_an_error() {
        assert!(decode(1, 0).is_err());
        assert!(decode(u64::MAX, 0).is_err() && decode(u64::MAX - 1, 0).is_err());
    }
}
