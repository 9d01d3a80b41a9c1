//! A row of weights in 8 bits, rounded so that the error of its product is small rather than that of each weight.
//!
//! With inputs `x` of second moments `H = R R^T`, `R` upper triangular, an error `e` of the weights costs
//! `e^T H e = |R^T e|^2`. Element i of `R^T e` depends on the errors up to weight i alone: weights are rounded one after another,
//! each to what makes its element smallest. Where inputs do not depend on each other this is the nearest number.

/// What is added to each moment, as a share of their mean: a sample says little about directions it hardly has.
const DAMPING: f64 = 0.002;
/// The scales tried take this much less of the row's largest number to 127, and so often.
const CLIPPING: f32 = 0.03;
const TRIES: usize = 9;

/// A rounded row.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct RoundedRow {
    /// From -127 to 127.
    pub(in super::super) weights: Vec<i8>,
    /// What one is worth.
    pub(in super::super) scale: f32,
    /// The mean square of the product's error.
    pub(super) error: f32,
}

/// What the errors of some weights do to the others.
pub(super) struct Feedback {
    width: usize,
    /// The rows of R, of full length.
    factor: Vec<f32>,
}

impl Feedback {
    /// For inputs with these second moments, `width` times `width` of them.
    pub(super) fn new(moments: &[f64], width: usize) -> Self {
        let at = |i: usize, j: usize| i * width + j;
        let mean = (0..width).map(|i| moments[at(i, i)]).sum::<f64>() / width as f64;
        let damping = if mean > 0.0 { DAMPING * mean } else { 1.0 };
        let mut r = vec![0.0_f64; width * width];
        for i in (0..width).rev() {
            let later = |r: &[f64], j: usize| -> f64 {
                r[at(i, i)..at(i, width)]
                    .iter()
                    .zip(&r[at(j, i)..at(j, width)])
                    .skip(1)
                    .map(|(a, b)| a * b)
                    .sum()
            };
            let rest = moments[at(i, i)] + damping - later(&r, i);
            // Damping keeps it above zero but for the rounding of sums.
            let diagonal = rest.max(damping * 1e-3).sqrt();
            for j in 0..i {
                r[at(j, i)] = (moments[at(j, i)] - later(&r, j)) / diagonal;
            }
            r[at(i, i)] = diagonal;
        }
        Feedback { width, factor: r.into_iter().map(|v| v as f32).collect() }
    }

    /// The row with the scale, of a few, that costs least.
    pub(super) fn round(&self, row: &[f32]) -> RoundedRow {
        let largest = row.iter().fold(0.0_f32, |largest, v| largest.max(v.abs()));
        let tries = (0..TRIES).map(|i| scale_of(largest * (1.0 - CLIPPING * i as f32)));
        let mut best: Option<RoundedRow> = None;
        for scale in tries {
            let rounded = self.round_to(row, scale);
            if best.as_ref().is_none_or(|best| rounded.error < best.error) {
                best = Some(rounded);
            }
        }
        best.expect("there are tries")
    }

    fn round_to(&self, row: &[f32], scale: f32) -> RoundedRow {
        // Of each element of R^T e, what the weights so far make of it.
        let mut carried = vec![0.0_f32; self.width];
        let mut weights = Vec::with_capacity(self.width);
        let mut error = 0.0;
        for (i, &weight) in row.iter().enumerate() {
            let factor = &self.factor[i * self.width..][i..self.width];
            let wanted = weight - carried[i] / factor[0];
            let rounded = (wanted / scale).round().clamp(-127.0, 127.0);
            let off = rounded * scale - weight;
            for (carried, factor) in carried[i..].iter_mut().zip(factor) {
                *carried += factor * off;
            }
            error += carried[i] * carried[i];
            weights.push(rounded as i8);
        }
        RoundedRow { weights, scale, error }
    }
}

/// The nearest bytes for a scale that takes the row's largest number to 127.
pub(in super::super) fn nearest(row: &[f32]) -> RoundedRow {
    let scale = scale_of(row.iter().fold(0.0_f32, |largest, v| largest.max(v.abs())));
    let weights = row.iter().map(|v| (v / scale).round().clamp(-127.0, 127.0) as i8).collect();
    RoundedRow { weights, scale, error: f32::NAN }
}

/// The scale that takes `largest` to 127; rows of nothing but zeros, or as good as that, have any.
fn scale_of(largest: f32) -> f32 {
    if largest / 127.0 > f32::MIN_POSITIVE { largest / 127.0 } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDTH: usize = 24;

    /// Inputs that are sums of a few common causes and a little of their own, row by row.
    fn inputs(causes: usize) -> Vec<[f32; WIDTH]> {
        let mut random = fastrand::Rng::with_seed(5);
        let mut number = move || random.f32() - 0.5;
        let mix: Vec<[f32; WIDTH]> = (0..causes).map(|_| std::array::from_fn(|_| number())).collect();
        let mut row = || {
            let causes: Vec<f32> = mix.iter().map(|_| number()).collect();
            let own = if mix.is_empty() { 1.0 } else { 0.05 };
            std::array::from_fn(|i| {
                let common: f32 = mix.iter().zip(&causes).map(|(mix, cause)| mix[i] * cause).sum();
                common + own * number()
            })
        };
        (0..2000).map(|_| row()).collect()
    }

    fn moments(inputs: &[[f32; WIDTH]]) -> Vec<f64> {
        let mean = |i: usize, j: usize| {
            inputs.iter().map(|x| f64::from(x[i]) * f64::from(x[j])).sum::<f64>() / inputs.len() as f64
        };
        (0..WIDTH * WIDTH).map(|at| mean(at / WIDTH, at % WIDTH)).collect()
    }

    /// The mean square of what rounding changes in the product with `inputs`.
    fn cost(row: &[f32], rounded: &RoundedRow, inputs: &[[f32; WIDTH]]) -> f32 {
        let off: Vec<f32> =
            row.iter().zip(&rounded.weights).map(|(w, q)| f32::from(*q) * rounded.scale - w).collect();
        let square = |x: &[f32; WIDTH]| x.iter().zip(&off).map(|(x, off)| x * off).sum::<f32>().powi(2);
        inputs.iter().map(square).sum::<f32>() / inputs.len() as f32
    }

    fn rows() -> Vec<Vec<f32>> {
        let mut random = fastrand::Rng::with_seed(6);
        (0..20).map(|_| (0..WIDTH).map(|_| random.f32() - 0.5).collect()).collect()
    }

    #[test]
    fn errors_cancel_for_correlated_inputs() {
        let inputs = inputs(4);
        let feedback = Feedback::new(&moments(&inputs), WIDTH);
        let (mut near, mut fed) = (0.0, 0.0);
        for row in rows() {
            let rounded = feedback.round(&row);
            assert!(rounded.weights.iter().all(|weight| *weight >= -127));
            near += cost(&row, &nearest(&row), &inputs);
            fed += cost(&row, &rounded, &inputs);
            // What it believes it costs is what it costs, but for damping.
            assert!(cost(&row, &rounded, &inputs) <= rounded.error * 1.001, "{rounded:?}");
        }
        assert!(fed < 0.5 * near, "{fed} instead of {near}");
    }

    #[test]
    fn uncorrelated_inputs_round_to_nearest() {
        let mut alone = vec![0.0; WIDTH * WIDTH];
        (0..WIDTH).for_each(|i| alone[i * WIDTH + i] = 1.0);
        let feedback = Feedback::new(&alone, WIDTH);
        for row in rows() {
            let near = nearest(&row);
            assert_eq!(feedback.round_to(&row, near.scale).weights, near.weights);
            let best = feedback.round(&row);
            assert!(best.error <= feedback.round_to(&row, near.scale).error);
        }
    }

    #[test]
    fn nothing_is_rounded_to_nothing() {
        let feedback = Feedback::new(&[0.0; WIDTH * WIDTH], WIDTH);
        let rounded = feedback.round(&[0.0; WIDTH]);
        assert_eq!((rounded.weights, rounded.scale), (vec![0; WIDTH], 1.0));
    }
}
