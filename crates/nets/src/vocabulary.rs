//! Heads over some of the moves of `canonical-1968`: a vocabulary counted from data.
//!
//! The head has one logit for each of its moves. The network's output is always all 1968, those the vocabulary lacks so low that
//! they are never played; so players, losses and graphs know one vocabulary. The moves are an index table, [`TENSOR`], that is
//! stored with the weights.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use tabia_encoding::{CANONICAL_1968_ROWS, MoveSubset, PolicyIndex};

use crate::Layers;
use crate::detect::{DetectError, NamedTensors, contains};
use crate::parameters::ParameterTable;

/// The index table of a file that has the moves of its head, as indices of `canonical-1968`.
pub const TENSOR: &str = "vocabulary";

/// How many moves `canonical-1968` has.
pub(crate) const CANONICAL_MOVES: usize = CANONICAL_1968_ROWS.len();

/// The logit of a move that the head does not have: its probability is zero.
const UNKNOWN_MOVE: i64 = -10_000;

/// Adds the index table of `subset`.
pub(crate) fn add(table: &mut ParameterTable, subset: &MoveSubset) {
    table.set_buffer(TENSOR, subset.indices().map(|index| i64::from(index.0)).collect());
}

/// The logits of all moves of `canonical-1968` from those of the head, if the network has an index table of moves.
pub(crate) fn widen<L: Layers>(net: &mut L, logits: L::Value) -> Result<L::Value, L::Error> {
    let Some(moves) = net.table().buffer(TENSOR).map(<[i64]>::to_vec) else { return Ok(logits) };
    // A constant column after the head's: row 0 of a table of one.
    let first = net.slice(&logits, 1, 0, 1)?;
    let zero = net.scale(&first, 0.0)?;
    let unknown = net.look_up(&zero, &[UNKNOWN_MOVE], 1)?;
    let with_unknown = net.concat(&[&logits, &unknown], 1)?;
    net.select(&with_unknown, 1, &places(&moves))
}

/// Where each move of `canonical-1968` is among the logits of a head with the moves `moves`; behind them if it is not there.
pub fn places(moves: &[i64]) -> Vec<u32> {
    let mut places = vec![moves.len() as u32; CANONICAL_MOVES];
    for (at, index) in moves.iter().enumerate() {
        if let Some(place) = usize::try_from(*index).ok().and_then(|index| places.get_mut(index)) {
            *place = at as u32;
        }
    }
    places
}

/// The vocabulary of a file for a head of `moves` logits, and its index table.
///
/// # Errors
/// If the table has another length, or is not a list of different moves.
pub(crate) fn detect(
    tensors: &dyn NamedTensors,
    moves: usize,
) -> Result<Option<(MoveSubset, Vec<i64>)>, DetectError> {
    if !contains(tensors, TENSOR) {
        return Ok(None);
    }
    let values = tensors.values(TENSOR).unwrap_or_default();
    if values.len() != moves || moves > CANONICAL_MOVES {
        let message = format!("has {} moves, but the head has {moves} logits", values.len());
        return Err(DetectError::shape(TENSOR, message));
    }
    let whole = |v: &f32| v.fract() == 0.0 && (0.0..CANONICAL_MOVES as f32).contains(v);
    if let Some(at) = values.iter().position(|v| !whole(v)) {
        let message = format!("entry {at} is not a whole number below {CANONICAL_MOVES}");
        return Err(DetectError::Index { tensor: TENSOR.to_owned(), message });
    }
    let indices: Vec<PolicyIndex> = values.iter().map(|&v| PolicyIndex(v as u16)).collect();
    let subset = MoveSubset::of(&indices)
        .map_err(|error| DetectError::Index { tensor: TENSOR.to_owned(), message: error.to_string() })?;
    Ok(Some((subset, indices.iter().map(|index| i64::from(index.0)).collect())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_without_a_logit_come_last() {
        let places = places(&[3, 0]);
        assert_eq!(places[..5], [1, 2, 2, 0, 2]);
        assert_eq!(places.len(), CANONICAL_MOVES);
    }
}
