use std::time::{Duration, Instant};

use tabia_search::SearchControl;

/// A [`SearchControl`] with the real time and without a stop.
pub struct WallClock(Instant);

impl WallClock {
    /// Starts now.
    pub fn start() -> WallClock {
        WallClock(Instant::now())
    }
}

impl SearchControl for WallClock {
    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    fn stopped(&self) -> bool {
        false
    }
}
