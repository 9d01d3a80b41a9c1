/// A square matrix in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    size: usize,
    cells: Vec<f64>,
}

impl Matrix {
    /// Zero matrix.
    pub fn zero(size: usize) -> Matrix {
        Matrix { size, cells: vec![0.0; size * size] }
    }

    /// Weighted graph Laplacian: the sum of `weight * (e_i - e_j)(e_i - e_j)^T`.
    pub(super) fn laplacian(size: usize, edges: impl Iterator<Item = (usize, usize, f64)>) -> Matrix {
        let mut matrix = Matrix::zero(size);
        for (i, j, weight) in edges {
            *matrix.cell(i, i) += weight;
            *matrix.cell(j, j) += weight;
            *matrix.cell(i, j) -= weight;
            *matrix.cell(j, i) -= weight;
        }
        matrix
    }

    pub(super) fn at(&self, row: usize, column: usize) -> f64 {
        self.cells[row * self.size + column]
    }

    /// Mutable element.
    pub fn cell(&mut self, row: usize, column: usize) -> &mut f64 {
        &mut self.cells[row * self.size + column]
    }

    /// Product with a vector.
    pub fn times(&self, vector: &[f64]) -> Vec<f64> {
        self.cells
            .chunks_exact(self.size.max(1))
            .map(|row| row.iter().zip(vector).map(|(a, b)| a * b).sum())
            .collect()
    }

    pub(super) fn product(&self, other: &Matrix) -> Matrix {
        let mut product = Matrix::zero(self.size);
        for i in 0..self.size {
            for k in 0..self.size {
                let factor = self.at(i, k);
                for j in 0..self.size {
                    *product.cell(i, j) += factor * other.at(k, j);
                }
            }
        }
        product
    }

    /// Pseudo-inverse of a connected Laplacian. Its only null vector is all ones, so adding a constant makes it
    /// invertible, and subtracting it from the inverse removes it again.
    pub(super) fn inverse_laplacian(mut self) -> Matrix {
        let share = 1.0 / self.size.max(1) as f64;
        self.cells.iter_mut().for_each(|cell| *cell += share);
        let mut inverse = self.inverse();
        inverse.cells.iter_mut().for_each(|cell| *cell -= share);
        inverse
    }

    /// Inverse of a symmetric positive definite matrix by Gauss-Jordan elimination without pivoting.
    pub fn inverse(mut self) -> Matrix {
        let size = self.size;
        let mut inverse = Matrix::zero(size);
        for i in 0..size {
            *inverse.cell(i, i) = 1.0;
        }
        for column in 0..size {
            let pivot = self.at(column, column);
            for j in 0..size {
                *self.cell(column, j) /= pivot;
                *inverse.cell(column, j) /= pivot;
            }
            for row in (0..size).filter(|row| *row != column) {
                let factor = self.at(row, column);
                for j in 0..size {
                    *self.cell(row, j) -= factor * self.at(column, j);
                    *inverse.cell(row, j) -= factor * inverse.at(column, j);
                }
            }
        }
        inverse
    }
}
