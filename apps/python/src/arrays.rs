//! Numbers as NumPy arrays, without copying.

use numpy::ndarray::{ArrayViewMut, IxDyn};
use numpy::{Element, PyArray, PyArray1, PyArrayDyn, PyArrayMethods as _};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tabia_encoding::{Batch, Column, InputSpec};

use crate::error::failed;

/// An array that takes over `numbers`.
pub(crate) fn owned<'py, T: Element>(
    py: Python<'py>,
    numbers: Vec<T>,
    shape: &[usize],
) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    PyArray1::from_vec(py, numbers).reshape(shape)
}

/// The shape of an input for a number of positions.
pub(crate) fn shape(spec: &InputSpec, rows: usize) -> Vec<usize> {
    std::iter::once(rows).chain(spec.shape.iter().copied()).collect()
}

/// The inputs of an encoding: an array, or a dictionary of several.
pub(crate) fn inputs<'py>(
    py: Python<'py>,
    specs: &[InputSpec],
    mut array: impl FnMut(usize, &InputSpec) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    if let [only] = specs {
        return array(0, only);
    }
    let all = PyDict::new(py);
    for (number, spec) in specs.iter().enumerate() {
        all.set_item(spec.name, array(number, spec)?)?;
    }
    Ok(all.into_any())
}

/// Arrays that take over the inputs of a batch.
pub(crate) fn inputs_of<'py>(py: Python<'py>, batch: Batch) -> PyResult<Bound<'py, PyAny>> {
    let (encoding, rows) = (batch.encoding(), batch.rows());
    let mut columns = batch.into_columns().into_iter();
    inputs(py, encoding.inputs(), |_, spec| {
        let shape = shape(spec, rows);
        Ok(match columns.next() {
            Some(Column::Ids(ids)) => owned(py, ids, &shape)?.into_any(),
            Some(Column::Values(values)) => owned(py, values, &shape)?.into_any(),
            None => return Err(failed("an input without a column")),
        })
    })
}

/// A writable array over numbers that `owner` owns and keeps where they are.
///
/// `owner` must not change or free them before it is dropped, which the array prevents.
#[expect(unsafe_code, reason = "NumPy arrays over the memory of another object")]
pub(crate) fn borrowed<'py, T: Element>(
    owner: &Bound<'py, PyAny>,
    numbers: &mut [T],
    shape: &[usize],
) -> PyResult<Bound<'py, PyAny>> {
    let view = ArrayViewMut::from_shape(IxDyn(shape), numbers).map_err(failed)?;
    // SAFETY: the array holds a reference to `owner`, which neither moves nor frees the numbers (see above).
    let array = unsafe { PyArray::borrow_from_array(&view, owner.clone()) };
    Ok(array.into_any())
}
