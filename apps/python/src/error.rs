//! Errors as Python exceptions.

use std::fmt::Display;
use std::io;
use std::path::Path;

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyOSError, PyValueError};
use pyo3::prelude::*;

create_exception!(
    tabia,
    Error,
    PyException,
    "A file, a network, a set or a match cannot be used. The message says which, and why."
);

/// An [`Error`].
pub(crate) fn failed(error: impl Display) -> PyErr {
    // Unlike `{error}`, this shows the causes of an `anyhow::Error`.
    Error::new_err(format!("{error:#}"))
}

/// An [`Error`] about a file.
pub(crate) fn failed_at(path: &Path, error: impl Display) -> PyErr {
    Error::new_err(format!("{}: {error:#}", path.display()))
}

/// A `ValueError`, for an argument.
pub(crate) fn invalid(error: impl Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// A `FileNotFoundError`, `PermissionError` or other `OSError` with the path, unless there is something there to be read.
pub(crate) fn readable(path: &Path) -> PyResult<()> {
    let found = std::fs::metadata(path);
    let opened =
        found.and_then(|about| if about.is_file() { std::fs::File::open(path).map(drop) } else { Ok(()) });
    opened.map_err(|error| of_file(path, &error))
}

/// An `OSError` with the path; Python chooses the subclass by the number.
fn of_file(path: &Path, error: &io::Error) -> PyErr {
    match error.raw_os_error() {
        Some(number) => {
            // Without ` (os error 2)`.
            let words = error.to_string();
            let words = words.split(" (os error").next().unwrap_or_default().to_owned();
            PyOSError::new_err((number, words, path.display().to_string()))
        }
        None => failed_at(path, error),
    }
}

/// Warns, as Python does.
pub(crate) fn warn(py: Python<'_>, message: &str) -> PyResult<()> {
    py.import("warnings")?.call_method1("warn", (message,)).map(drop)
}
