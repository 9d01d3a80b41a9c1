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
//! | what an encoder may look at | [`Situation`] |
//! | inputs as dense rows | [`Encoding`], [`Batch`] |
//! | inputs as a few features that a move changes | [`SparseEncoding`] |
//! | moves as indices | [`MoveVocabulary`], [`PolicySlot`] |
//! | an encoding by its id | [`encoding`], [`encodings`] |
#![forbid(unsafe_code)]

mod encoding;
mod moves;
mod orientation;
mod registry;
mod situation;
mod sparse;

pub use encoding::{Batch, Column, ElementKind, Encoding, EncodingId, InputSpec, Row};
pub use moves::{MoveVocabulary, PolicyIndex, PolicySlot, VocabularyId};
pub use orientation::Orientation;
pub use registry::{encoding, encodings, vocabularies, vocabulary};
pub use situation::{Elo, Seat, Situation};
pub use sparse::{Feature, FeatureList, SparseEncoding, Viewers};
