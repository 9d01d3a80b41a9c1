//! A bias for every pair of squares from a small table of distances.

use crate::Layers;

const SIDE: usize = 8;
/// Squares of the board.
pub const SQUARES: usize = SIDE * SIDE;
/// Distances run from -7 to 7; one more row and column, which nothing reads, make the table unroll.
pub const TABLE: usize = 2 * SIDE;

/// [`Layers::relative_bias`] from concatenation and slices alone: a table of indices would be 4096 numbers of an exported file
/// that parameter counters count.
pub fn in_parts<L: Layers>(net: &mut L, name: &str) -> Result<L::Value, L::Error> {
    let table = net.parameter(name)?;
    let ranks = unroll(net, &table, &[TABLE])?;
    let ranks = net.permute(&ranks, &[0, 3, 1, 2])?;
    // Heads, file i, file j, rank i, rank j.
    let both = unroll(net, &ranks, &[SIDE, SIDE])?;
    let squares = net.permute(&both, &[0, 3, 1, 4, 2])?;
    net.reshape(&squares, &[SIDE * SIDE, SIDE * SIDE])
}

/// The table element of each head and pair of squares: what [`in_parts`] computes, as a table of indices.
pub fn indices(heads: usize) -> impl Iterator<Item = usize> {
    let squares = |head| (0..SQUARES).flat_map(move |i| (0..SQUARES).map(move |j| (head, i, j)));
    (0..heads).flat_map(squares).map(|(head, i, j)| {
        let (row, column) = (SIDE - 1 + j / SIDE - i / SIDE, SIDE - 1 + j % SIDE - i % SIDE);
        (head * TABLE + row) * TABLE + column
    })
}

/// `[heads, TABLE, rest]` to `[heads, SIDE, SIDE, rest]`, with element `7 + j - i` at `i, j`.
///
/// The table is repeated and cut into rows one shorter than a copy: each row begins one element further back in its copy.
fn unroll<L: Layers>(net: &mut L, x: &L::Value, rest: &[usize]) -> Result<L::Value, L::Error> {
    let row = TABLE - 1;
    let copies = net.concat(&[x; SIDE], 1)?;
    let cut = net.slice(&copies, 1, 0, SIDE * row)?;
    let shape: Vec<usize> = [SIDE, row].into_iter().chain(rest.iter().copied()).collect();
    let rows = net.reshape(&cut, &shape)?;
    net.slice(&rows, 2, SIDE - 1, row)
}
