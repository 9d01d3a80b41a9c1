//! Positions and moves as numbers: the one contract between trainers, models and players.
//!
//! Every tensor layout and every move index in the product is defined here and nowhere else, one file per
//! [`Encoding`] and one per [`MoveVocabulary`]. There is no I/O, no clock, no thread and no `unsafe`.
//!
//! ```
//! use shakmaty::Chess;
//! use tabia_encoding::{Batch, Situation, encoding};
//!
//! let challenge = encoding("challenge-768").expect("a known id");
//! let start = Chess::default();
//! let mut batch = Batch::new(challenge);
//! batch.push(&Situation::of(&start));
//! assert_eq!(batch.values(0).iter().sum::<f32>(), 32.0); // one feature a piece
//! ```
//!
//! | to find | look in |
//! |---|---|
//! | what an encoder may look at | [`Situation`], owned: [`KeptSituation`] |
//! | inputs as dense rows | [`Encoding`], [`Batch`] |
//! | inputs as a few features that a move changes | [`SparseEncoding`] |
//! | moves as indices | [`MoveVocabulary`], [`PolicySlot`] |
//! | a move from its text | [`parse_uci`] |
//! | ratings and clocks as buckets | [`rating_bucket`], [`time_bucket`] |
//! | thinking time as bins | [`time_bin`], [`time_bin_range`] |
//! | targets to learn from evaluations | [`Score`], [`soft_labels`](soft_labels()), [`pawn_labels`](pawn_labels()) |
//! | training rows of HumChess | [`HumChessRow`] |
//! | an encoding by its id | [`encoding`](encoding()), [`encodings`] |
#![forbid(unsafe_code)]

mod buckets;
mod encoding;
mod humchess_row;
mod inputs;
mod kept_situation;
mod moves;
mod orientation;
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
pub use humchess_row::{BadHumChessRow, HumChessExample, HumChessRow};
pub use kept_situation::KeptSituation;
pub use moves::{
    CANONICAL_1968_ROWS, CastlingSpelling, MoveTextError, MoveVocabulary, PolicyIndex, PolicySlot,
    VocabularyId, parse_uci,
};
pub use orientation::Orientation;
pub use pawn_labels::pawn_labels;
pub use rating_pool::{RatingPool, UnknownRatingPool};
pub use registry::{encoding, encodings, vocabularies, vocabulary};
pub use score::{ForMover, ForWhite, Score};
pub use situation::{Elo, Pace, PlayerInfo, Situation};
pub use soft_labels::{Analysis, TEMPERATURE_CP, soft_labels};
pub use sparse::{Feature, FeatureList, SparseEncoding, Viewers};
pub use think_time::{TIME_BINS, time_bin, time_bin_range};
pub use value::{Perspective, Unit, ValueConvention, piece_value};
