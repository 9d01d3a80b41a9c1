//! Products of matrices.
#![expect(unsafe_code, reason = "the library for products of matrices takes pointers")]

/// Elements of a matrix as they lie in memory.
#[derive(Clone, Copy)]
pub(crate) struct Matrix<'a> {
    elements: &'a [f32],
    rows: usize,
    columns: usize,
    row_stride: usize,
    column_stride: usize,
}

impl<'a> Matrix<'a> {
    /// Rows one after another.
    pub(crate) fn new(elements: &'a [f32], rows: usize, columns: usize) -> Self {
        assert_eq!(elements.len(), rows * columns, "a matrix of {rows} rows and {columns} columns");
        Matrix { elements, rows, columns, row_stride: columns, column_stride: 1 }
    }

    /// The same elements with rows as columns.
    pub(crate) fn transposed(self) -> Self {
        Matrix {
            elements: self.elements,
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
        }
    }
}

/// What happens to the elements there are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Into {
    /// They are overwritten.
    Nothing,
    /// They are added to.
    Sum,
}

/// `out = factor a b`, or `out += factor a b`, on this thread: others have products of their own. The rows of `out` lie one after another.
pub(crate) fn product(out: &mut [f32], into: Into, factor: f32, a: Matrix<'_>, b: Matrix<'_>) {
    assert_eq!(a.columns, b.rows, "matrices that have a product");
    let (m, n, k) = (a.rows, b.columns, a.columns);
    assert_eq!(out.len(), m * n, "a product of {m} rows and {n} columns");
    let keep = if into == Into::Sum { 1.0 } else { 0.0 };
    let stride = |stride: usize| stride as isize;
    // SAFETY: `out` has m rows of n elements; a matrix of r rows and c columns has r * c elements, which its strides, c
    // and 1 or 1 and r, never leave. `out` is borrowed mutably, so it is none of the others.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            out.as_mut_ptr(),
            1,
            stride(n),
            into == Into::Sum,
            a.elements.as_ptr(),
            stride(a.column_stride),
            stride(a.row_stride),
            b.elements.as_ptr(),
            stride(b.column_stride),
            stride(b.row_stride),
            keep,
            factor,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_matrices_and_their_transposes() {
        let a = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let b = [1.0, -1.0, 0.5, 2.0, 0.0, 3.0];
        let expected = [2.0, 12.0, 6.5, 24.0]; // [2, 3] times [3, 2]
        let (a23, b32) = (Matrix::new(&a, 2, 3), Matrix::new(&b, 3, 2));
        let mut out = [f32::NAN; 4];
        product(&mut out, Into::Nothing, 1.0, a23, b32);
        assert_eq!(out, expected);
        product(&mut out, Into::Sum, 2.0, a23, b32);
        assert_eq!(out, expected.map(|x| 3.0 * x));
        // (b^T a^T) is the transpose.
        product(&mut out, Into::Nothing, 1.0, b32.transposed(), a23.transposed());
        assert_eq!(out, [expected[0], expected[2], expected[1], expected[3]]);
    }

    #[test]
    #[should_panic(expected = "matrices that have a product")]
    fn sizes_have_to_fit() {
        let x = [0.0; 6];
        product(&mut [0.0; 4], Into::Nothing, 1.0, Matrix::new(&x, 2, 3), Matrix::new(&x, 2, 3));
    }
}
