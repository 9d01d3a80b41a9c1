use std::time::{Duration, Instant};

use tabia_search::SearchControl;

/// Real time since it was made; nobody interrupts.
pub(crate) struct WallClock(Instant);

impl WallClock {
    pub(crate) fn start() -> WallClock {
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
