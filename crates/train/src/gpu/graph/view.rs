//! How a value's elements lie in memory. Reshaping and permuting change the view and move nothing.

use super::super::layout::Factor;

/// Rows of a product's operand, and every row of a value, are multiples of this many elements: 16 bytes of bfloat16.
pub(super) const UNIT: usize = 8;

pub(super) fn padded(width: usize) -> usize {
    width.next_multiple_of(UNIT)
}

/// The dimensions of one example, each an index in parts, the slowest first. Every element has its own place; places
/// no element has are zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct View {
    pub(super) dims: Vec<Vec<Factor>>,
}

/// A view as rows: `count` rows, `width` elements apart, that hold nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rows {
    pub(super) count: usize,
    pub(super) width: usize,
    /// Where in a row the last dimension's elements are.
    pub(super) columns: Vec<Factor>,
}

fn part(size: usize, stride: usize) -> Vec<Factor> {
    if size == 1 { Vec::new() } else { vec![Factor { size, stride }] }
}

fn size(dim: &[Factor]) -> usize {
    dim.iter().map(|factor| factor.size).product()
}

/// Neighbours that count as one.
fn merged(factors: impl IntoIterator<Item = Factor>) -> Vec<Factor> {
    let mut out: Vec<Factor> = Vec::new();
    for factor in factors {
        match out.last_mut() {
            Some(last) if last.stride == factor.size * factor.stride => {
                *last = Factor { size: last.size * factor.size, stride: factor.stride };
            }
            _ => out.push(factor),
        }
    }
    out
}

impl View {
    /// Row-major with every row of the last dimension padded, and how many elements that takes.
    pub(super) fn canonical(shape: &[usize]) -> (View, usize) {
        let mut stride = 1;
        let mut dims: Vec<Vec<Factor>> = Vec::new();
        for (at, &size) in shape.iter().enumerate().rev() {
            dims.insert(0, part(size, stride));
            stride *= if at + 1 == shape.len() { padded(size) } else { size };
        }
        (View { dims }, stride.max(UNIT))
    }

    pub(super) fn shape(&self) -> Vec<usize> {
        self.dims.iter().map(|dim| size(dim)).collect()
    }

    /// The same elements under another shape; none where a part would have to be broken.
    pub(super) fn reshaped(&self, shape: &[usize]) -> Option<View> {
        let mut parts = merged(self.dims.iter().flatten().copied());
        parts.reverse();
        let mut dims = Vec::new();
        for &size in shape {
            let (mut rest, mut dim) = (size, Vec::new());
            while rest > 1 {
                let next = parts.pop()?;
                if rest.is_multiple_of(next.size) {
                    rest /= next.size;
                    dim.push(next);
                } else if next.size.is_multiple_of(rest) {
                    let inner = next.size / rest;
                    dim.push(Factor { size: rest, stride: next.stride * inner });
                    parts.push(Factor { size: inner, stride: next.stride });
                    rest = 1;
                } else {
                    return None;
                }
            }
            dims.push(merged(dim));
        }
        parts.is_empty().then_some(View { dims })
    }

    /// Dimensions in another order.
    pub(super) fn permuted(&self, order: &[usize]) -> View {
        View { dims: order.iter().map(|&at| self.dims[at].clone()).collect() }
    }

    /// As rows of the last dimension, where an example of `row` elements consists of nothing else.
    pub(super) fn rows(&self, row: usize) -> Option<Rows> {
        let (last, lead) = self.dims.split_last()?;
        let lead = merged(lead.iter().flatten().copied());
        let (count, width) = match lead.as_slice() {
            [] => (1, row),
            [one] => (one.size, one.stride),
            _ => return None,
        };
        let end = last.iter().map(|factor| (factor.size - 1) * factor.stride).sum::<usize>();
        let fits = count * width == row && width.is_multiple_of(UNIT) && end < width;
        fits.then(|| Rows { count, width, columns: last.clone() })
    }

    /// Where every element is, in row-major order of the dimensions.
    pub(super) fn places(&self) -> Vec<u32> {
        let mut places = vec![0_u32];
        for factor in self.dims.iter().flatten() {
            let step = |&at: &u32| (0..factor.size).map(move |i| at + (i * factor.stride) as u32);
            places = places.iter().flat_map(step).collect();
        }
        places
    }

    /// The stride of a dimension that has only one part; a dimension of one element may have any.
    pub(super) fn stride(&self, dim: usize) -> Option<usize> {
        match self.dims[dim].as_slice() {
            [one] => Some(one.stride),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_stored_by_square_are_seen_by_plane() {
        // [64 squares, 3 planes] in rows of 8.
        let (by_square, row) = View::canonical(&[64, 3]);
        assert_eq!(row, 64 * 8);
        let planes = by_square.permuted(&[1, 0]).reshaped(&[3, 8, 8]).unwrap();
        assert_eq!(planes.shape(), [3, 8, 8]);
        let flat = planes.reshaped(&[3 * 64]).unwrap();
        assert_eq!(flat.places()[..3], [0, 8, 16]);
        assert_eq!(flat.places()[64], 1);
        let rows = flat.rows(row).unwrap();
        assert_eq!((rows.count, rows.width, rows.columns.len()), (1, row, 2));
    }

    #[test]
    fn a_view_of_part_of_an_example_is_not_rows_of_it() {
        let (view, row) = View::canonical(&[5, 16]);
        assert_eq!(view.rows(row).unwrap().count, 5);
        assert!(view.rows(2 * row).is_none());
        assert!(view.permuted(&[1, 0]).rows(row).is_none());
    }

    #[test]
    fn padding_is_not_reshaped_away() {
        let (view, _) = View::canonical(&[4, 3]);
        assert_eq!(view.reshaped(&[2, 2, 3]).unwrap().places().len(), 12);
        assert_eq!(view.reshaped(&[12]).unwrap().places()[3], 8);
        assert!(view.reshaped(&[6, 2]).is_none());
    }
}
