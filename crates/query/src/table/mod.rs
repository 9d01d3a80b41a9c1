//! Files of games and evaluations as tables.
//!
//! A table is a value ([`TableSpec`]): what kind of rows, from which files. It can be sent to another machine and
//! scanned there, one partition a file.

mod columns;
mod evaluation_columns;
mod feed;
mod game_columns;
mod parquet_rows;
mod reading;
mod scan;
mod table_functions;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::datasource::TableType;
use datafusion::error::Result;
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::ExecutionPlan;
use serde::{Deserialize, Serialize};
use tabia_data::{BytesRead, Chunks, OpenError, RecordKind, SetError, SetManifest, SourceFile, SourceKind};
use tabia_encoding::RatingPool;

use crate::humchess::has_humchess_rows;

pub use self::reading::{Reading, SourceReport};
use self::scan::{ChessScan, Dealing};
pub(crate) use self::table_functions::register;

/// What the rows of a table are, and so which columns they have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TableKind {
    /// Games of PGN files, or moves of games in HumChess's training rows.
    Pgn,
    /// Puzzles of EPD files and of the Lichess table: positions with the moves that solve them.
    Puzzles,
    /// Lines of engine evaluations, from JSONL, Parquet or NumPy files.
    Evaluations,
    /// Games of a set.
    GameShards,
    /// Lines of engine evaluations of a set.
    EvaluationShards,
}

/// A table by value: enough to scan it on any machine that sees its files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableSpec {
    /// What the rows are.
    pub kind: TableKind,
    /// The files, one for each partition of a scan.
    pub files: Vec<TableFile>,
    /// Whose scale the ratings of games are on; `None` is what each game's tags tell.
    pub pool: Option<RatingPool>,
}

/// One file of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableFile {
    /// What the user calls it.
    pub name: String,
    /// Where it is, from the root; `None` is standard input, which no other machine can read.
    pub path: Option<PathBuf>,
    /// How many bytes it has on disk, where that is known.
    pub bytes: Option<u64>,
}

/// Why a path makes no table.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The files cannot be found.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The set cannot be read.
    #[error(transparent)]
    Set(#[from] SetError),
    /// A file that has no such rows.
    #[error("{name}: holds no {wanted}")]
    OtherKind {
        /// The file.
        name: String,
        /// What was asked for.
        wanted: &'static str,
    },
    /// The path cannot be made one from the root.
    #[error("{path}: {error}")]
    Path {
        /// The path.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
}

impl TableKind {
    /// Which kind of record the `record` column holds.
    pub fn records(self) -> RecordKind {
        match self {
            TableKind::Pgn | TableKind::Puzzles | TableKind::GameShards => RecordKind::Games,
            TableKind::Evaluations | TableKind::EvaluationShards => RecordKind::Evaluations,
        }
    }

    /// The kind of table a file of this kind makes.
    fn of_source(kind: SourceKind) -> TableKind {
        match kind {
            SourceKind::Pgn => TableKind::Pgn,
            SourceKind::Epd | SourceKind::PuzzleCsv => TableKind::Puzzles,
            SourceKind::EvaluationsJsonl | SourceKind::Parquet | SourceKind::Npy => TableKind::Evaluations,
        }
    }

    fn rows(self) -> &'static str {
        match self {
            TableKind::Pgn | TableKind::GameShards => "games",
            TableKind::Puzzles => "puzzles",
            TableKind::Evaluations | TableKind::EvaluationShards => "evaluations",
        }
    }
}

impl TableSpec {
    /// The tables of everything an argument names: a file, a folder, a set, or `-` for standard input. Files of
    /// different kinds make a table each.
    ///
    /// # Errors
    /// When there is nothing to read there.
    pub fn find(argument: &Path, pool: Option<RatingPool>) -> Result<Vec<TableSpec>, TableError> {
        if argument.join("set.json").is_file() {
            return Ok(vec![TableSpec::of_set(argument)?]);
        }
        let mut tables: Vec<TableSpec> = Vec::new();
        for file in SourceFile::find(argument)? {
            let kind = match (recognise(&file)?, file.path.as_deref()) {
                // What cannot be read now is a fault of the reading.
                (SourceKind::Parquet, Some(path)) if has_humchess_rows(path).unwrap_or(false) => {
                    TableKind::Pgn
                }
                (kind, _) => TableKind::of_source(kind),
            };
            let file = TableFile::of(&file)?;
            match tables.iter_mut().find(|table| table.kind == kind) {
                Some(table) => table.files.push(file),
                None => tables.push(TableSpec { kind, files: vec![file], pool }),
            }
        }
        Ok(tables)
    }

    /// The table of one kind of rows of what an argument names. In a folder, files of other kinds are passed over; a
    /// single file has to be of the kind.
    ///
    /// # Errors
    /// When there is no such file.
    pub fn of_kind(
        kind: TableKind,
        argument: &Path,
        pool: Option<RatingPool>,
    ) -> Result<TableSpec, TableError> {
        let mut found = TableSpec::find(argument, pool)?;
        if argument.as_os_str() == "-" {
            found.iter_mut().for_each(|table| table.kind = kind);
        }
        let missing = || TableError::OtherKind { name: argument.display().to_string(), wanted: kind.rows() };
        found.into_iter().find(|table| table.kind == kind).ok_or_else(missing)
    }

    /// The table of a set.
    ///
    /// # Errors
    /// When the folder holds no set.
    pub fn of_set(dir: &Path) -> Result<TableSpec, TableError> {
        let manifest = SetManifest::read(dir)?;
        let kind = match manifest.kind {
            RecordKind::Games => TableKind::GameShards,
            RecordKind::Evaluations => TableKind::EvaluationShards,
        };
        let file = |shard: &tabia_data::ShardSummary| {
            let path = dir.join(&shard.file);
            let name = path.display().to_string();
            Ok(TableFile { name, path: Some(absolute(&path)?), bytes: Some(shard.bytes) })
        };
        let files = manifest.shards.iter().map(file).collect::<Result<_, TableError>>()?;
        Ok(TableSpec { kind, files, pool: None })
    }

    /// The columns.
    pub fn schema(&self) -> SchemaRef {
        Arc::new(Schema::new(match self.kind.records() {
            RecordKind::Games => game_columns::fields(self.kind),
            RecordKind::Evaluations => evaluation_columns::fields(),
        }))
    }

    /// How many partitions a [`scan`](TableSpec::scan) has: one a file.
    pub fn partitions(&self) -> usize {
        self.files.len()
    }

    /// A scan of some of the columns, with one partition a file.
    ///
    /// # Errors
    /// When the projection names columns that are not there.
    pub fn scan(&self, projection: Option<&Vec<usize>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(ChessScan::new(self.clone(), projection, Dealing::FileByFile)?))
    }

    /// Bytes of all files on disk, where they are known.
    pub fn bytes(&self) -> u64 {
        self.files.iter().filter_map(|file| file.bytes).sum()
    }
}

impl TableFile {
    fn of(file: &SourceFile) -> Result<TableFile, TableError> {
        let path = file.path.as_deref().map(absolute).transpose()?;
        Ok(TableFile { name: file.name.to_string(), path, bytes: file.bytes })
    }
}

/// What a file holds: what its name tells, else what it begins with. Standard input, which can be read only once, is taken
/// for games.
fn recognise(file: &SourceFile) -> Result<SourceKind, OpenError> {
    match (file.kind, &file.path) {
        (Some(kind), _) => Ok(kind),
        (None, None) => Ok(SourceKind::Pgn),
        (None, Some(_)) => Chunks::open(file, &BytesRead::default()).map(|chunks| chunks.kind()),
    }
}

fn absolute(path: &Path) -> Result<PathBuf, TableError> {
    std::path::absolute(path).map_err(|error| TableError::Path { path: path.to_owned(), error })
}

/// A [`TableSpec`] that SQL can read from.
///
/// Where the session has a [`Reading`], its threads share the work chunk by chunk, whichever file it is in; else a
/// partition is a file.
#[derive(Debug)]
pub struct ChessTable {
    spec: TableSpec,
    schema: SchemaRef,
}

impl ChessTable {
    /// The table of a description.
    pub fn new(spec: TableSpec) -> ChessTable {
        let schema = spec.schema();
        ChessTable { spec, schema }
    }

    /// What it is.
    pub fn spec(&self) -> &TableSpec {
        &self.spec
    }
}

#[async_trait]
impl TableProvider for ChessTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if session.config().get_extension::<Reading>().is_none() {
            return self.spec.scan(projection);
        }
        let dealing = Dealing::shared(session.config().target_partitions());
        Ok(Arc::new(ChessScan::new(self.spec.clone(), projection, dealing)?))
    }
}
