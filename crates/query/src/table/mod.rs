//! Files of games and evaluations as tables.
//!
//! A table is described by a [`TableSpec`]: the kind of rows and the files. It can be sent to another machine and scanned
//! there, one partition per file.

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

/// The kind of rows of a table, which decides its columns.
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

/// Description of a table, sufficient to scan it on any machine that has its files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableSpec {
    /// The kind of rows.
    pub kind: TableKind,
    /// The files, one per partition of a scan.
    pub files: Vec<TableFile>,
    /// The rating pool of games; `None` detects it from each game's tags.
    pub pool: Option<RatingPool>,
}

/// One file of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableFile {
    /// Its name in messages.
    pub name: String,
    /// Its absolute path; `None` is standard input.
    pub path: Option<PathBuf>,
    /// Its size on disk, if known.
    pub bytes: Option<u64>,
}

/// Why a path cannot be read as a table.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The files cannot be found.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The set cannot be read.
    #[error(transparent)]
    Set(#[from] SetError),
    /// A file without such rows.
    #[error("{name}: no {wanted} found")]
    OtherKind {
        /// The file.
        name: String,
        /// What was requested.
        wanted: &'static str,
    },
    /// The path cannot be made absolute.
    #[error("{path}: {error}")]
    Path {
        /// The path.
        path: PathBuf,
        /// The underlying error.
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

    /// The kind of table of a file.
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
    /// The tables of an argument: a file, a folder, a set, or `-` for standard input. There is one table per kind of file.
    ///
    /// # Errors
    /// If there is nothing to read.
    pub fn find(argument: &Path, pool: Option<RatingPool>) -> Result<Vec<TableSpec>, TableError> {
        if argument.join("set.json").is_file() {
            return Ok(vec![TableSpec::of_set(argument)?]);
        }
        let mut tables: Vec<TableSpec> = Vec::new();
        for file in SourceFile::find(argument)? {
            let kind = match (recognise(&file)?, file.path.as_deref()) {
                // Unreadable files are reported when they are read.
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

    /// The table of one kind of an argument. In a folder, files of other kinds are skipped; a single file must be of the kind.
    ///
    /// # Errors
    /// If there is no such file.
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
    /// If the folder is not a set.
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

    /// Number of partitions of a [`scan`](TableSpec::scan): one per file.
    pub fn partitions(&self) -> usize {
        self.files.len()
    }

    /// A scan of some of the columns, with one partition per file.
    ///
    /// # Errors
    /// If the projection names unknown columns.
    pub fn scan(&self, projection: Option<&Vec<usize>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(ChessScan::new(self.clone(), projection, Dealing::FileByFile)?))
    }

    /// Total size of the files on disk, as far as known.
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

/// The kind of a file by its name, or else by its content. Standard input, which can be read only once, is taken as games.
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

/// A [`TableSpec`] as a DataFusion table.
#[derive(Debug)]
pub struct ChessTable {
    spec: TableSpec,
    schema: SchemaRef,
    plan: ScanPlan,
}

/// Plans the scan of some columns of a table.
type ScanPlan = fn(&TableSpec, &dyn Session, Option<&Vec<usize>>) -> Result<Arc<dyn ExecutionPlan>>;

impl ChessTable {
    /// A table of this process. If the session has a [`Reading`], its threads share the chunks of all files; otherwise a
    /// partition is a file.
    pub fn new(spec: TableSpec) -> ChessTable {
        ChessTable::planned(spec, |spec, session, projection| {
            if session.config().get_extension::<Reading>().is_none() {
                return spec.scan(projection);
            }
            let dealing = Dealing::shared(session.config().target_partitions());
            Ok(Arc::new(ChessScan::new(spec.clone(), projection, dealing)?))
        })
    }

    /// A table whose scans are planned by `plan`.
    pub(crate) fn planned(spec: TableSpec, plan: ScanPlan) -> ChessTable {
        let schema = spec.schema();
        ChessTable { spec, schema, plan }
    }

    /// The description.
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
        (self.plan)(&self.spec, session, projection)
    }
}
