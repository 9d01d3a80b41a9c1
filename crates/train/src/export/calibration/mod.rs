//! Calibrated rounding to 8 bits: training positions decide which way weights are rounded.
//!
//! Three things, each exact but for the last: [`observe`] looks at the inputs of every product, [`balance`] moves scale out of
//! inputs that would be rounded coarsely into the weights behind them, and [`feedback`] rounds a row of weights so that the
//! errors cancel in the product.

mod balance;
mod feedback;
mod observe;

use std::collections::BTreeMap;

pub(super) use self::feedback::nearest;
use self::feedback::{Feedback, RoundedRow};
use self::observe::Observed;
pub(super) use self::observe::{POSITIONS, observe};
use crate::NetConfig;

/// Weights in 8 bits with a scale for each row.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RoundedMatrix {
    /// Row by row, from -127 to 127.
    pub(super) weights: Vec<i8>,
    /// What one of a row is worth.
    pub(super) scales: Vec<f32>,
}

impl RoundedMatrix {
    /// Rounds each row of `width` numbers.
    pub(super) fn of(numbers: &[f32], width: usize, round: impl Fn(&[f32]) -> RoundedRow) -> Self {
        let mut matrix = RoundedMatrix::default();
        for row in numbers.chunks(width) {
            let RoundedRow { weights, scale, .. } = round(row);
            matrix.weights.extend(weights);
            matrix.scales.push(scale);
        }
        matrix
    }
}

/// A network made ready to be written in 8 bits.
pub(super) struct Calibrated {
    /// Weights that compute the same network in floats.
    pub(super) arena: Vec<f32>,
    /// The rounded form of those whose inputs were observed.
    pub(super) matrices: BTreeMap<String, RoundedMatrix>,
}

/// Makes the weights of `arena` ready; `observed` are the inputs of its products.
pub(super) fn calibrate(net: &NetConfig, arena: &[f32], mut observed: Observed) -> Calibrated {
    let mut arena = arena.to_vec();
    balance::balance(net, &mut arena, &mut observed);
    let mut matrices = BTreeMap::new();
    for entry in net.table().entries() {
        let Some(inputs) = observed.get(&entry.name) else { continue };
        let feedback = Feedback::new(&inputs.moments, inputs.width);
        let matrix = RoundedMatrix::of(entry.of(&arena), inputs.width, |row| feedback.round(row));
        matrices.insert(entry.name.clone(), matrix);
    }
    Calibrated { arena, matrices }
}
