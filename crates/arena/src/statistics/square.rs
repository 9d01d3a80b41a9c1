/// A square matrix, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Square {
    size: usize,
    cells: Vec<f64>,
}

impl Square {
    /// Nothing but zeros.
    pub fn zero(size: usize) -> Square {
        Square { size, cells: vec![0.0; size * size] }
    }

    /// The sum of `weight * (e_i - e_j)(e_i - e_j)^T`.
    pub(super) fn laplacian(size: usize, edges: impl Iterator<Item = (usize, usize, f64)>) -> Square {
        let mut matrix = Square::zero(size);
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

    /// One number, to change it.
    pub fn cell(&mut self, row: usize, column: usize) -> &mut f64 {
        &mut self.cells[row * self.size + column]
    }

    /// Of a covariance: the variance of `x_i - x_j`.
    pub(super) fn of_difference(&self, i: usize, j: usize) -> f64 {
        self.at(i, i) + self.at(j, j) - 2.0 * self.at(i, j)
    }

    pub(super) fn scale(&mut self, factor: f64) {
        self.cells.iter_mut().for_each(|cell| *cell *= factor);
    }

    /// The product with a column.
    pub fn times(&self, vector: &[f64]) -> Vec<f64> {
        self.cells
            .chunks_exact(self.size.max(1))
            .map(|row| row.iter().zip(vector).map(|(a, b)| a * b).sum())
            .collect()
    }

    pub(super) fn product(&self, other: &Square) -> Square {
        let mut product = Square::zero(self.size);
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

    /// The pseudo-inverse of a connected Laplacian, whose only null vector is all ones: shifting that direction by one
    /// makes it invertible, and shifting back afterwards removes it again.
    pub(super) fn inverse_laplacian(mut self) -> Square {
        let share = 1.0 / self.size.max(1) as f64;
        self.cells.iter_mut().for_each(|cell| *cell += share);
        let mut inverse = self.inverse();
        inverse.cells.iter_mut().for_each(|cell| *cell -= share);
        inverse
    }

    /// The inverse of a symmetric positive definite matrix, whose diagonal is a safe pivot. Gauss-Jordan; pools are small.
    pub fn inverse(mut self) -> Square {
        let size = self.size;
        let mut inverse = Square::zero(size);
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
