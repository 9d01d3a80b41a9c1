//! Positions and moves as numbers: the contract between training, models and players.
//!
//! Every tensor layout and every policy index is defined here and nowhere else, one file per [`Encoding`] and one per
//! [`MoveVocabulary`]. No I/O, clocks, threads or `unsafe`.
//!
//! ```
//! use shakmaty::Chess;
//! use tabia_encoding::{Batch, Situation, encoding};
//!
//! let challenge = encoding("challenge-768").expect("a known id");
//! let start = Chess::default();
//! let mut batch = Batch::new(challenge);
//! batch.push(&Situation::of(&start));
//! assert_eq!(batch.values(0).iter().sum::<f32>(), 32.0); // one feature per piece
//! ```
//!
//! | topic | items |
//! |---|---|
//! | encoder input | [`Situation`], owned: [`OwnedSituation`] |
//! | dense inputs | [`Encoding`], [`Batch`] |
//! | sparse features for accumulators | [`SparseEncoding`] |
//! | policy indices | [`MoveVocabulary`], [`PolicySlot`] |
//! | vocabularies counted from data | [`MoveSubset`] |
//! | value heads | [`ValueConvention`] |
//! | UCI moves | [`parse_uci`] |
//! | rating pools | [`RatingPool`] |
//! | rating and clock buckets | [`rating_bucket`], [`time_bucket`] |
//! | think-time bins | [`time_bin`], [`time_bin_range`] |
//! | training targets | [`Score`], [`soft_labels`](soft_labels()), [`pawn_labels`](pawn_labels()) |
//! | HumChess training rows | [`HumChessRow`] |
//! | lookup by id | [`encoding`](encoding()), [`encodings`] |
#![forbid(unsafe_code)]

mod buckets;
mod encoding;
mod humchess_row;
mod inputs;
mod moves;
mod npy_header;
mod orientation;
mod owned_situation;
mod pawn_labels;
mod placement;
mod rating_pool;
mod reach;
mod registry;
mod score;
mod situation;
mod soft_labels;
mod sparse;
#[cfg(test)]
mod test_positions;
mod think_time;
mod value;

pub use buckets::{RATING_BUCKETS, TIME_BUCKETS, rating_bucket, time_bucket};
pub use encoding::{Batch, Column, ElementKind, Encoding, EncodingId, InputSpec, Row};
pub use humchess_row::{HumChessExample, HumChessRow, HumChessRowError};
pub use moves::{
    CANONICAL_1968_ROWS, CastlingSpelling, MoveSubset, MoveTextError, MoveVocabulary, PolicyIndex,
    PolicySlot, VocabularyFileError, VocabularyId, parse_uci,
};
pub use npy_header::NpyHeader;
pub use orientation::Orientation;
pub use owned_situation::OwnedSituation;
pub use pawn_labels::pawn_labels;
pub use rating_pool::{RatingPool, UnknownRatingPool};
pub use registry::{encoding, encodings, vocabularies, vocabulary};
pub use score::{ForMover, ForWhite, Score};
pub use situation::{Elo, Pace, PlayerInfo, Situation};
pub use soft_labels::{Analysis, TEMPERATURE_CP, soft_labels};
pub use sparse::{Feature, FeatureList, Perspectives, SparseEncoding};
pub use think_time::{TIME_BINS, time_bin, time_bin_range};
pub use value::{OutcomeOrder, Perspective, Unit, ValueConvention, piece_value};
