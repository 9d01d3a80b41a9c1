//! What the chances of the time bins say of the seconds that were taken.

use tabia_encoding::{TIME_BINS, time_bin, time_bin_range};

/// What a bin that was ruled out counts as in the log-loss.
const LEAST_PROBABILITY: f32 = 1e-9;

/// Minus the natural logarithm of the chance of the bin that `seconds` fall in.
pub(crate) fn log_loss(chances: &[f32; TIME_BINS], seconds: f32) -> f64 {
    -f64::from(chances[time_bin(seconds)].max(LEAST_PROBABILITY)).ln()
}

/// The continuous ranked probability score in natural logarithms of 1 + seconds, all of these within a bin being equally
/// likely: the area between the distribution and the step at what was taken, squared. Of a distribution all at one time
/// it is the distance.
pub(crate) fn ranked_score(chances: &[f32; TIME_BINS], seconds: f32) -> f64 {
    let seconds = f64::from(seconds.max(0.0)).ln_1p();
    let total: f64 = chances.iter().copied().map(f64::from).sum();
    let mut area = 0.0;
    let mut below = 0.0;
    let mut end = 0.0;
    for (bin, &chance) in chances.iter().enumerate() {
        let range = time_bin_range(bin);
        let (start, stop) = (f64::from(range.start).ln_1p(), f64::from(range.end).ln_1p());
        let up_to = below + f64::from(chance) / total;
        let middle = seconds.clamp(start, stop);
        let at_middle = below + (up_to - below) * (middle - start) / (stop - start);
        area += squared(below, at_middle, middle - start);
        area += squared(1.0 - at_middle, 1.0 - up_to, stop - middle);
        below = up_to;
        end = stop;
    }
    area + (seconds - end).max(0.0)
}

/// The integral of the square of a line from `one` to `other` over a `width`.
fn squared(one: f64, other: f64, width: f64) -> f64 {
    width * (one * one + one * other + other * other) / 3.0
}

/// The mean distance between two samples when both are sorted: the Wasserstein distance of their distributions.
pub(crate) fn distance(mut one: Vec<f32>, mut other: Vec<f32>) -> f64 {
    one.sort_by(f32::total_cmp);
    other.sort_by(f32::total_cmp);
    let sum: f64 = one.iter().zip(&other).map(|(a, b)| f64::from((a - b).abs())).sum();
    sum / one.len().min(other.len()).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_in(bin: usize) -> [f32; TIME_BINS] {
        let mut chances = [0.0; TIME_BINS];
        chances[bin] = 1.0;
        chances
    }

    #[test]
    fn the_score_of_one_bin_is_nearly_the_distance() {
        // Bin 2 is 1.5 to 2.5 s. Of a uniform distribution of width w, the score at a distance d from its middle is
        // d - w/6 outside it.
        let near = |a: f64, b: f64| (a - b).abs() < 1e-5;
        let (width, middle) = (3.5_f64.ln() - 2.5_f64.ln(), (3.5_f64.ln() + 2.5_f64.ln()) / 2.0);
        assert!(near(ranked_score(&all_in(2), 10.0), 11.0_f64.ln() - middle - width / 6.0));
        assert!(near(ranked_score(&all_in(2), 0.0), middle - width / 6.0));
        assert!(near(ranked_score(&all_in(2), middle.exp() as f32 - 1.0), width / 12.0));
        assert!(near(ranked_score(&all_in(2), 2000.0), 2001.0_f64.ln() - middle - width / 6.0));
    }

    #[test]
    fn spread_is_better_than_certainty_about_the_wrong_time() {
        let mut spread = all_in(2);
        spread[2] = 0.5;
        spread[8] = 0.5;
        assert!(ranked_score(&spread, 10.0) < ranked_score(&all_in(2), 10.0));
        assert!(log_loss(&spread, 10.0) < log_loss(&all_in(2), 10.0));
        assert!((log_loss(&spread, 2.0) - 2_f64.ln()).abs() < 1e-6);
    }

    #[test]
    fn distance_is_how_far_samples_must_be_moved() {
        assert!((distance(vec![3.0, 1.0, 2.0], vec![4.0, 2.0, 3.0]) - 1.0).abs() < 1e-9);
        assert!((distance(vec![0.0, 10.0], vec![10.0, 0.0])).abs() < 1e-9);
    }
}
