#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::PolicyIndex;
use super::canonical_1968::CANONICAL_1968_ROWS;
use crate::NpyHeader;

const MOVES: usize = CANONICAL_1968_ROWS.len();
const BYTES: usize = MOVES.div_ceil(8);

/// Some of the moves of `canonical-1968`: the vocabulary of a network whose head has only the moves that its data has.
///
/// The head's logits are in the order of `canonical-1968` unless its `vocab.npy` says otherwise. As text it is a bit set in
/// hexadecimal, move 0 the lowest bit of the first byte.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct MoveSubset([u8; BYTES]);

/// Why a `vocab.npy` or its text form cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VocabularyFileError {
    /// Not an array of bytes of the shape `(M, 3)`.
    #[error("vocabulary: {0}")]
    Layout(String),
    /// A row is not a move of chess.
    #[error("vocabulary: row {row} is {found:?} (expected from, to and promotion of a move)")]
    NoMove {
        /// Its number.
        row: usize,
        /// What it holds.
        found: [u8; 3],
    },
    /// Two rows are the same move.
    #[error("vocabulary: row {row} repeats a move")]
    Repeated {
        /// The number of the second.
        row: usize,
    },
    /// No moves.
    #[error("vocabulary: no moves")]
    Empty,
}

impl Default for MoveSubset {
    fn default() -> Self {
        MoveSubset([0; BYTES])
    }
}

impl MoveSubset {
    /// Adds a move; `false` if it was there, or is not one of `canonical-1968`.
    pub fn insert(&mut self, index: PolicyIndex) -> bool {
        let at = usize::from(index.0);
        let known = at < MOVES && !self.contains(index);
        if let (true, Some(byte)) = (known, self.0.get_mut(at / 8)) {
            *byte |= 1 << (at % 8);
        }
        known
    }

    /// Whether a move is in it.
    pub fn contains(&self, index: PolicyIndex) -> bool {
        let at = usize::from(index.0);
        self.0.get(at / 8).is_some_and(|byte| byte >> (at % 8) & 1 == 1)
    }

    /// How many moves it has.
    pub fn len(&self) -> usize {
        self.0.iter().map(|byte| byte.count_ones() as usize).sum()
    }

    /// Whether it has no moves.
    pub fn is_empty(&self) -> bool {
        self.0 == [0; BYTES]
    }

    /// Its moves, ascending.
    pub fn indices(&self) -> impl Iterator<Item = PolicyIndex> + '_ {
        (0..MOVES as u16).map(PolicyIndex).filter(|index| self.contains(*index))
    }

    /// These moves.
    ///
    /// # Errors
    /// If there are none, or one is repeated or unknown.
    pub fn of(indices: &[PolicyIndex]) -> Result<MoveSubset, VocabularyFileError> {
        let mut subset = MoveSubset::default();
        for (row, index) in indices.iter().enumerate() {
            if !subset.insert(*index) {
                return Err(VocabularyFileError::Repeated { row });
            }
        }
        if subset.is_empty() { Err(VocabularyFileError::Empty) } else { Ok(subset) }
    }

    /// The moves of a `vocab.npy` of Learning a Chess Policy, in its order.
    ///
    /// # Errors
    /// If it is not such a file, or a row is not a move or repeated.
    pub fn read_npy(bytes: &[u8]) -> Result<Vec<PolicyIndex>, VocabularyFileError> {
        let mut rest = bytes;
        let header =
            NpyHeader::read(&mut rest).map_err(|error| VocabularyFileError::Layout(error.to_string()))?;
        let rows = rest.as_chunks::<3>().0;
        let shape_fits = header.shape == [rows.len() as u64, 3] && rest.len() == rows.len() * 3;
        if header.descr != "|u1" || header.fortran_order || !shape_fits {
            let message =
                format!("{} of shape {:?} (expected |u1 of shape (M, 3))", header.descr, header.shape);
            return Err(VocabularyFileError::Layout(message));
        }
        let mut indices = Vec::with_capacity(rows.len().min(MOVES));
        for (row, &found) in rows.iter().enumerate() {
            let index = CANONICAL_1968_ROWS.binary_search(&found);
            let index = index.map_err(|_| VocabularyFileError::NoMove { row, found })?;
            indices.push(PolicyIndex(index as u16));
        }
        MoveSubset::of(&indices)?;
        Ok(indices)
    }

    /// The moves as a `vocab.npy`.
    pub fn to_npy(&self) -> Vec<u8> {
        let header =
            NpyHeader { descr: "|u1".to_owned(), fortran_order: false, shape: vec![self.len() as u64, 3] };
        let rows = self.indices().filter_map(|index| CANONICAL_1968_ROWS.get(usize::from(index.0)));
        header.to_bytes().into_iter().chain(rows.flatten().copied()).collect()
    }
}

impl fmt::Debug for MoveSubset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MoveSubset({} moves)", self.len())
    }
}

impl fmt::Display for MoveSubset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for MoveSubset {
    type Err = VocabularyFileError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digit = |digit: u8| char::from(digit).to_digit(16);
        let byte = |pair: &[u8; 2]| {
            let [high, low] = *pair;
            Some((digit(high)? * 16 + digit(low)?) as u8)
        };
        let (pairs, odd) = text.as_bytes().as_chunks::<2>();
        let bytes = odd.is_empty().then(|| pairs.iter().map(byte).collect::<Option<Vec<u8>>>()).flatten();
        let bits = bytes.and_then(|bytes| <[u8; BYTES]>::try_from(bytes).ok());
        match bits.map(MoveSubset) {
            Some(subset) if subset.is_empty() => Err(VocabularyFileError::Empty),
            Some(subset) => Ok(subset),
            None => {
                let message = format!("expected {} hexadecimal digits", 2 * BYTES);
                Err(VocabularyFileError::Layout(message))
            }
        }
    }
}

impl Serialize for MoveSubset {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for MoveSubset {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> MoveSubset {
        MoveSubset::of(&[3, 0, 1967, 700].map(PolicyIndex)).unwrap()
    }

    #[test]
    fn vocabulary_files_round_trip() {
        let bytes = some().to_npy();
        let indices = MoveSubset::read_npy(&bytes).unwrap();
        assert_eq!(indices, [0, 3, 700, 1967].map(PolicyIndex));
        assert_eq!(MoveSubset::of(&indices), Ok(some()));
        assert_eq!((some().len(), some().contains(PolicyIndex(4))), (4, false));
    }

    #[test]
    fn vocabularies_round_trip_as_text() {
        assert_eq!(some().to_string().parse(), Ok(some()));
        assert_eq!(serde_json::to_string(&some()).unwrap(), format!("\"{}\"", some()));
        for wrong in ["", "00", "zz", &"0".repeat(492), &"é".repeat(246)] {
            assert!(wrong.parse::<MoveSubset>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn other_orders_are_kept() {
        let mut bytes = some().to_npy();
        let start = bytes.len() - 12;
        bytes[start..].rotate_left(3);
        assert_eq!(MoveSubset::read_npy(&bytes).unwrap(), [3, 700, 1967, 0].map(PolicyIndex));
    }

    #[test]
    fn damaged_vocabularies_are_rejected() {
        let whole = some().to_npy();
        for cut in 0..whole.len() {
            assert!(MoveSubset::read_npy(&whole[..cut]).is_err(), "cut at {cut}");
        }
        let row = whole.len() - 12;
        let mut no_move = whole.clone();
        no_move[row..row + 3].copy_from_slice(&[0, 0, 0]);
        assert_eq!(
            MoveSubset::read_npy(&no_move),
            Err(VocabularyFileError::NoMove { row: 0, found: [0, 0, 0] })
        );
        let mut twice = whole;
        twice.copy_within(row..row + 3, row + 3);
        assert_eq!(MoveSubset::read_npy(&twice), Err(VocabularyFileError::Repeated { row: 1 }));
    }
}
