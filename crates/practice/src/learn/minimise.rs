//! Minimising smooth convex functions (L-BFGS).

use std::collections::VecDeque;

/// Number of earlier steps that approximate the second derivatives.
const STEPS: usize = 8;

/// A function of a point that writes its gradient and returns its value.
pub(super) trait Objective {
    fn value(&self, at: &[f64], gradient: &mut [f64]) -> f64;
}

/// The minimum near `start`, within so many iterations. The last step improves the value by less than a `tolerance` part.
pub(super) fn minimise(
    objective: &impl Objective,
    start: &[f64],
    iterations: usize,
    tolerance: f64,
) -> Vec<f64> {
    let mut at = start.to_vec();
    let mut gradient = vec![0.0; at.len()];
    let mut value = objective.value(&at, &mut gradient);
    let mut past: VecDeque<(Vec<f64>, Vec<f64>, f64)> = VecDeque::new();
    for _ in 0..iterations {
        let mut direction = descent(&gradient, &past);
        let mut slope = dot(&direction, &gradient);
        if slope >= 0.0 {
            past.clear();
            direction = gradient.iter().map(|part| -part).collect();
            slope = -dot(&gradient, &gradient);
        }
        if slope == 0.0 {
            break;
        }
        // Without a past, a step of length one is as good as any.
        let mut length = if past.is_empty() { 1.0 / (-slope).sqrt().max(1.0) } else { 1.0 };
        let mut new_gradient = vec![0.0; at.len()];
        let (next, new_value) = loop {
            let next: Vec<f64> = at.iter().zip(&direction).map(|(at, step)| at + length * step).collect();
            let new_value = objective.value(&next, &mut new_gradient);
            if new_value <= value + 1e-4 * length * slope {
                break (next, new_value);
            }
            length /= 2.0;
            if length < 1e-10 {
                return at;
            }
        };
        let step: Vec<f64> = next.iter().zip(&at).map(|(next, at)| next - at).collect();
        let change: Vec<f64> = new_gradient.iter().zip(&gradient).map(|(new, old)| new - old).collect();
        let curvature = dot(&step, &change);
        if curvature > 0.0 {
            past.push_back((step, change, 1.0 / curvature));
            if past.len() > STEPS {
                past.pop_front();
            }
        }
        let improved = value - new_value;
        (at, gradient, value) = (next, new_gradient, new_value);
        if improved <= tolerance * value.abs() {
            break;
        }
    }
    at
}

/// The direction of the next step: the two loops of L-BFGS.
fn descent(gradient: &[f64], past: &VecDeque<(Vec<f64>, Vec<f64>, f64)>) -> Vec<f64> {
    let mut direction: Vec<f64> = gradient.iter().map(|part| -part).collect();
    let mut shares = Vec::with_capacity(past.len());
    for (step, change, inverse) in past.iter().rev() {
        let share = inverse * dot(step, &direction);
        add(&mut direction, -share, change);
        shares.push(share);
    }
    if let Some((_, change, inverse)) = past.back() {
        let scale = 1.0 / (inverse * dot(change, change));
        direction.iter_mut().for_each(|part| *part *= scale);
    }
    for ((step, change, inverse), share) in past.iter().zip(shares.into_iter().rev()) {
        let other = inverse * dot(change, &direction);
        add(&mut direction, share - other, step);
    }
    direction
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

fn add(to: &mut [f64], share: f64, what: &[f64]) {
    for (to, what) in to.iter_mut().zip(what) {
        *to += share * what;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A badly scaled parabola with its minimum at 1, 2, 3, ...
    struct Parabola;

    impl Objective for Parabola {
        fn value(&self, at: &[f64], gradient: &mut [f64]) -> f64 {
            let mut value = 1.0;
            for (index, at) in at.iter().enumerate() {
                let (scale, off) = (10_f64.powi(index as i32), at - (index + 1) as f64);
                gradient[index] = scale * off;
                value += scale * off * off / 2.0;
            }
            value
        }
    }

    #[test]
    fn the_minimum_of_a_parabola_is_found() {
        let found = minimise(&Parabola, &[0.0; 5], 200, 1e-14);
        for (index, found) in found.iter().enumerate() {
            assert!((found - (index + 1) as f64).abs() < 1e-3, "{index}: {found}");
        }
    }

    #[test]
    fn the_minimum_itself_stays() {
        let minimum = [1.0, 2.0, 3.0];
        assert_eq!(minimise(&Parabola, &minimum, 10, 1e-9), minimum);
    }
}
