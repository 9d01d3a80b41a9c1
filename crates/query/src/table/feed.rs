use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::record_batch::RecordBatch;
use datafusion::parquet::errors::ParquetError;
use tabia_data::{
    Block, BytesRead, Chunk, Chunks, EvaluationRecord, EvaluationRow, FaultKind, Faults, GameRules, NpyError,
    NpySet, OpenError, Part, PoolRule, Record, RecordKind, Shard, ShardError, SourceFile, SourceKind,
    Whereabouts,
};

use super::evaluation_columns::EvaluationBatch;
use super::parquet_rows::{self, ParquetRows};
use crate::humchess;
use tabia_tables::GameBatch;

use super::{TableFile, TableKind, TableSpec};

/// Reads the files of a table in pieces; memory holds one piece.
#[derive(Debug)]
pub(super) struct Feed {
    kind: TableKind,
    files: VecDeque<TableFile>,
    open: Option<Open>,
    unopened: Unopened,
}

/// Handling of files that cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unopened {
    /// Count it as a fault.
    Counts,
    /// Fail.
    Fails,
}

/// Why a file of a table cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum FeedError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Npy(#[from] NpyError),
    #[error(transparent)]
    Shard(#[from] ShardError),
    #[error("{name}: neither evaluations nor training rows of HumChess: {error}")]
    Parquet { name: Arc<str>, error: ParquetError },
    #[error("{name}: holds {found} (expected {wanted})")]
    Other { name: Arc<str>, found: &'static str, wanted: &'static str },
}

enum Open {
    Text(Chunks),
    Parquet { name: Arc<str>, rows: ParquetRows, read: u64 },
    Npy { name: Arc<str>, set: NpySet, ended: bool },
    Shard { name: Arc<str>, shard: Shard, next: usize, records: u64 },
}

impl std::fmt::Debug for Open {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Open::Text(_) => "Text",
            Open::Parquet { .. } => "Parquet",
            Open::Npy { .. } => "Npy",
            Open::Shard { .. } => "Shard",
        })
    }
}

/// A part of a file, not parsed yet.
pub(super) enum Piece {
    Text(Chunk),
    /// Rows of a Parquet file, after the first `before`.
    Rows {
        name: Arc<str>,
        before: u64,
        rows: RecordBatch,
    },
    /// The rest of a file cannot be read.
    Failed {
        name: Arc<str>,
        kind: FaultKind,
        error: String,
    },
    Positions {
        name: Arc<str>,
        positions: Vec<EvaluationRecord>,
        faults: Faults,
    },
    Block {
        name: Arc<str>,
        before: u64,
        block: Block,
    },
}

/// Positions of a NumPy set per piece.
const POSITIONS: usize = 2048;

impl Feed {
    pub(super) fn new(spec: &TableSpec, files: VecDeque<TableFile>, unopened: Unopened) -> Feed {
        Feed { kind: spec.kind, files, open: None, unopened }
    }

    /// The next piece; `None` at the end. `progress` counts the bytes of the files.
    pub(super) fn next(&mut self, progress: &BytesRead) -> Result<Option<Piece>, FeedError> {
        loop {
            if self.open.is_none() {
                let Some(file) = self.files.pop_front() else { return Ok(None) };
                match (self.open_file(&file, progress), self.unopened) {
                    (Ok(open), _) => self.open = Some(open),
                    (Err(error), Unopened::Fails) => return Err(error),
                    (Err(error), Unopened::Counts) => {
                        let (kind, error) = (FaultKind::Unreadable, error.to_string());
                        return Ok(Some(Piece::Failed { name: file.name.as_str().into(), kind, error }));
                    }
                }
            }
            match self.open.as_mut().map(Open::next).transpose()?.flatten() {
                Some(piece) => return Ok(Some(piece)),
                None => self.open = None,
            }
        }
    }

    fn open_file(&self, file: &TableFile, progress: &BytesRead) -> Result<Open, FeedError> {
        let name: Arc<str> = file.name.as_str().into();
        let path = file.path.as_deref();
        if matches!(self.kind, TableKind::GameShards | TableKind::EvaluationShards) {
            let shard = Shard::open(path.unwrap_or(Path::new("")))?;
            return Ok(Open::Shard { name, shard, next: 0, records: 0 });
        }
        let kind = SourceKind::of_name(&file.name);
        let source = SourceFile { name: name.clone(), path: file.path.clone(), kind, bytes: file.bytes };
        match (kind, path) {
            (Some(SourceKind::Parquet), Some(path)) => {
                let rows = match self.kind.records() {
                    RecordKind::Evaluations => parquet_rows::open(path, progress),
                    RecordKind::Games => parquet_rows::open_humchess(path, progress),
                };
                let rows = rows.map_err(|error| FeedError::Parquet { name: name.clone(), error })?;
                Ok(Open::Parquet { name, rows, read: 0 })
            }
            (Some(SourceKind::Npy), Some(path)) => {
                Ok(Open::Npy { name, set: NpySet::open(path, progress)?, ended: false })
            }
            _ => {
                let chunks = Chunks::open(&source, progress)?;
                let found = TableKind::of_source(chunks.kind());
                if found != self.kind {
                    return Err(FeedError::Other { name, found: found.rows(), wanted: self.kind.rows() });
                }
                Ok(Open::Text(chunks))
            }
        }
    }
}

impl Open {
    fn next(&mut self) -> Result<Option<Piece>, FeedError> {
        Ok(match self {
            Open::Text(chunks) => chunks.next().map(Piece::Text),
            Open::Parquet { name, rows, read } => rows.next().map(|rows| match rows {
                Ok(rows) => {
                    let before = *read;
                    *read += rows.num_rows() as u64;
                    Piece::Rows { name: name.clone(), before, rows }
                }
                Err(error) => {
                    let (kind, error) = (FaultKind::StreamFailed, error.to_string());
                    Piece::Failed { name: name.clone(), kind, error }
                }
            }),
            Open::Npy { ended: true, .. } => None,
            Open::Npy { name, set, ended } => {
                let positions: Vec<EvaluationRecord> = set.by_ref().take(POSITIONS).collect();
                // Faults of the set are reported with its last piece.
                *ended = positions.len() < POSITIONS;
                let faults = if *ended { set.faults().clone() } else { Faults::default() };
                Some(Piece::Positions { name: name.clone(), positions, faults })
            }
            Open::Shard { name, shard, next, records } => {
                if *next == shard.blocks().len() {
                    return Ok(None);
                }
                let block = shard.block(*next)?;
                let before = *records;
                *next += 1;
                *records += block.len() as u64;
                Some(Piece::Block { name: name.clone(), before, block })
            }
        })
    }
}

impl Piece {
    fn source(&self) -> &str {
        match self {
            Piece::Text(chunk) => chunk.source(),
            Piece::Rows { name, .. }
            | Piece::Failed { name, .. }
            | Piece::Positions { name, .. }
            | Piece::Block { name, .. } => name,
        }
    }

    fn add_failure(&self, faults: &mut Faults) {
        if let Piece::Failed { name, kind, error } = self {
            faults.add(*kind, &Whereabouts::whole(name.clone()), || error.as_str());
        }
    }

    /// Parses games into a batch; returns the source, their number and the faults.
    pub(super) fn games(&self, spec: &TableSpec, batch: &mut GameBatch) -> (&str, u64, Faults) {
        let mut faults = Faults::default();
        let mut games = 0;
        match self {
            Piece::Text(chunk) => {
                let rules = GameRules {
                    pool: spec.pool.map_or(PoolRule::Auto, PoolRule::Is),
                    ..GameRules::default()
                };
                if chunk.kind() == SourceKind::Pgn {
                    chunk.read_tagged(&rules, &mut faults, |game| {
                        games += 1;
                        batch.push(game.number, Some(game.headers), game.record);
                    });
                } else {
                    let parsed = chunk.read(&rules);
                    faults = parsed.faults;
                    for record in parsed.games {
                        games += 1;
                        batch.push(games, None, record);
                    }
                }
            }
            Piece::Block { name, before, block } => {
                for number in 0..block.len() {
                    let record = match block.record(number) {
                        Some(Ok(Record::Game(game))) => game.decode(),
                        Some(Err(error)) => Err(error),
                        Some(Ok(Record::Evaluation(_))) | None => continue,
                    };
                    let place = before + number as u64 + 1;
                    match record {
                        Ok(record) => {
                            games += 1;
                            batch.push(place, None, record);
                        }
                        Err(error) => {
                            faults.add(FaultKind::IllegalMove, &at(name, place), || error.to_string());
                        }
                    }
                }
            }
            Piece::Failed { .. } => self.add_failure(&mut faults),
            Piece::Rows { name, before, rows } => {
                let read = humchess::read_rows(rows, |row, record| {
                    let place = before + row as u64 + 1;
                    match record {
                        Ok(record) => {
                            games += 1;
                            batch.push(place, None, record);
                        }
                        Err(fault) => {
                            faults.add(FaultKind::IllegalMove, &at(name, place), || fault.to_string());
                        }
                    }
                });
                if let Err(error) = read {
                    let kind = FaultKind::StreamFailed;
                    faults.add(kind, &Whereabouts::whole(name.clone()), || error.to_string());
                }
            }
            Piece::Positions { .. } => {}
        }
        batch.drop_unkeepable(self.source(), &mut faults);
        (self.source(), games, faults)
    }

    /// Parses evaluations into a batch; returns the source, their number and the faults.
    pub(super) fn evaluations(&self, batch: &mut EvaluationBatch) -> (&str, u64, Faults) {
        let mut faults = Faults::default();
        match self {
            Piece::Text(chunk) => {
                let parsed = chunk.read(&GameRules::default());
                faults = parsed.faults;
                for row in parsed.evaluations {
                    batch.push(row);
                }
            }
            Piece::Rows { name, before, rows } => {
                parquet_rows::read(rows, |row, parsed| match parsed {
                    Ok(row) => batch.push(row),
                    Err(fault) => {
                        let place = at(name, before + row as u64 + 1);
                        faults.add(fault.kind(), &place, || fault.to_string());
                    }
                });
            }
            Piece::Failed { .. } => self.add_failure(&mut faults),
            Piece::Positions { positions, faults: found, .. } => {
                faults = found.clone();
                for position in positions {
                    push_lines(position, batch);
                }
            }
            Piece::Block { name, before, block } => {
                for number in 0..block.len() {
                    let record = match block.record(number) {
                        Some(Ok(Record::Evaluation(evaluation))) => evaluation.decode(),
                        Some(Err(error)) => Err(error),
                        Some(Ok(Record::Game(_))) | None => continue,
                    };
                    match record {
                        Ok(record) => push_lines(&record, batch),
                        Err(error) => {
                            let place = at(name, before + number as u64 + 1);
                            faults.add(FaultKind::IllegalMove, &place, || error.to_string());
                        }
                    }
                }
            }
        }
        (self.source(), batch.rows(), faults)
    }
}

fn at(name: &Arc<str>, record: u64) -> Whereabouts {
    Whereabouts { source: name.clone(), offset: 0, part: Part::Record(record) }
}

fn push_lines(record: &EvaluationRecord, batch: &mut EvaluationBatch) {
    for session in &record.sessions {
        for &line in &session.lines {
            let (depth, knodes) = (session.depth, session.knodes);
            batch.push(EvaluationRow { position: record.position.clone(), depth, knodes, line });
        }
    }
}
