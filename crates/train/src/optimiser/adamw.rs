use rayon::prelude::*;

use crate::kernels::rows::{CHUNK, simd};
use crate::{Decay, Parameter, StepHyper, TrainerState};

/// The step of one parameter, by the gradient times `shrink`; the state's count of steps includes this one.
pub(super) fn step(
    entry: &Parameter,
    state: &mut TrainerState,
    gradient: &[f32],
    shrink: f32,
    hyper: &StepHyper,
) {
    let &StepHyper { lr, beta1, beta2, eps, weight_decay, clip: _, ema_decay } = hyper;
    let unbias = |beta: f32| (1.0 - f64::from(beta).powf(state.step as f64)) as f32;
    let (unbias1, unbias2) = (unbias(beta1), unbias(beta2));
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

#[cfg(test)]
mod tests {
    use super::super::{HYPER, Optimiser, norm};
    use super::*;
    use crate::{Initial, ParameterTable};

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
        Optimiser::Adamw.step(&table, &mut state, &gradient, norm(&gradient), &HYPER);
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
        Optimiser::Adamw.step(&table, &mut clipped, &gradient, norm(&gradient), &hyper);
        gradient.iter_mut().for_each(|g| *g /= 5.0);
        Optimiser::Adamw.step(&table, &mut scaled, &gradient, norm(&gradient), &HYPER);
        assert!((clipped.m[0] - scaled.m[0]).abs() < 1e-7 && (clipped.v[64] - scaled.v[64]).abs() < 1e-7);
    }
}
