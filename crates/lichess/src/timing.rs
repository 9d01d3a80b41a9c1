//! How long the bot waits for what.

use std::time::Duration;

/// Waiting times. The defaults are those the API asks for; tests take shorter ones.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// After "too many requests", for all requests.
    pub rate_limited: Duration,
    /// Before the first repetition of what failed; each further one takes twice as long,
    pub first_retry: Duration,
    /// up to this.
    pub longest_retry: Duration,
    /// Silence after which a stream is given up. The server sends a blank line every 7 seconds.
    pub silence: Duration,
    /// For one request.
    pub request: Duration,
    /// For the opponent's first move; then the game is aborted.
    pub first_move: Duration,
}

impl Default for Timing {
    fn default() -> Timing {
        Timing {
            rate_limited: Duration::from_secs(60),
            first_retry: Duration::from_millis(500),
            longest_retry: Duration::from_secs(60),
            silence: Duration::from_secs(20),
            request: Duration::from_secs(10),
            first_move: Duration::from_secs(60),
        }
    }
}

/// Growing waits between repetitions, varied so that many clients do not return at the same moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backoff {
    failures: u32,
    timing: Timing,
}

impl Backoff {
    pub(crate) fn new(timing: Timing) -> Backoff {
        Backoff { failures: 0, timing }
    }

    /// The wait after one more failure.
    pub(crate) fn next(&mut self) -> Duration {
        let Timing { first_retry, longest_retry, .. } = self.timing;
        let wait = first_retry.saturating_mul(1 << self.failures.min(20)).min(longest_retry);
        self.failures = self.failures.saturating_add(1);
        wait.mul_f64(0.75 + 0.5 * fastrand::f64())
    }

    /// How many failures there were in a row.
    pub(crate) fn failures(&self) -> u32 {
        self.failures
    }

    /// What failed has worked.
    pub(crate) fn reset(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_limit() {
        let timing = Timing::default();
        assert_eq!(timing.rate_limited, Duration::from_secs(60), "as the API asks");
        let mut backoff = Backoff::new(timing);
        for expected in [500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000] {
            let wait = backoff.next().as_millis();
            assert!((expected * 3 / 4..=expected * 5 / 4).contains(&wait), "{wait} for {expected}");
        }
        backoff.reset();
        assert!(backoff.next() < Duration::from_secs(1));
        let mut long = Backoff { failures: u32::MAX - 1, timing };
        assert!(long.next() <= Duration::from_secs(75));
    }
}
