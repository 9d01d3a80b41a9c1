//! Muon: momentum made orthogonal.
//!
//! A gradient's matrix is mostly a few directions. Its momentum is replaced by a matrix with the same directions, each of
//! about the same length, so that rare ones are learned too; what this costs depends on the weights alone, not on the batch.

use rayon::prelude::*;

use crate::kernels::product::{Into, Matrix, product};
use crate::{Parameter, ParameterTable, StepHyper, TrainerState};

/// How often [`COEFFICIENTS`] are applied.
pub(crate) const ROUNDS: usize = 5;

/// Of the odd polynomial `a x + b x^3 + c x^5` of singular values. Repeated, it brings all from about 0.002 to 1 near 1,
/// between 0.6 and 1.3: as steep at zero as it may be, rather than exact at one.
pub(crate) const COEFFICIENTS: [f32; 3] = [3.4445, -4.7750, 2.0315];

/// Keeps the division finite where there is no gradient.
pub(crate) const EPS: f32 = 1e-7;

/// What an orthogonal matrix is multiplied with so that its elements are as large as those of a step of AdamW usually are,
/// and one learning rate and weight decay serve both.
pub(crate) fn factor(rows: usize, columns: usize) -> f32 {
    0.2 * (rows.max(columns) as f32).sqrt()
}

/// The sizes of each of an entry's matrices.
pub(crate) fn sizes(entry: &Parameter) -> (usize, usize) {
    let rows = entry.shape.first().copied().unwrap_or(0) / entry.matrices.max(1);
    (rows, entry.shape.iter().skip(1).product())
}

/// The step of all matrices of the body, by the gradient times `shrink`.
pub(super) fn step(
    table: &ParameterTable,
    state: &mut TrainerState,
    gradient: &[f32],
    shrink: f32,
    momentum: f32,
    hyper: &StepHyper,
) {
    let &StepHyper { lr, weight_decay, ema_decay, .. } = hyper;
    let body = || table.entries().iter().filter(|entry| entry.matrices > 0);
    let mut updates: Vec<(Vec<f32>, (usize, usize))> = Vec::new();
    for entry in body() {
        let (m, g) = (entry.of_mut(&mut state.m), entry.of(gradient));
        let ahead = |(m, g): (&mut f32, &f32)| {
            let g = g * shrink;
            *m = momentum * *m + g;
            g + momentum * *m
        };
        let all: Vec<f32> = m.iter_mut().zip(g).map(ahead).collect();
        let sizes = sizes(entry);
        updates.extend(all.chunks(sizes.0 * sizes.1).map(|one| (one.to_vec(), sizes)));
    }
    updates
        .par_iter_mut()
        .for_each(|(update, (rows, columns))| *update = orthogonal(update, *rows, *columns));
    let mut updates = updates.into_iter();
    for entry in body() {
        let (w, ema) = (entry.of_mut(&mut state.weights), entry.of_mut(&mut state.ema));
        for ((update, (rows, columns)), at) in updates.by_ref().take(entry.matrices).zip(0..) {
            let own = at * rows * columns..(at + 1) * rows * columns;
            let factor = factor(rows, columns);
            for ((w, ema), o) in w[own.clone()].iter_mut().zip(&mut ema[own]).zip(&update) {
                *w -= lr * (factor * o + weight_decay * *w);
                *ema = ema_decay * *ema + (1.0 - ema_decay) * *w;
            }
        }
    }
}

/// A matrix with the singular vectors of `of [rows, columns]` and singular values near 1, by Newton and Schulz's iteration.
fn orthogonal(of: &[f32], rows: usize, columns: usize) -> Vec<f32> {
    // Products are of the size of the first side: the shorter one comes first.
    let (small, large) = (rows.min(columns), rows.max(columns));
    let scale = 1.0 / (super::norm(of) + EPS);
    let scaled: Vec<f32> = of.iter().map(|u| u * scale).collect();
    let mut x = if rows > columns { transposed(&scaled, rows, columns) } else { scaled };
    let [a, b, c] = COEFFICIENTS;
    let mut square = vec![0.0; small * small];
    for _ in 0..ROUNDS {
        let wide = Matrix::new(&x, small, large);
        product(&mut square, Into::Nothing, 1.0, wide, wide.transposed());
        let mut inner: Vec<f32> = square.iter().map(|v| b * v).collect();
        let s = Matrix::new(&square, small, small);
        product(&mut inner, Into::Sum, c, s, s);
        let mut next: Vec<f32> = x.iter().map(|v| a * v).collect();
        product(&mut next, Into::Sum, 1.0, Matrix::new(&inner, small, small), wide);
        x = next;
    }
    if rows > columns { transposed(&x, columns, rows) } else { x }
}

fn transposed(of: &[f32], rows: usize, columns: usize) -> Vec<f32> {
    (0..rows * columns).map(|at| of[at % rows * columns + at / rows]).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{HYPER, Optimiser, norm};
    use super::*;
    use crate::{Decay, Initial};

    /// The largest and smallest singular value, by repeated multiplication of `x x^T` and of what it lacks of a multiple of
    /// one.
    fn extremes(x: &[f32], rows: usize, columns: usize) -> [f64; 2] {
        let (side, flat) =
            if rows > columns { (columns, transposed(x, rows, columns)) } else { (rows, x.to_vec()) };
        let row =
            |r: usize| flat[r * (flat.len() / side)..][..flat.len() / side].iter().map(|&v| f64::from(v));
        let square: Vec<f64> =
            (0..side * side).map(|at| row(at / side).zip(row(at % side)).map(|(a, b)| a * b).sum()).collect();
        let largest = |square: &[f64]| {
            let mut random = fastrand::Rng::with_seed(3);
            let mut v: Vec<f64> = (0..side).map(|_| random.f64() - 0.5).collect();
            let mut length = 0.0;
            for _ in 0..3000 {
                let next: Vec<f64> =
                    square.chunks(side).map(|r| r.iter().zip(&v).map(|(a, b)| a * b).sum()).collect();
                length = next.iter().map(|v| v * v).sum::<f64>().sqrt();
                v = next.into_iter().map(|v| v / length).collect();
            }
            length
        };
        let most = largest(&square);
        let rest: Vec<f64> = square
            .iter()
            .enumerate()
            .map(|(at, v)| if at / side == at % side { most - v } else { -v })
            .collect();
        [most.sqrt(), (most - largest(&rest)).max(0.0).sqrt()]
    }

    fn normal(count: usize, seed: u64) -> Vec<f32> {
        let mut table = ParameterTable::new();
        table.push("x", &[count], Initial::Normal(1.0), Decay::Exempt);
        table.initial(seed)[..count].to_vec()
    }

    #[test]
    fn singular_values_come_near_one() {
        for (rows, columns) in [(16, 16), (12, 40), (40, 12), (2, 8)] {
            for steepness in [0.0, 2.0] {
                // Columns, or rows where they are fewer, from 1 down to a hundredth.
                let mut x = normal(rows * columns, 5);
                let small = rows.min(columns);
                for (at, v) in x.iter_mut().enumerate() {
                    let along = if rows <= columns { at / columns } else { at % columns };
                    *v *= 10_f32.powf(-steepness * along as f32 / small as f32);
                }
                let [most, least] = extremes(&orthogonal(&x, rows, columns), rows, columns);
                assert!(most < 1.3 && least > 0.6, "[{rows}, {columns}], {steepness}: {least} to {most}");
            }
        }
        assert_eq!(orthogonal(&[0.0; 12], 3, 4), [0.0; 12]);
    }

    fn state() -> (ParameterTable, TrainerState) {
        let mut table = ParameterTable::new();
        table.push("embedding", &[2, 2], Initial::Ones, Decay::Decayed);
        table.push_body("qkv", [6, 2], Initial::Normal(1.0), 3);
        let weights = table.initial(1);
        (table, TrainerState::fresh(weights))
    }

    #[test]
    fn each_matrix_moves_by_an_orthogonal_one_of_its_own() {
        let (table, mut state) = state();
        let before = state.clone();
        let mut gradient = vec![0.0; table.arena_len()];
        let entry = &table.entries()[1];
        // The second matrix has no gradient; the third has a thousand times the first one's.
        let g = [[1.0, 0.0], [0.0, 2.0], [0.0, 0.0], [0.0, 0.0], [1000.0, 0.0], [0.0, 2000.0]];
        entry.of_mut(&mut gradient).copy_from_slice(g.as_flattened());
        gradient[0] = 3.0;
        let muon = Optimiser::Muon { momentum: 0.9 };
        muon.step(&table, &mut state, &gradient, norm(&gradient), &HYPER);
        let (w, old) = (entry.of(&state.weights), entry.of(&before.weights));
        // What the step added to the decay, in units of its factor.
        let moved: Vec<f32> =
            w.iter().zip(old).map(|(w, old)| (old * (1.0 - 0.1 * 0.5) - w) / (0.1 * factor(2, 2))).collect();
        assert!(moved[..4].iter().zip(&moved[8..]).all(|(a, b)| (a - b).abs() < 1e-3), "{moved:?}");
        assert!(moved[4..8].iter().all(|v| v.abs() < 1e-5), "{moved:?}");
        let [most, least] = extremes(&moved[..4], 2, 2);
        assert!(most < 1.3 && least > 0.6);
        assert!(entry.of(&state.m).iter().zip(entry.of(&gradient)).all(|(m, g)| m == g));
        assert!(entry.of(&state.v).iter().all(|&v| v == 0.0));
        assert!((entry.of(&state.ema)[0] - (old[0] + w[0]) / 2.0).abs() < 1e-6);
        // All else is AdamW's.
        let (_, mut other) = self::state();
        Optimiser::Adamw.step(&table, &mut other, &gradient, norm(&gradient), &HYPER);
        assert_eq!(table.entries()[0].of(&state.weights), table.entries()[0].of(&other.weights));
        assert!(state.v[0] > 0.0);
    }

    #[test]
    fn momentum_adds_up_and_looks_ahead() {
        let (table, mut state) = state();
        let mut gradient = vec![0.0; table.arena_len()];
        table.entries()[1].of_mut(&mut gradient).fill(1.0);
        let hyper = StepHyper { clip: 1.0, ..HYPER };
        let g = 1.0 / norm(&gradient);
        for expected in [g, 1.9 * g, (1.0 + 0.9 * 1.9) * g] {
            Optimiser::Muon { momentum: 0.9 }.step(&table, &mut state, &gradient, norm(&gradient), &hyper);
            assert!(table.entries()[1].of(&state.m).iter().all(|m| (m - expected).abs() < 1e-6));
        }
    }
}
