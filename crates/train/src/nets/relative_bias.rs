//! A bias for every pair of squares from a small table of distances.

use candle_core::Result;

use super::layers::Layers;

const SIDE: usize = 8;
pub(crate) const SQUARES: usize = SIDE * SIDE;
/// Distances run from -7 to 7; one more row and column, which nothing reads, make the table unroll.
pub(super) const TABLE: usize = 2 * SIDE;

/// [`Layers::relative_bias`] by repeating and cutting alone: a table of indices would be 4096 numbers of an exported file,
/// and those who count parameters count it too.
pub(super) fn in_parts<L: Layers>(net: &mut L, name: &str) -> Result<L::Value> {
    let table = net.parameter(name)?;
    let ranks = unroll(net, &table, &[TABLE])?;
    let ranks = net.permute(&ranks, &[0, 3, 1, 2])?;
    // Heads, file i, file j, rank i, rank j.
    let both = unroll(net, &ranks, &[SIDE, SIDE])?;
    let squares = net.permute(&both, &[0, 3, 1, 4, 2])?;
    net.reshape(&squares, &[SIDE * SIDE, SIDE * SIDE])
}

/// Which element of the table each pair of squares of each head has: what [`in_parts`] does, as a table of indices.
pub(crate) fn indices(heads: usize) -> impl Iterator<Item = usize> {
    let squares = |head| (0..SQUARES).flat_map(move |i| (0..SQUARES).map(move |j| (head, i, j)));
    (0..heads).flat_map(squares).map(|(head, i, j)| {
        let (row, column) = (SIDE - 1 + j / SIDE - i / SIDE, SIDE - 1 + j % SIDE - i % SIDE);
        (head * TABLE + row) * TABLE + column
    })
}

/// `[heads, TABLE, rest]` to `[heads, SIDE, SIDE, rest]`, with element `7 + j - i` at `i, j`.
///
/// Copies after each other, read in rows one shorter than a copy: each row begins one element further back in its copy.
fn unroll<L: Layers>(net: &mut L, x: &L::Value, rest: &[usize]) -> Result<L::Value> {
    let row = TABLE - 1;
    let copies = net.concat(&[x; SIDE], 1)?;
    let cut = net.slice(&copies, 1, 0, SIDE * row)?;
    let shape: Vec<usize> = [SIDE, row].into_iter().chain(rest.iter().copied()).collect();
    let rows = net.reshape(&cut, &shape)?;
    net.slice(&rows, 2, SIDE - 1, row)
}

#[cfg(test)]
mod tests {
    use tabia_encoding::{Batch, encoding};

    use super::*;
    use crate::nets::tensors::{Kernels, Tensors};
    use crate::parameters::{Decay, Initial, ParameterTable};

    #[test]
    fn it_depends_on_the_distance_alone() {
        let mut table = ParameterTable::new();
        table.push("bias", &[2, TABLE, TABLE], Initial::Zeros, Decay::Exempt);
        let arena: Vec<f32> = (0..table.arena_len()).map(|at| at as f32).collect();
        let batch = Batch::new(encoding("challenge-768").unwrap());
        let mut net = Tensors::constant(&table, &arena, &batch, Kernels::Plain).unwrap();
        let bias: Vec<Vec<Vec<f32>>> =
            in_parts(&mut net, "bias").unwrap().dense().unwrap().to_vec3().unwrap();
        let flat: Vec<usize> = bias.iter().flatten().flatten().map(|&element| element as usize).collect();
        assert_eq!(flat, indices(2).collect::<Vec<_>>());
        for (head, bias) in bias.iter().enumerate() {
            for (i, j) in (0..64).flat_map(|i| (0..64).map(move |j| (i, j))) {
                let (row, column) = (7 + j / 8 - i / 8, 7 + j % 8 - i % 8);
                let wanted = (head * TABLE * TABLE + row * TABLE + column) as f32;
                assert_eq!(bias[i][j], wanted, "{head} {i} {j}");
            }
        }
    }
}
