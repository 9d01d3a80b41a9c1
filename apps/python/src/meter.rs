//! Progress, shown by `tabia._progress`.

use pyo3::prelude::*;

/// A progress bar, or nothing.
pub(crate) struct Meter(Option<Py<PyAny>>);

impl Meter {
    /// Shows progress as `chosen`: a bar by default, nothing for False, or a function of the done, the total and a note.
    pub(crate) fn begin(py: Python<'_>, chosen: Option<Bound<'_, PyAny>>, unit: &str) -> PyResult<Meter> {
        let bar = py.import("tabia._progress")?.call_method1("meter", (chosen, unit))?;
        Ok(Meter((!bar.is_none()).then(|| bar.unbind())))
    }

    pub(crate) fn show(&self, py: Python<'_>, done: u64, total: u64, note: &str) -> PyResult<()> {
        match &self.0 {
            Some(bar) => bar.call1(py, (done, total, note)).map(drop),
            None => Ok(()),
        }
    }

    pub(crate) fn end(&self, py: Python<'_>) -> PyResult<()> {
        match &self.0 {
            Some(bar) if bar.bind(py).hasattr("close")? => bar.call_method0(py, "close").map(drop),
            _ => Ok(()),
        }
    }
}
