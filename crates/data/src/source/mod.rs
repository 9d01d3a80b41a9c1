//! Input files: streamed, of any size, with faults counted.
//!
//! [`SourceFile::find`] finds files, [`Chunks`] cuts each into runs of whole games or lines, and [`Chunk::read`] parses a
//! run. Only the last step is expensive, and it is a pure function of the chunk, so that callers can use many threads.
//! [`NpySet`] reads the sets of Learning a Chess Policy.

mod chunk;
mod decompress;
mod evaluations;
mod faults;
mod games;
mod lines;
mod npy;
mod open;
mod puzzles;

pub use chunk::{Chunk, Chunks};
pub use decompress::BytesRead;
pub use evaluations::{RowFault, evaluation_row};
pub use faults::{Example, FaultCount, FaultKind, Faults, Part, Whereabouts};
pub use games::{Bots, BrokenGames, GameRules, PoolRule, TaggedGame};
pub use npy::{NpyError, NpyFolder, NpySet, NpyWriter};
pub use open::{OpenError, SourceFile, SourceKind};

use std::sync::Arc;

use crate::{EvaluationRow, GameRecord};

/// The records of a chunk in the order of the text, and its faults.
#[derive(Debug, Default)]
pub struct ParsedChunk {
    /// The games and puzzles.
    pub games: Vec<GameRecord>,
    /// The evaluations.
    pub evaluations: Vec<EvaluationRow>,
    /// Input that did not become a record.
    pub faults: Faults,
}

impl Chunk {
    /// Parses the games or lines. A fault affects only its game, line or row.
    pub fn read(&self, rules: &GameRules) -> ParsedChunk {
        let mut parsed = ParsedChunk { faults: self.faults.clone(), ..ParsedChunk::default() };
        match self.kind {
            SourceKind::Pgn => games::read(self, rules, &mut parsed),
            SourceKind::Epd => puzzles::read_epd(self, rules, &mut parsed),
            SourceKind::PuzzleCsv => puzzles::read_csv(self, rules, &mut parsed),
            SourceKind::EvaluationsJsonl => evaluations::read(self, &mut parsed),
            // `Chunks::open` refuses these.
            SourceKind::Parquet | SourceKind::Npy => {}
        }
        parsed
    }

    /// Parses games of PGN one by one, each with its tags; other kinds of text have none. Faults of the chunk and of its
    /// games are added to `faults`.
    pub fn read_tagged(&self, rules: &GameRules, faults: &mut Faults, each: impl FnMut(TaggedGame)) {
        faults.merge(self.faults.clone());
        if self.kind == SourceKind::Pgn {
            games::read_tagged(self, rules, faults, each);
        }
    }

    /// The name of its source.
    pub fn source(&self) -> &Arc<str> {
        &self.source
    }

    /// What it holds.
    pub fn kind(&self) -> SourceKind {
        self.kind
    }
}
