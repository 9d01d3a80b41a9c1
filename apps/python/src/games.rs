//! PGN as columns.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use tabia_data::Faults;
use tabia_tables::{GameReader, GameTable, ReadError, ReadOptions};

use crate::arrow;
use crate::error::{failed, failed_at, invalid, readable};
use crate::interrupt::Signals;
use crate::meter::Meter;
use crate::set::game_rules;

/// Games as columns.
#[pyclass(frozen, module = "tabia")]
pub(crate) struct Games {
    schema: SchemaRef,
    tables: Vec<RecordBatch>,
    faults: Faults,
}

#[pymethods]
impl Games {
    fn __len__(&self) -> usize {
        self.tables.iter().map(RecordBatch::num_rows).sum()
    }

    #[getter]
    fn columns(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// What could not be read, a line for each kind; empty if everything could.
    #[getter]
    fn faults(&self) -> String {
        if self.faults.is_empty() { String::new() } else { self.faults.to_string() }
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A request may be left unheeded: consumers cast then.
        let _ = requested_schema;
        arrow::stream(py, self.schema.clone(), self.tables.clone())
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        arrow::schema(py, &self.schema)
    }

    fn __repr__(&self) -> String {
        format!("<tabia.Games {} games, columns {}>", self.__len__(), self.columns().join(", "))
    }
}

/// Games in tables of about a megabyte of PGN each.
#[pyclass(frozen, module = "tabia")]
pub(crate) struct GameStream {
    reader: Mutex<GameReader>,
    path: PathBuf,
}

#[pymethods]
impl GameStream {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Games>> {
        let mut signals = Signals::default();
        let next = py.detach(|| {
            let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
            let next = reader.next_polling(&mut || signals.poll());
            next.map(|table| table.map(|table| (reader.schema(), table)))
        });
        match next {
            Ok(None) => Ok(None),
            Ok(Some((schema, GameTable { games, faults }))) => {
                Ok(Some(Games { schema, tables: vec![games], faults }))
            }
            Err(error) => Err(signals.or(|| failed_at(&self.path, error))),
        }
    }
}

fn open(path: &Path, options: &ReadOptions) -> PyResult<GameReader> {
    readable(path)?;
    GameReader::open(path, options).map_err(|error| match error {
        ReadError::Column { .. } => invalid(error),
        ReadError::Open(error) => failed(error),
        other => failed_at(path, other),
    })
}

/// The games of a PGN file of any size, plain or compressed, in tables of about a megabyte of PGN each. Options are those of
/// `read_pgn`.
///
/// >>> import tabia
/// >>> sum(len(games) for games in tabia.scan_pgn("fixtures/eval/games.pgn"))
/// 6
#[pyfunction]
#[pyo3(signature = (path, *, columns = None, pool = "auto", broken = "skip", threads = None))]
pub(crate) fn scan_pgn(
    path: PathBuf,
    columns: Option<Vec<String>>,
    pool: &str,
    broken: &str,
    threads: Option<usize>,
) -> PyResult<GameStream> {
    let options = ReadOptions { columns, rules: game_rules(pool, broken)?, threads: threads.unwrap_or(0) };
    Ok(GameStream { reader: Mutex::new(open(&path, &options)?), path })
}

/// The games of a PGN file, plain or compressed, or of a folder of them, as Arrow columns: `polars.DataFrame(games)`,
/// `pyarrow.table(games)` and `pandas.DataFrame.from_arrow(games)` take them without copying.
///
/// `columns` chooses columns by name (all by default). `pool` is the rating pool, detected for each game by default; `broken`
/// is "skip" or "keep": what becomes of games that cannot be read to the end, which `Games.faults` lists.
///
/// >>> import tabia
/// >>> games = tabia.read_pgn("fixtures/eval/games.pgn", columns=["white_elo", "result", "moves"], progress=False)
/// >>> len(games), games.columns
/// (6, ['white_elo', 'result', 'moves'])
#[pyfunction]
#[pyo3(signature = (
    path, *, columns = None, pool = "auto", broken = "skip", limit = None, threads = None, progress = None
))]
#[expect(clippy::too_many_arguments, reason = "the options of a Python function")]
pub(crate) fn read_pgn(
    py: Python<'_>,
    path: PathBuf,
    columns: Option<Vec<String>>,
    pool: &str,
    broken: &str,
    limit: Option<usize>,
    threads: Option<usize>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Games> {
    let options = ReadOptions { columns, rules: game_rules(pool, broken)?, threads: threads.unwrap_or(0) };
    let mut reader = open(&path, &options)?;
    let meter = Meter::begin(py, progress, "bytes")?;
    let mut left = limit.unwrap_or(usize::MAX);
    let mut signals = Signals::default();
    let read = py.detach(|| {
        let total = reader.bytes();
        let (mut tables, mut faults, mut polled) = (Vec::new(), Faults::default(), reader.bytes_read());
        while left > 0 {
            let Some(table) = reader.next_polling(&mut || signals.poll())? else { break };
            let games = table.games.slice(0, table.games.num_rows().min(left));
            left -= games.num_rows();
            faults.merge(table.faults);
            if games.num_rows() > 0 {
                tables.push(games);
            }
            let read = reader.bytes_read();
            if read != polled {
                polled = read;
                let shown = signals.poll_with(|py| meter.show(py, read, total, ""));
                if shown.is_break() {
                    return Err(ReadError::Cancelled);
                }
            }
        }
        Ok::<_, ReadError>((tables, faults))
    });
    meter.end(py)?;
    match read {
        Ok((tables, faults)) => Ok(Games { schema: reader.schema(), tables, faults }),
        Err(error) => Err(signals.or(|| failed_at(&path, error))),
    }
}
