//! Optimisers: AdamW, and Muon for the matrices of a network's body.

mod adamw;
pub(crate) mod muon;

use rayon::prelude::*;

use crate::kernels::rows::{CHUNK, simd};
use crate::{OptimiserConfig, OptimiserKind, ParameterTable, StepHyper, TrainerState};

/// What moves the weights, with what stays the same over a run; the rest is in [`StepHyper`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Optimiser {
    /// AdamW for every parameter.
    Adamw,
    /// Muon for the matrices of the body, AdamW for all else.
    Muon {
        /// Decay of the momentum.
        momentum: f32,
    },
}

impl Optimiser {
    /// As a configuration says it.
    pub(crate) fn of(config: &OptimiserConfig) -> Self {
        match config.kind {
            OptimiserKind::Adamw => Optimiser::Adamw,
            OptimiserKind::Muon => Optimiser::Muon { momentum: config.momentum },
        }
    }

    /// One step with averaging, as [`StepHyper`] states it.
    pub(crate) fn step(
        self,
        table: &ParameterTable,
        state: &mut TrainerState,
        gradient: &[f32],
        gradient_norm: f32,
        hyper: &StepHyper,
    ) {
        state.step += 1;
        let clip = hyper.clip;
        let shrink = if clip > 0.0 && gradient_norm > clip { clip / gradient_norm } else { 1.0 };
        for entry in table.entries() {
            match self {
                Optimiser::Muon { .. } if entry.matrices > 0 => {}
                Optimiser::Adamw | Optimiser::Muon { .. } => {
                    adamw::step(entry, state, gradient, shrink, hyper);
                }
            }
        }
        if let Optimiser::Muon { momentum } = self {
            muon::step(table, state, gradient, shrink, momentum, hyper);
        }
    }
}

/// The norm of a whole gradient, summed in 64 bits so that its size does not depend on the number of parameters.
pub(crate) fn norm(gradient: &[f32]) -> f32 {
    let square = |chunk: &[f32]| {
        let mut lanes = [0.0_f64; 8];
        simd(|| {
            for part in chunk.chunks(lanes.len()) {
                lanes.iter_mut().zip(part).for_each(|(lane, &g)| *lane += f64::from(g) * f64::from(g));
            }
        });
        lanes.iter().sum::<f64>()
    };
    // Chunks are added in order, whichever thread had them.
    let squares: Vec<f64> = gradient.par_chunks(CHUNK).map(square).collect();
    squares.iter().sum::<f64>().sqrt() as f32
}

/// Settings of the optimisers' own tests.
#[cfg(test)]
const HYPER: StepHyper =
    StepHyper { lr: 0.1, beta1: 0.9, beta2: 0.99, eps: 1e-8, weight_decay: 0.5, clip: 0.0, ema_decay: 0.5 };
