use rayon::prelude::*;

use crate::kernels::rows::{CHUNK, simd};
use crate::{Decay, ParameterTable, StepHyper, TrainerState};

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

/// One step of AdamW with averaging, as [`StepHyper`] states it.
pub(crate) fn adamw(
    table: &ParameterTable,
    state: &mut TrainerState,
    gradient: &[f32],
    gradient_norm: f32,
    hyper: &StepHyper,
) {
    let &StepHyper { lr, beta1, beta2, eps, weight_decay, clip, ema_decay } = hyper;
    state.step += 1;
    let shrink = if clip > 0.0 && gradient_norm > clip { clip / gradient_norm } else { 1.0 };
    let unbias = |beta: f32| (1.0 - f64::from(beta).powf(state.step as f64)) as f32;
    let (unbias1, unbias2) = (unbias(beta1), unbias(beta2));
    for entry in table.entries() {
        let decay = match entry.decay {
            Decay::Decayed => weight_decay,
            Decay::Exempt => 0.0,
        };
        let (w, m, v) =
            (entry.of_mut(&mut state.weights), entry.of_mut(&mut state.m), entry.of_mut(&mut state.v));
        let (ema, g) = (entry.of_mut(&mut state.ema), entry.of(gradient));
        let chunks = w
            .par_chunks_mut(CHUNK)
            .zip(m.par_chunks_mut(CHUNK))
            .zip(v.par_chunks_mut(CHUNK))
            .zip(ema.par_chunks_mut(CHUNK))
            .zip(g.par_chunks(CHUNK));
        chunks.for_each(|((((w, m), v), ema), g)| {
            simd(|| {
                for ((((w, m), v), ema), g) in w.iter_mut().zip(m).zip(v).zip(ema).zip(g) {
                    let g = g * shrink;
                    *m = beta1 * *m + (1.0 - beta1) * g;
                    *v = beta2 * *v + (1.0 - beta2) * g * g;
                    let step = (*m / unbias1) / ((*v / unbias2).sqrt() + eps);
                    *w -= lr * (step + decay * *w);
                    *ema = ema_decay * *ema + (1.0 - ema_decay) * *w;
                }
            });
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Initial;

    const HYPER: StepHyper = StepHyper {
        lr: 0.1,
        beta1: 0.9,
        beta2: 0.99,
        eps: 1e-8,
        weight_decay: 0.5,
        clip: 0.0,
        ema_decay: 0.5,
    };

    fn state() -> (ParameterTable, TrainerState) {
        let mut table = ParameterTable::new();
        table.push("w", &[1], Initial::Ones, Decay::Decayed);
        table.push("b", &[1], Initial::Ones, Decay::Exempt);
        let weights = table.initial(1);
        (table, TrainerState::fresh(weights))
    }

    #[test]
    fn the_first_step_is_the_learning_rate_and_only_matrices_decay() {
        let (table, mut state) = state();
        let mut gradient = vec![0.0; table.arena_len()];
        gradient[0] = 3.0;
        gradient[64] = -3.0;
        adamw(&table, &mut state, &gradient, norm(&gradient), &HYPER);
        assert!((state.weights[0] - (1.0 - 0.1 - 0.1 * 0.5)).abs() < 1e-6);
        assert!((state.weights[64] - 1.1).abs() < 1e-6);
        assert!((state.ema[64] - 1.05).abs() < 1e-6);
        assert_eq!(state.step, 1);
    }

    #[test]
    fn clipping_scales_the_whole_gradient() {
        let (table, mut clipped) = state();
        let (_, mut scaled) = state();
        let mut gradient = vec![0.0; table.arena_len()];
        (gradient[0], gradient[64]) = (3.0, 4.0);
        let hyper = StepHyper { clip: 1.0, ..HYPER };
        adamw(&table, &mut clipped, &gradient, norm(&gradient), &hyper);
        gradient.iter_mut().for_each(|g| *g /= 5.0);
        adamw(&table, &mut scaled, &gradient, norm(&gradient), &HYPER);
        assert!((clipped.m[0] - scaled.m[0]).abs() < 1e-7 && (clipped.v[64] - scaled.v[64]).abs() < 1e-7);
    }
}
