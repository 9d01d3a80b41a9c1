//! Scores of predicted think-time distributions.

use tabia_encoding::{TIME_BINS, time_bin, time_bin_range};

use crate::MIN_PROBABILITY;

/// Log loss of the bin of `seconds`, in nats.
pub(crate) fn log_loss(bins: &[f32; TIME_BINS], seconds: f32) -> f64 {
    -f64::from(bins[time_bin(seconds)].max(MIN_PROBABILITY)).ln()
}

/// Continuous ranked probability score of `ln(1 + seconds)`, with a uniform density within each bin. For a point mass
/// it is the absolute error.
pub(crate) fn crps(bins: &[f32; TIME_BINS], seconds: f32) -> f64 {
    let seconds = f64::from(seconds.max(0.0)).ln_1p();
    let total: f64 = bins.iter().copied().map(f64::from).sum();
    let mut area = 0.0;
    let mut below = 0.0;
    let mut end = 0.0;
    for (bin, &probability) in bins.iter().enumerate() {
        let range = time_bin_range(bin);
        let (start, stop) = (f64::from(range.start).ln_1p(), f64::from(range.end).ln_1p());
        let up_to = below + f64::from(probability) / total;
        let middle = seconds.clamp(start, stop);
        let at_middle = below + (up_to - below) * (middle - start) / (stop - start);
        area += squared(below, at_middle, middle - start);
        area += squared(1.0 - at_middle, 1.0 - up_to, stop - middle);
        below = up_to;
        end = stop;
    }
    area + (seconds - end).max(0.0)
}

/// Integral of the square of a line from `one` to `other` over `width`.
fn squared(one: f64, other: f64, width: f64) -> f64 {
    width * (one * one + one * other + other * other) / 3.0
}

/// Wasserstein distance between two samples of equal size.
pub(crate) fn wasserstein(mut one: Vec<f32>, mut other: Vec<f32>) -> f64 {
    one.sort_by(f32::total_cmp);
    other.sort_by(f32::total_cmp);
    let sum: f64 = one.iter().zip(&other).map(|(a, b)| f64::from((a - b).abs())).sum();
    sum / one.len().min(other.len()).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_in(bin: usize) -> [f32; TIME_BINS] {
        let mut bins = [0.0; TIME_BINS];
        bins[bin] = 1.0;
        bins
    }

    #[test]
    fn crps_of_one_bin_is_close_to_the_absolute_error() {
        // Bin 2 is 1.5 to 2.5 s. For a uniform distribution of width w, the score at a distance d from its centre is
        // d - w/6 outside of it.
        let near = |a: f64, b: f64| (a - b).abs() < 1e-5;
        let (width, middle) = (3.5_f64.ln() - 2.5_f64.ln(), (3.5_f64.ln() + 2.5_f64.ln()) / 2.0);
        assert!(near(crps(&all_in(2), 10.0), 11.0_f64.ln() - middle - width / 6.0));
        assert!(near(crps(&all_in(2), 0.0), middle - width / 6.0));
        assert!(near(crps(&all_in(2), middle.exp() as f32 - 1.0), width / 12.0));
        assert!(near(crps(&all_in(2), 2000.0), 2001.0_f64.ln() - middle - width / 6.0));
    }

    #[test]
    fn spread_scores_better_than_a_wrong_point_mass() {
        let mut spread = all_in(2);
        spread[2] = 0.5;
        spread[8] = 0.5;
        assert!(crps(&spread, 10.0) < crps(&all_in(2), 10.0));
        assert!(log_loss(&spread, 10.0) < log_loss(&all_in(2), 10.0));
        assert!((log_loss(&spread, 2.0) - 2_f64.ln()).abs() < 1e-6);
    }

    #[test]
    fn wasserstein_distance_ignores_order() {
        assert!((wasserstein(vec![3.0, 1.0, 2.0], vec![4.0, 2.0, 3.0]) - 1.0).abs() < 1e-9);
        assert!((wasserstein(vec![0.0, 10.0], vec![10.0, 0.0])).abs() < 1e-9);
    }
}
