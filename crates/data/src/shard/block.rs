//! A block of records in memory, split but not decoded.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::layout::STREAMS;
use crate::record::{evaluation_lengths, game_lengths};
use crate::{EvaluationBytes, GameBytes, PlayerHash, RecordError, RecordKey, RecordKind};

/// The records of one block.
#[derive(Clone, Debug)]
pub struct Block {
    kind: RecordKind,
    streams: [Vec<u8>; STREAMS],
    /// Offsets of the records in each stream, and the end of the last.
    starts: Vec<[u32; STREAMS]>,
    /// Number of positions before each record, and in total.
    positions_before: Vec<u32>,
}

/// One record of a block.
#[derive(Clone, Copy, Debug)]
pub enum Record<'a> {
    /// A game.
    Game(GameBytes<'a>),
    /// An analysed position.
    Evaluation(EvaluationBytes<'a>),
}

impl Record<'_> {
    /// Its key.
    pub fn key(&self) -> RecordKey {
        match self {
            Record::Game(game) => game.key(),
            Record::Evaluation(evaluation) => evaluation.key(),
        }
    }

    /// The players of a game.
    pub(crate) fn players(&self) -> shakmaty::ByColor<Option<PlayerHash>> {
        match self {
            Record::Game(game) => game.head.players,
            Record::Evaluation(_) => shakmaty::ByColor::default(),
        }
    }
}

/// The lengths of a record in each stream, and its number of positions.
pub(super) fn lengths(kind: RecordKind, first: &[u8]) -> Result<([usize; STREAMS], u32), RecordError> {
    match kind {
        RecordKind::Games => game_lengths(first),
        RecordKind::Evaluations => evaluation_lengths(first).map(|[a, b]| ([a, b, 0, 0], 1)),
    }
}

impl Block {
    /// Splits decompressed streams into records. The error names the record.
    pub(super) fn new(
        kind: RecordKind,
        streams: [Vec<u8>; STREAMS],
        records: u32,
    ) -> Result<Self, (usize, RecordError)> {
        let mut at = [0usize; STREAMS];
        let mut starts = Vec::new();
        let mut positions_before = vec![0];
        let mut positions = 0u32;
        for record in 0..records as usize {
            let head = streams.first().and_then(|heads| heads.get(at.first().copied().unwrap_or(0)..));
            let (lengths, here) = lengths(kind, head.unwrap_or(&[])).map_err(|error| (record, error))?;
            starts.push(at.map(|at| at as u32));
            for ((at, length), stream) in at.iter_mut().zip(lengths).zip(&streams) {
                *at += length;
                if *at > stream.len() {
                    return Err((record, RecordError::Short { what: "a record" }));
                }
            }
            positions = positions
                .checked_add(here)
                .ok_or((record, RecordError::Number { what: "the number of positions" }))?;
            positions_before.push(positions);
        }
        starts.push(at.map(|at| at as u32));
        let left: usize = streams.iter().zip(at).map(|(stream, at)| stream.len() - at).sum();
        if left > 0 {
            return Err((records as usize, RecordError::Long { by: left }));
        }
        Ok(Block { kind, streams, starts, positions_before })
    }

    /// How many records it holds.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What the records are.
    pub fn kind(&self) -> RecordKind {
        self.kind
    }

    /// How many positions the records have.
    pub fn positions(&self) -> u32 {
        self.positions_before.last().copied().unwrap_or(0)
    }

    /// The record with the block's position `position`, and the position's ply in it.
    pub(crate) fn record_at(&self, position: u32) -> Option<(usize, u32)> {
        if position >= self.positions() {
            return None;
        }
        let record = self.positions_before.partition_point(|&before| before <= position) - 1;
        Some((record, position - self.positions_before.get(record)?))
    }

    fn parts(&self, record: usize) -> Option<[&[u8]; STREAMS]> {
        let (from, to) = (self.starts.get(record)?, self.starts.get(record + 1)?);
        let mut parts: [&[u8]; STREAMS] = [&[]; STREAMS];
        for (((part, stream), &from), &to) in parts.iter_mut().zip(&self.streams).zip(from).zip(to) {
            *part = stream.get(from as usize..to as usize)?;
        }
        Some(parts)
    }

    /// A record, or `None` past the last.
    ///
    /// # Errors
    /// If its head cannot be read.
    pub fn record(&self, record: usize) -> Option<Result<Record<'_>, RecordError>> {
        let [first, second, third, fourth] = self.parts(record)?;
        Some(match self.kind {
            RecordKind::Games => GameBytes::of_streams(first, second, third, fourth).map(Record::Game),
            RecordKind::Evaluations => EvaluationBytes::of_streams(first, second).map(Record::Evaluation),
        })
    }

    /// The bytes of a record, as [`GameRecord::to_bytes`](crate::GameRecord::to_bytes) gives them.
    pub fn bytes(&self, record: usize) -> Option<Vec<u8>> {
        Some(self.parts(record)?.concat())
    }
}
