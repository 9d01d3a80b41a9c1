//! Training batches.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tabia_batches as batches;
use tabia_batches::{Columns, Lent};
use tabia_encoding::{Column, RatingPool};

use crate::arrays::{self, borrowed};
use crate::error::failed;
use crate::interrupt::Signals;

/// The names of the columns.
const COLUMNS: [&str; 15] = [
    "moves",
    "promotions",
    "legal",
    "result",
    "evaluation",
    "rating",
    "opponent_rating",
    "clock",
    "opponent_clock",
    "base",
    "increment",
    "thought",
    "ply",
    "pool",
    "record",
];

/// Training batches in order, made by threads ahead of their use. See `Set.batches`.
#[pyclass(frozen, module = "tabia")]
pub(crate) struct Batches(Mutex<batches::Batches>);

impl Batches {
    pub(crate) fn new(batches: batches::Batches) -> Batches {
        Batches(Mutex::new(batches))
    }
}

#[pymethods]
impl Batches {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        let mut signals = Signals::default();
        // Another thread may hold the batches and wait for the interpreter's lock.
        let next = py.detach(|| {
            let mut batches = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            batches.next_polling(&mut || signals.poll())
        });
        match next {
            Ok(lent) => Ok(lent.map(|lent| Batch(Mutex::new(lent)))),
            Err(error) => Err(signals.or(|| failed(error))),
        }
    }

    /// The place after the batches taken so far.
    #[getter]
    fn position(&self, py: Python<'_>) -> PyResult<String> {
        let text = py
            .detach(|| serde_json::to_string(self.0.lock().unwrap_or_else(PoisonError::into_inner).place()));
        text.map_err(failed)
    }
}

/// One batch. Its arrays share its memory, which is used again when they are gone.
#[pyclass(frozen, module = "tabia")]
pub(crate) struct Batch(Mutex<Lent>);

impl Batch {
    fn lent(&self) -> MutexGuard<'_, Lent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A column as an array; `None` if it is empty.
    fn array<'py, T: numpy::Element>(
        slf: &Bound<'py, Self>,
        column: impl FnOnce(&mut Columns) -> &mut Vec<T>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let mut columns = slf.get().lent();
        let rows = columns.rows();
        let numbers = column(&mut columns);
        if numbers.is_empty() {
            return Ok(None);
        }
        let shape = if numbers.len() == rows { vec![rows] } else { vec![rows, numbers.len() / rows] };
        borrowed(slf.as_any(), numbers, &shape).map(Some)
    }
}

macro_rules! column {
    ($slf:ident . $name:ident) => {
        Batch::array(&$slf, |columns| &mut columns.$name)
    };
}

#[pymethods]
impl Batch {
    fn __len__(&self) -> usize {
        self.lent().rows()
    }

    #[getter]
    fn encoding(&self) -> &'static str {
        self.lent().inputs.encoding().id().0
    }

    #[getter]
    fn inputs<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let mut columns = slf.get().lent();
        let (rows, encoding) = (columns.rows(), columns.inputs.encoding());
        let all = columns.inputs.columns_mut();
        arrays::inputs(slf.py(), encoding.inputs(), |number, spec| {
            let shape = arrays::shape(spec, rows);
            match &mut all[number] {
                Column::Ids(ids) => borrowed(slf.as_any(), ids, &shape),
                Column::Values(values) => borrowed(slf.as_any(), values, &shape),
            }
        })
    }

    #[getter]
    fn moves<'py>(slf: Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        column!(slf.moves)
    }

    #[getter]
    fn promotions<'py>(slf: Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        column!(slf.promotions)
    }

    /// The legal moves, as booleans.
    #[getter]
    fn legal<'py>(slf: Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(bytes) = column!(slf.legal)? else { return Ok(None) };
        bytes.call_method1("view", ("bool",)).map(Some)
    }

    #[getter]
    fn result<'py>(slf: Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        column!(slf.result)
    }

    #[getter]
    fn evaluation<'py>(slf: Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        column!(slf.evaluation)
    }

    #[getter]
    fn rating<'py>(slf: Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        column!(slf.rating)
    }

    #[getter]
    fn opponent_rating<'py>(slf: Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        column!(slf.opponent_rating)
    }

    #[getter]
    fn clock<'py>(slf: Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        column!(slf.clock)
    }

    #[getter]
    fn opponent_clock<'py>(slf: Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        column!(slf.opponent_clock)
    }

    #[getter]
    fn base<'py>(slf: Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        column!(slf.base)
    }

    #[getter]
    fn increment<'py>(slf: Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        column!(slf.increment)
    }

    #[getter]
    fn thought<'py>(slf: Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        column!(slf.thought)
    }

    #[getter]
    fn ply<'py>(slf: Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        column!(slf.ply)
    }

    #[getter]
    fn pool<'py>(slf: Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        column!(slf.pool)
    }

    #[getter]
    fn record<'py>(slf: Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        column!(slf.record)
    }

    /// All columns that this batch has, by their names, without the inputs.
    fn columns<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(slf.py());
        for name in COLUMNS {
            let column = slf.getattr(name)?;
            if !column.is_none() {
                all.set_item(name, column)?;
            }
        }
        Ok(all)
    }

    /// The names of the pools, at their numbers.
    #[classattr]
    #[pyo3(name = "POOLS")]
    fn pools() -> Vec<&'static str> {
        RatingPool::ALL.iter().map(|pool| pool.name()).collect()
    }

    fn __repr__(&self) -> String {
        format!("<tabia.Batch of {} positions, {}>", self.__len__(), self.encoding())
    }
}
