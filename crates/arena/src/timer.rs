use std::time::{Duration, Instant};

/// Somebody who measures time.
pub trait Timer: Sync {
    /// Time since some moment that stays the same.
    fn now(&self) -> Duration;

    /// Lets about so much time pass; a timer that cannot returns at once.
    fn pass(&self, time: Duration) {
        let _ = time;
    }
}

/// The machine's own clock.
#[derive(Clone, Copy, Debug)]
pub struct WallTimer {
    origin: Instant,
}

impl WallTimer {
    /// Begins to measure.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place where the arena reads a clock; everything else is given a Timer"
    )]
    #[expect(clippy::new_without_default, reason = "when it is made matters")]
    pub fn new() -> WallTimer {
        WallTimer { origin: Instant::now() }
    }
}

impl Timer for WallTimer {
    fn now(&self) -> Duration {
        self.origin.elapsed()
    }

    fn pass(&self, time: Duration) {
        // There is one thread in a browser, and nobody may hold it.
        if !cfg!(target_family = "wasm") {
            std::thread::sleep(time);
        }
    }
}
