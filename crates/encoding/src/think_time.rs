//! The 20 think-time bins that think-time heads predict.

use std::ops::Range;

/// The number of think-time bins.
pub const TIME_BINS: usize = UPPER.len() + 1;

/// The upper bound of each bin but the last, in seconds.
const UPPER: [f32; 19] = [
    0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 7.0, 9.0, 11.5, 15.0, 19.5, 26.0, 35.0, 47.5, 65.0, 92.5, 135.0, 230.0,
    500.0,
];

/// The nominal end of the last, open bin; few moves take longer.
const LONGEST: f32 = 1200.0;

/// The bin of a move that took `seconds`. A boundary belongs to the bin above; negative numbers and NaN to the first.
pub fn time_bin(seconds: f32) -> usize {
    UPPER.partition_point(|&upper| upper <= seconds)
}

/// The range of `bin` in seconds, to sample a think time from. The last ends at 1200.
///
/// # Panics
/// If `bin` is not below [`TIME_BINS`].
pub fn time_bin_range(bin: usize) -> Range<f32> {
    assert!(bin < TIME_BINS, "bin {bin} of {TIME_BINS}");
    let start = bin.checked_sub(1).map_or(0.0, |below| UPPER[below]);
    start..UPPER.get(bin).copied().unwrap_or(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boundaries_belong_to_the_bin_above() {
        let bins =
            [-1.0, 0.0, 0.49, 0.5, 1.0, 2.0, 6.99, 7.0, 60.0, 499.9, 500.0, 9e9, f32::NAN].map(time_bin);
        assert_eq!(bins, [0, 0, 0, 1, 1, 2, 6, 7, 14, 18, 19, 19, 0]);
    }

    #[test]
    fn ranges_are_contiguous_and_lie_in_their_bins() {
        for bin in 0..TIME_BINS {
            let Range { start, end } = time_bin_range(bin);
            assert_eq!([time_bin(start), time_bin((start + end) / 2.0)], [bin; 2]);
            assert!(bin == TIME_BINS - 1 || time_bin_range(bin + 1).start == end);
        }
    }
}
