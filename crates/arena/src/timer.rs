use std::time::{Duration, Instant};

/// A monotonic clock.
pub trait Timer: Sync {
    /// Time since a fixed origin.
    fn now(&self) -> Duration;

    /// Sleeps, or returns at once if the timer cannot.
    fn sleep(&self, time: Duration) {
        let _ = time;
    }
}

/// The system's monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct WallTimer {
    origin: Instant,
}

impl WallTimer {
    /// A clock that starts now.
    #[expect(clippy::disallowed_methods, reason = "all other code uses a Timer")]
    #[expect(clippy::new_without_default, reason = "the time of creation matters")]
    pub fn new() -> WallTimer {
        WallTimer { origin: Instant::now() }
    }
}

impl Timer for WallTimer {
    fn now(&self) -> Duration {
        self.origin.elapsed()
    }

    fn sleep(&self, time: Duration) {
        // The only thread of a browser must not block.
        if !cfg!(target_family = "wasm") {
            std::thread::sleep(time);
        }
    }
}
