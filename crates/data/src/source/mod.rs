//! Where games and evaluations come from: files of any size and kind, streamed, faults counted and named.
//!
//! [`SourceFile::find`] finds files, [`Chunks`] cuts each into runs of whole games or lines, and [`Chunk::read`] turns
//! a run into records. Only the last step costs processor time, and it is a pure function of the chunk: callers hand
//! chunks to as many threads as they like. Sets of Learning a Chess Policy are [`NpySet`].

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
pub use npy::{NpyError, NpySet, NpyWriter};
pub use open::{OpenError, SourceFile, SourceKind};

use std::sync::Arc;

use crate::{EvaluationRow, GameRecord};

/// What a chunk gave: records in the order of the text, and what went wrong.
#[derive(Debug, Default)]
pub struct ParsedChunk {
    /// The games and puzzles.
    pub games: Vec<GameRecord>,
    /// The evaluations.
    pub evaluations: Vec<EvaluationRow>,
    /// What did not become a record.
    pub faults: Faults,
}

impl Chunk {
    /// Parses the games or lines. A fault costs its game, line or row only.
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

    /// The source it is from, as the user calls it.
    pub fn source(&self) -> &Arc<str> {
        &self.source
    }

    /// What it holds.
    pub fn kind(&self) -> SourceKind {
        self.kind
    }
}
