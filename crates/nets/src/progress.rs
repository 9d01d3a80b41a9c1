//! A term that rewards progress in won positions, so that a player that looks one move ahead does not repeat them.
//!
//! Whoever is ahead by more than a threshold is given more for advanced pawns, kings that are close to each other, the other
//! king at the edge and fewer pieces of the other side. Its parameters start at fixed values and can be trained.

use crate::parameters::{Decay, Initial, ParameterTable};
use crate::{Layers, value_attention::SQUARES};

const INPUTS: usize = 12 * SQUARES;
const OWN_KING: usize = 5;
const OTHER_KING: usize = 11;

/// `[2, 768]`: progress of the side to move and of the other side.
const WEIGHT: &str = "progress.weight";
/// `[64, 64]`: progress of both sides by the squares of the kings.
const KINGS: &str = "progress.kings.weight";
/// `[1]`: the negated value above which a side is ahead.
const THRESHOLD: &str = "progress.threshold";

/// What a step of progress is worth in units of the value.
const STEP: f32 = 0.02;

pub(crate) fn push_parameters(table: &mut ParameterTable) {
    table.push(WEIGHT, &[2, INPUTS], Initial::Values(&SIDES), Decay::Exempt);
    table.push(KINGS, &[SQUARES, SQUARES], Initial::Values(&BETWEEN_KINGS), Decay::Exempt);
    table.push(THRESHOLD, &[1], Initial::Values(&[-0.25]), Decay::Exempt);
}

/// `value` with the term; `board` is the input in one row.
pub(crate) fn added_to<L: Layers>(
    net: &mut L,
    value: &L::Value,
    board: &L::Value,
) -> Result<L::Value, L::Error> {
    let sides = net.project(board, WEIGHT)?;
    let plane = |net: &mut L, plane: usize| net.slice(board, 1, plane * SQUARES, (plane + 1) * SQUARES);
    let (own_king, other_king) = (plane(net, OWN_KING)?, plane(net, OTHER_KING)?);
    let kings = net.project(&own_king, KINGS)?;
    let kings = net.mul(&kings, &other_king)?;
    let kings = net.sum(&kings, 1)?;
    let threshold = net.parameter(THRESHOLD)?;
    let negated = net.scale(value, -1.0)?;
    let mut sum = value.clone();
    for (side, value, sign) in [(0, value.clone(), 1.0), (1, negated, -1.0)] {
        let progress = net.slice(&sides, 1, side, side + 1)?;
        let progress = net.add(&progress, &kings)?;
        let ahead = net.add(&value, &threshold)?;
        let ahead = net.clipped_relu(&ahead)?;
        let term = net.mul(&ahead, &progress)?;
        let term = net.scale(&term, sign)?;
        sum = net.add(&sum, &term)?;
    }
    Ok(sum)
}

/// Steps from the centre, 0 to 6.
const fn from_centre(square: usize) -> f32 {
    let (rank, file) = (square / 8, square % 8);
    let ranks = if rank < 4 { 3 - rank } else { rank - 4 };
    let files = if file < 4 { 3 - file } else { file - 4 };
    (ranks + files) as f32
}

const SIDES: [f32; 2 * INPUTS] = {
    let mut weights = [0.0; 2 * INPUTS];
    let mut square = 0;
    while square < SQUARES {
        let rank = (square / 8) as f32;
        weights[square] = STEP * (rank - 1.0);
        weights[OTHER_KING * SQUARES + square] = STEP * from_centre(square);
        weights[INPUTS + 6 * SQUARES + square] = STEP * (6.0 - rank);
        weights[INPUTS + OWN_KING * SQUARES + square] = STEP * from_centre(square);
        // Pieces of the other side.
        let mut role = 0;
        while role < OWN_KING {
            weights[(6 + role) * SQUARES + square] -= STEP;
            weights[INPUTS + role * SQUARES + square] -= STEP;
            role += 1;
        }
        square += 1;
    }
    weights
};

const BETWEEN_KINGS: [f32; SQUARES * SQUARES] = {
    let mut weights = [0.0; SQUARES * SQUARES];
    let mut pair = 0;
    while pair < SQUARES * SQUARES {
        let (a, b) = (pair / SQUARES, pair % SQUARES);
        let steps = (a / 8).abs_diff(b / 8) + (a % 8).abs_diff(b % 8);
        weights[pair] = -STEP * steps as f32;
        pair += 1;
    }
    weights
};

#[cfg(test)]
mod tests {
    use super::*;

    const E1: usize = 4;
    const E4: usize = 28;
    const A8: usize = 56;

    #[test]
    fn progress_is_advanced_pawns_cornered_kings_and_fewer_pieces() {
        let of =
            |side: usize, plane: usize, square: usize| SIDES[side * INPUTS + plane * SQUARES + square] / STEP;
        assert_eq!(of(0, 0, E4), 2.0, "own pawn");
        assert_eq!(of(1, 6, E4), 3.0, "the other side's pawn, seen from its side");
        assert_eq!((of(0, OTHER_KING, A8), of(0, OTHER_KING, E4)), (6.0, 0.0));
        assert_eq!((of(0, 10, E4), of(1, 4, E4)), (-1.0, -1.0), "a queen of the side that is behind");
        assert_eq!((of(0, OWN_KING, A8), of(0, 4, E4)), (0.0, 0.0));
        assert_eq!(BETWEEN_KINGS[E1 * SQUARES + A8] / STEP, -11.0);
    }
}
