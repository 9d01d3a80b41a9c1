//! HumChess's rating and clock buckets. Bucket `i` ends below boundary `i`; the last is open.

use std::time::Duration;

use crate::Elo;

/// The number of rating buckets.
pub const RATING_BUCKETS: usize = RATINGS.len() + 1;

/// The number of time buckets, the last for an unknown clock.
pub const TIME_BUCKETS: usize = SECONDS.len() + 2;

const RATINGS: [u16; 16] =
    [1000, 1100, 1200, 1300, 1400, 1500, 1600, 1700, 1800, 1900, 2000, 2100, 2200, 2300, 2400, 2500];

const SECONDS: [u64; 17] = [10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 660, 720, 780, 840, 900];

/// The bucket of a rating, 0 (below 1000) to 16 (2500 and above).
pub fn rating_bucket(rating: Elo) -> u8 {
    RATINGS.partition_point(|&boundary| boundary <= rating.0) as u8
}

/// The middle of a bucket; 50 points beyond the boundary for the first and last.
pub(crate) fn rating_in_bucket(bucket: u8) -> Elo {
    let above = RATINGS.get(usize::from(bucket)).copied();
    Elo(above.map_or(RATINGS[RATINGS.len() - 1] + 50, |boundary| boundary - 50))
}

/// The bucket of the time on a clock, 0 (below 10 s) to 17 (900 s and above); 18 if unknown.
pub fn time_bucket(time_left: Option<Duration>) -> u8 {
    let known = |time| SECONDS.partition_point(|&boundary| Duration::from_secs(boundary) <= time);
    time_left.map_or(TIME_BUCKETS - 1, known) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boundaries_belong_to_the_bucket_above() {
        let buckets = [0, 999, 1000, 1099, 1500, 2499, 2500, 3400].map(|elo| rating_bucket(Elo(elo)));
        assert_eq!(buckets, [0, 0, 1, 1, 6, 15, 16, 16]);
        let buckets = [0, 9_999, 10_000, 59_999, 60_000, 899_999, 900_000, 9_000_000]
            .map(|ms| time_bucket(Some(Duration::from_millis(ms))));
        assert_eq!(buckets, [0, 0, 1, 2, 3, 16, 17, 17]);
        assert_eq!(time_bucket(None), 18);
    }

    #[test]
    fn bucket_middles_round_trip() {
        for bucket in 0..RATING_BUCKETS as u8 {
            assert_eq!(rating_bucket(rating_in_bucket(bucket)), bucket);
        }
    }
}
